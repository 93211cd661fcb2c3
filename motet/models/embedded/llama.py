"""A thin, quiet door to llama.cpp (through `xllamacpp`): one engine in this process per weights file.

The engine is llama.cpp's own server, on a loopback port that opens to a random key only. Talking HTTP to it,
and not calling it, is what makes a request cancellable: when the connection closes, the slot falls free.
"""

import importlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from motet.errors import BadRequest, ContextOverflow, MissingExtra, ModelError, ServerError

OnPiece = Callable[[int, str], None]
"""Called with the index of a choice and the next piece of its text."""


class Choice(Struct, frozen=True):
    """One continuation of a prompt.

    Args:
        text: what was sampled, without the end-of-turn token or a stop word.
        ids: sampled ids; the end-of-turn token is among them, a stop word is not.
        logprobs: natural log-probability of each id over the whole vocabulary at temperature 1.
        stop: `eos`, `limit` or `word`.
        slot: the slot that holds this sequence now.
        cached: tokens of the prompt that were there already.
    """

    text: str
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop: str
    slot: int
    cached: int


class Llama:
    """A running engine. `motet.models.embedded.pool` makes it; nobody else should.

    Args:
        path: a GGUF file.
        n_ctx: tokens that each slot holds, prompt and reply together.
        slots: sequences that are computed side by side; every slot's memory is taken at the start.
        adapter: a LoRA adapter as a GGUF file.
    """

    def __init__(self, path: Path, n_ctx: int, slots: int, adapter: Path | None = None) -> None:
        engine = _library()
        self.n_ctx, self.slots = n_ctx, slots
        self.held: dict[int, tuple[int, ...]] = dict.fromkeys(range(slots), ())
        self.drawn = 0
        """How many samples were drawn without a seed."""
        self._folder = Path(tempfile.mkdtemp(prefix="motet-slots-"))
        self._key = secrets.token_urlsafe(24)
        wanted = engine.CommonParams()
        wanted.model.path = str(path)
        # The engine's n_ctx is the total. Slots with memory of their own decode faster than a common pool.
        wanted.n_ctx, wanted.n_parallel, wanted.kv_unified = n_ctx * slots, slots, False
        wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = _threads()
        wanted.n_threads_http = slots + 8
        # Idle slots are to keep what they hold: that is what prefixes are copied from.
        wanted.cache_idle_slots, wanted.cache_ram_mib = False, 0
        if adapter:
            lora = engine.CommonAdapterLoraInfo()
            lora.path, lora.scale = str(adapter), 1.0
            wanted.lora_adapters = [lora]
        wanted.slot_save_path = str(self._folder) + os.sep
        wanted.api_keys, wanted.ui, wanted.verbosity, wanted.warmup = [self._key], False, -1, False
        try:
            self._server = engine.Server(wanted)
        except RuntimeError as error:
            shutil.rmtree(self._folder)
            raise BadRequest(
                f"llama.cpp cannot load {str(path)!r} ({error}); expected a GGUF model"
                + (f" of the shape that the adapter {str(adapter)!r} was tuned on" if adapter else "")
            ) from error
        self.address: str = self._server.listening_address

    async def encode(self, chat: str) -> tuple[int, ...]:
        """Ids of the prompt: the chat template filled with `chat`, a JSON list of role and content."""
        filled = await self._post("/apply-template", {"messages": json.loads(chat)})
        body = {"content": filled["prompt"], "add_special": True, "parse_special": True}
        return tuple((await self._post("/tokenize", body))["tokens"])

    async def complete(
        self,
        prompt: Sequence[int],
        n: int,
        slot: int,
        options: dict[str, Any],
        on_piece: OnPiece | None = None,
    ) -> list[Choice]:
        """Continue `prompt` `n` times; choice i has seed `options["seed"]` + i.

        Raises:
            ModelError: of the class that says what went wrong.
        """
        body = {**options, "prompt": prompt, "n": n, "id_slot": slot, "n_probs": 1}
        if on_piece:
            return await self._streamed(body, on_piece)
        answer = await self._post("/completion", body)
        return [_choice(found) for found in (answer if isinstance(answer, list) else [answer])]

    async def warm(self, prompt: Sequence[int], slot: int) -> int:
        """Compute `prompt` in `slot`; return how many tokens of it had to be computed."""
        answer = await self._post("/completion", {"prompt": prompt, "id_slot": slot, "n_predict": 0})
        return int(answer["timings"]["prompt_n"])

    async def copy(self, source: int, targets: Sequence[int]) -> None:
        """Put what slot `source` holds into other slots."""
        file = secrets.token_hex(8)
        try:
            await self._post(f"/slots/{source}?action=save", {"filename": file})
            for target in targets:
                await self._post(f"/slots/{target}?action=restore", {"filename": file})
        finally:
            (self._folder / file).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop the engine and give back its memory."""
        self._server = None
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _streamed(self, body: dict[str, Any], on_piece: OnPiece) -> list[Choice]:
        pieces: dict[int, list[dict[str, Any]]] = {i: [] for i in range(body["n"])}
        async with self._exchange("/completion", body | {"stream": True}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    piece = json.loads(line.removeprefix("data: "))
                    if "error" in piece:
                        raise _error(500, piece)
                    pieces[piece["index"]].append(piece)
                    if piece["content"]:
                        on_piece(piece["index"], piece["content"])
        return [_joined(got) for got in pieces.values()]

    async def _post(self, path: str, body: dict[str, Any]) -> Any:
        async with self._exchange(path, body) as response:
            return json.loads(await response.aread())

    @asynccontextmanager
    async def _exchange(self, path: str, body: dict[str, Any]) -> AsyncIterator[Any]:
        import httpx

        transport = httpx.AsyncHTTPTransport(verify=False)  # plain HTTP to ourselves: no certificates to load
        headers = {"Authorization": f"Bearer {self._key}"}
        try:
            async with (
                httpx.AsyncClient(transport=transport, trust_env=False, timeout=None) as client,
                client.stream("POST", self.address + path, json=body, headers=headers) as response,
            ):
                if response.status_code != 200:
                    raise _error(response.status_code, json.loads(await response.aread() or b"{}"))
                yield response
        except httpx.TransportError as error:
            raise ServerError(f"the embedded engine broke off: {error!r}") from error


def _choice(found: dict[str, Any]) -> Choice:
    # Tokens of a stop word come without log-probabilities: leave them out, so that both lists agree.
    listed = found.get("completion_probabilities", ())
    return Choice(
        text=found["content"],
        ids=tuple(token["id"] for token in listed),
        logprobs=tuple(token["logprob"] for token in listed),
        stop=found["stop_type"],
        slot=found["id_slot"],
        cached=found["timings"]["cache_n"],
    )


def _joined(pieces: list[dict[str, Any]]) -> Choice:
    """The choice that came in these pieces; the last of them says how it ended."""
    key = "completion_probabilities"
    listed = [token for piece in pieces for token in piece.get(key, ())]
    return _choice({**pieces[-1], "content": "".join(piece["content"] for piece in pieces), key: listed})


def _error(status: int, body: dict[str, Any]) -> ModelError:
    said = body.get("error") or {}
    message = f"the embedded engine says {said.get('message', status)!r}"
    if said.get("type") == "exceed_context_size_error":
        return ContextOverflow(message)
    return BadRequest(message) if status < 500 else ServerError(message)


def _threads() -> int:
    """As many threads as this process may use cores.

    They wait for each other at every layer, so one that has to share its core holds up all: on a machine
    that is busy with something else, `taskset` to fewer cores makes the engine faster.
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _library() -> Any:
    """xllamacpp, told not to burn a core for milliseconds while its threads wait for each other."""
    knob = "GOMP_SPINCOUNT"
    given = os.environ.get(knob)
    os.environ[knob] = given or "10000"
    try:
        return importlib.import_module("xllamacpp")
    except ImportError:
        raise MissingExtra("xllamacpp", "local") from None
    finally:
        if given is None:
            del os.environ[knob]
