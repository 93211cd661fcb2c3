"""What a framework costs on top of the model: `python -m benchmarks.overhead` from the repository's root.

Every contestant drives the same model: it gives way to the event loop once, as any request over a network
does, and answers with one short sentence and its number, so that no two replies are equal. Each runs in a
virtual environment of its own, in a process of its own, one at a time; the rounds go through all of them,
so that a busy minute of the machine hits all alike. Peers use their own way to keep a conversation, and a
thin model class of ours where their own test model does more work than answering.

What each keeps while it is timed:

- `motet`: the whole tape (every message once, by the hash of its content and of all before it; each call with
  key, voice, model, sampling, usage, cost, times and the calls that went into its prompt), written to SQLite
  on disk in one transaction a tick of the event loop. `motet-memory`: the same into SQLite in memory.
- `loop`: the floor. One hand-written asyncio loop without agents, tools or errors that keeps the same record,
  in the same tables, in one transaction a tick. `loop-memory`: the same in memory.
- `langgraph`: the messages of the graph's state, one checkpoint a step in an `InMemorySaver`.
- `autogen`: AgentChat's message thread and each agent's model context, in memory. No keys, no times.
- `agent-framework`: the messages of each agent's session (`InMemoryHistoryProvider`), in memory. No keys.
- `pydantic-ai`: the message history with usage and times, passed on by the caller, in memory. No keys.

Only `motet` and `loop` write to disk, and only they could resume a killed run or find a call again: the
comparison leans towards the peers.
"""
