"""OpenEnv: an environment behind a server, one WebSocket session an episode. `openenv:http://127.0.0.1:8000`.

Speaks OpenEnv's own messages (`reset` and `step` at `/ws`; the action's JSON schema at `/schema`), so only
the package `websockets` is needed here, and `openenv-core` on the server. Some servers drop the seed of a
reset: the first observation is part of the state hash, so rollouts that began differently do not pass for one
group, and such an episode refuses to be cloned. A step waits for the server.
"""

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from random import Random
from typing import Any, NoReturn

import msgspec

from motet.envs.actions import free
from motet.envs.adapters.adapted import Adapted
from motet.envs.protocol import Action, Observation, Seat
from motet.envs.referee import Illegal
from motet.errors import BadInput, MissingExtra, ToolError

SEAT = "player"
TIMEOUT_S = 60.0
LARGEST = 100 * 2**20
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


class Session:
    """One session of an OpenEnv server."""

    seats = (SEAT,)

    def __init__(self, address: str, seed: int, options: Mapping[str, Any]) -> None:
        try:
            from websockets.sync.client import connect
        except ImportError as error:
            raise MissingExtra("websockets", "envs") from error
        self._address = address.rstrip("/")
        self._schema = _action_schema(self._address)
        self._open = ExitStack()
        try:
            place = f"ws{self._address.removeprefix('http')}/ws"
            self._socket = self._open.enter_context(connect(place, max_size=LARGEST))
        except OSError as error:
            _unreachable(self._address, error)
        self._seen, self._over, _ = self._ask("reset", {"seed": seed, **options})

    def brief(self, seat: Seat) -> str:
        fields = msgspec.json.encode(self._schema).decode()
        words = " or, since there is one field only, with its text" if self._only_field() else ""
        return f"Answer with an action as a JSON object{words}. Its fields: {fields}"

    def acting(self) -> tuple[Seat, ...]:
        return () if self._over else self.seats

    def observe(self, seat: Seat) -> Observation:
        return Observation("\n".join(f"{name}: {_words(value)}" for name, value in self._seen.items()))

    def read(self, seat: Seat, text: str) -> Action | None:
        begin, end = text.find("{"), text.rfind("}")
        try:
            action = msgspec.json.decode(text[begin : end + 1], type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeEncodeError):
            said, field = free(text), self._only_field()
            return {field: said} if said and field else None
        return action if self.allows(seat, action) else None

    def allows(self, seat: Seat, action: Action) -> bool:
        """The server checks the rest; what it refuses ends the episode, so types and ranges are looked at."""
        if not isinstance(action, dict) or not set(action) <= set(self._schema):
            return False
        fit = all(_fits(self._schema[name], value) for name, value in action.items())
        return fit and set(_needed(self._schema)) <= set(action)

    def sample(self, seat: Seat, rng: Random) -> Action:
        return {name: _draw(field, rng) for name, field in _needed(self._schema).items()}

    def take(self, actions: Mapping[Seat, Action]) -> dict[Seat, float]:
        self._seen, self._over, reward = self._ask("step", actions[SEAT])
        return {} if reward is None else {SEAT: reward}

    def close(self) -> None:
        """End the session, which frees its place on the server."""
        self._open.close()

    def _ask(self, kind: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], bool, float | None]:
        from websockets.exceptions import ConnectionClosed, WebSocketException

        try:
            # A full server says so and hangs up before it is asked: what it said can still be read.
            with suppress(ConnectionClosed):
                self._socket.send(msgspec.json.encode({"type": kind, "data": data}).decode())
            answer = msgspec.json.decode(self._socket.recv(timeout=TIMEOUT_S), type=dict[str, Any])
        except (WebSocketException, OSError) as error:
            _unreachable(self._address, error)
        told = answer.get("data", {})
        if answer.get("type") != "observation":
            raise ToolError(f"the OpenEnv server at {self._address} answered {kind} with {told!r}")
        reward = told.get("reward")
        return told.get("observation", {}), bool(told.get("done")), None if reward is None else float(reward)

    def _only_field(self) -> str:
        texts = [name for name, field in self._schema.items() if field.get("type") == "string"]
        return texts[0] if len(texts) == len(self._schema) == 1 else ""


def _action_schema(address: str) -> dict[str, Any]:
    """The fields of an action, by name."""
    from urllib.request import urlopen

    if not address.startswith(("http://", "https://")):
        raise BadInput(f"{address!r} is no address of an OpenEnv server; expected http://HOST:PORT")
    try:
        with urlopen(f"{address}/schema", timeout=TIMEOUT_S) as answer:
            schema = msgspec.json.decode(answer.read(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        _unreachable(address, error)
    action = schema.get("action", {})
    fields: dict[str, dict[str, Any]] = action.get("properties", {})
    known: dict[str, dict[str, Any]] = action.get("$defs", {})
    return {
        name: known.get(field.get("$ref", "").removeprefix("#/$defs/"), {}) | field
        for name, field in fields.items()
        if name != "metadata"
    }


def _needed(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: field for name, field in schema.items() if "default" not in field}


def _fits(field: Mapping[str, Any], value: Any) -> bool:
    if "enum" in field:
        return value in field["enum"]
    if not isinstance(value, TYPES.get(field.get("type", ""), object)):
        return False
    in_range: bool = not isinstance(value, (int, float)) or (
        field.get("minimum", value) <= value <= field.get("maximum", value)
    )
    return in_range


def _unreachable(address: str, error: Exception) -> NoReturn:
    raise ToolError(
        f"the OpenEnv server at {address} does not answer: {type(error).__name__}: {error}"
    ) from error


def _draw(field: Mapping[str, Any], rng: Random) -> Any:
    if "enum" in field:
        return rng.choice(field["enum"])
    match field.get("type"):
        case "integer":
            return rng.randint(field.get("minimum", 0), field.get("maximum", 9))
        case "number":
            return rng.uniform(field.get("minimum", 0), field.get("maximum", 1))
        case "boolean":
            return rng.random() < 0.5
    return rng.choice(("yes", "no", "hello"))


def _words(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def make_env(name: str, seed: int, *, illegal: Illegal = Illegal(), **options: Any) -> Adapted:
    """A session of the server at the address `name`; options go into its `reset`.

    Raises:
        MissingExtra: websockets is not there. BadInput: no address. ToolError: the server does not answer.
    """
    return Adapted(f"openenv:{name}", repr((seed, options)), lambda: Session(name, seed, options), illegal)
