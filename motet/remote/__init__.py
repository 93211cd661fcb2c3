"""Agents in other processes: voices served to others, and a web of agents that find each other.

| file | serves | speaks |
|---|---|---|
| `agents` | one voice or team | JSON in one POST; `agent:http://HOST:PORT` is the other end |
| `a2a` | one voice or team | the A2A protocol; `a2a:http://HOST:PORT` is the other end |
| `web` | a registry and its groups | JSON; `Web` is the other end |

All bind to the loopback unless told otherwise, and then demand a token. Each request is a run, on the tape of
the process that serves it; whoever asked has the reply on its own.
"""
