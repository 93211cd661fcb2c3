"""A server that speaks OpenEnv's messages: guess a digit, with a clue from the seed. A fake of the contract;
the adapter was tried against `openenv-core` itself, which is too large to install for a test."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Thread
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

SCHEMA = {"action": {"properties": {"guess": {"type": "integer"}, "metadata": {"type": "object"}}}}


class Server:
    """What the server has seen. `drops_seed` makes it do what several OpenEnv servers do."""

    def __init__(self, drops_seed: bool) -> None:
        self.drops_seed = drops_seed
        self.open = 0
        self.address = ""

    def session(self, socket: ServerConnection) -> None:
        self.open += 1
        number = 0
        try:
            for message in socket:
                told = json.loads(message)
                if told["type"] == "reset":
                    number = random.Random(None if self.drops_seed else told["data"]["seed"]).randrange(10**6)
                    answer: dict[str, Any] = {
                        "observation": {"hint": f"clue {number}"},
                        "reward": None,
                        "done": False,
                    }
                elif told["data"]["guess"] < 0:
                    socket.send(json.dumps({"type": "error", "data": {"code": "EXECUTION_ERROR"}}))
                    continue
                else:
                    right = told["data"]["guess"] == number % 10
                    answer = {
                        "observation": {"hint": "right" if right else "no"},
                        "reward": float(right),
                        "done": right,
                    }
                socket.send(json.dumps({"type": "observation", "data": answer}))
        except ConnectionClosed:
            pass
        finally:
            self.open -= 1

    def schema(self, connection: ServerConnection, request: Request) -> Response | None:
        return connection.respond(HTTPStatus.OK, json.dumps(SCHEMA)) if request.path == "/schema" else None


@contextmanager
def openenv_server(drops_seed: bool = False) -> Iterator[Server]:
    """Serve on a free port of the loopback."""
    server = Server(drops_seed)
    with serve(server.session, "127.0.0.1", 0, process_request=server.schema) as serving:
        thread = Thread(target=serving.serve_forever)
        thread.start()
        server.address = f"http://127.0.0.1:{serving.socket.getsockname()[1]}"
        try:
            yield server
        finally:
            serving.shutdown()
            thread.join()
