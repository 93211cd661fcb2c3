"""Programs that the tests start: the server of a web of agents, and agents of it.

python remote_peer.py web
python remote_peer.py agent SERVER NAME ABOUT HELPER
"""

import asyncio
import json
import re
import sys
import threading

from motet import Agent, Store
from motet.remote.agents import agent_app
from motet.remote.client import Web
from motet.remote.door import serving
from motet.remote.performer import Performer
from motet.remote.web import Registry, web_app


def leader(helper: str, state: str):
    """Calls in who is described as `helper`, gives it a task, and passes on the number that comes back."""

    def act(prompt: str) -> str:
        found = re.search(rf"- (\w+): {helper}:", prompt)
        said = prompt.partition("Said so far:")[2]
        if "`queries`" in prompt:
            return json.dumps({"queries": [helper]})
        if "`members`" in prompt:
            return json.dumps({"members": [found[1]] if found else []})
        numbers = re.findall(r"task done\): .*?(\d+)$", said, re.MULTILINE)
        move = "conclusion" if numbers else "pause" if "Tasks under way: agents" in prompt else state
        say = f"Answer: {numbers[-1]}" if numbers else "Find the sum of 17 and 25."
        return json.dumps({"state": move, "next": found and found[1], "say": say})

    return act


def main(kind: str, *words: str) -> None:
    if kind == "web":
        app = web_app(Registry(), store=Store.memory())
    else:
        server, name, about, helper = words
        voice = Agent(leader(helper, "async_task" if name == "boss" else "sync_task"))
        app = agent_app(Performer(voice, name=name, store=Store.memory()))
    with serving(app) as address:
        if kind == "agent":
            asyncio.run(Web(server).register(name, about, f"agent:{address}"))
        print(address, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
