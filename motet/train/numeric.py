"""Policies and critics as small networks over arrays, behind the same port as tables and language models.

What a policy sees is its prompt: one id a number, the bits of a 32-bit float (`motet.models.arrays`). What it
does is one more id, the number of the action, or an id for each number of a vector. So tapes, rows, credit,
losses and loop are those of language models. A critic is a policy whose score is no log-probability but the
value of what comes before the last id.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor
from torch.nn.functional import pad

from motet.errors import BadInput
from motet.models.arrays import array_bytes, ids_of
from motet.models.trainable.checkpoint import WEIGHT, About
from motet.tape.context import CALL
from motet.train.batch import Batch
from motet.train.engine import REFERENCE
from motet.train.gradient import GradientEngine
from motet.train.heads import Discrete, Head, Value, floats
from motet.types import Message, Reply, Sampling, Tokens, Usage

NAME = "float32"
"""What stands for the vocabulary on the tape."""

TURN = 0.1
"""What the number of a turn is multiplied by on its way into a critic."""


class Shape(NamedTuple):
    """How many numbers a network sees, and what its outputs mean."""

    inputs: int
    head: Head

    @property
    def judges(self) -> bool:
        """Whether it is a critic, which sees the number of the turn too."""
        return isinstance(self.head, Value)


class Numeric:
    """Small networks; see `motet.train.gradient.Body`. Networks of one shape begin alike."""

    def __init__(self, shapes: Mapping[str, Shape], hidden: Sequence[int], seed: int) -> None:
        self._shapes = {**shapes, REFERENCE: next(iter(shapes.values()))}
        self._hidden = tuple(hidden)
        self._nets = {name: _net(shape, self._hidden, seed) for name, shape in self._shapes.items()}
        self._steps = dict.fromkeys(shapes, 0)
        self._models = {name: NumericModel(self, name) for name in self._shapes}
        self.drawn = 0

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(self._steps)

    @property
    def lock(self) -> AbstractContextManager[object]:
        return nullcontext()  # used from one thread

    def about(self, policy: str) -> About:
        shape = f"{self._shapes[policy].inputs} {self._hidden} {self._shapes[policy].head}"
        return About(
            policy=policy,
            step=self.step(policy),
            base=hashlib.blake2b(shape.encode(), digest_size=6).hexdigest(),
            base_name=f"a network of {shape}",
            drawn=self.drawn,
            made_by="numeric",
        )

    def step(self, policy: str) -> int:
        return self._steps.get(policy, 0)

    def stepped(self, policy: str, step: int) -> None:
        self._steps[policy] = step
        self._models[policy].changed()

    def model(self, policy: str) -> "NumericModel":
        if self._shapes[policy].judges:
            raise BadInput(f"{policy!r} is a critic and cannot act; cast voices with policies")
        return self._models[policy]

    def shape(self, policy: str) -> Shape:
        """What a policy sees and does."""
        return self._shapes[policy]

    def parameters(self, policy: str) -> dict[str, Tensor]:
        return dict(self._nets[policy].named_parameters())

    def score(self, policy: str, batch: Batch, entropy: bool) -> tuple[Tensor, Tensor | None]:
        inputs, head = self._shapes[policy]
        wide = inputs + head.width
        if bool((batch.length_B != wide).any() | batch.mask_B_T[:, :inputs].any()):
            raise BadInput(
                f"rows of {sorted(set(batch.length_B.tolist()))} ids; {policy!r} takes {inputs} numbers, and "
                f"then {head.width} to train on"
            )
        seen_B_D, said_B_W = floats(batch.ids_B_T[:, :inputs]), batch.ids_B_T[:, inputs:]
        if self._shapes[policy].judges:
            seen_B_D = torch.cat([seen_B_D, TURN * said_B_W], 1)
        before = (inputs, 0)
        logp_B_W, entropy_B_W = head.score(self._nets[policy](seen_B_D), said_B_W)
        spread = pad(entropy_B_W.double(), before) if entropy else None
        return pad(logp_B_W.double(), before).masked_fill(~batch.mask_B_T, 0.0), spread

    def sample(
        self, policy: str, prompts: Sequence[Sequence[int]], n: int, sampling: Sampling
    ) -> list[list[Tokens]]:
        first = sampling.seed or 0
        if sampling.seed is None:
            first, self.drawn = self.drawn, self.drawn + n
        asks = [
            Ask(numpy.array(prompt, dtype="<u4").tobytes(), str(first + i), sampling.temperature)
            for prompt in prompts
            for i in range(n)
        ]
        drawn = self.draw(policy, asks)
        return [drawn[i : i + n] for i in range(0, len(drawn), n)]

    def draw(self, policy: str, asks: Sequence["Ask"]) -> list[Tokens]:
        """One action for each ask, all in one pass; what is drawn depends on what is asked alone."""
        inputs, head = self._shapes[policy]
        for ask in asks:
            if len(ask.seen) != 4 * inputs:
                raise BadInput(f"{policy!r} takes {inputs} numbers and was shown {len(ask.seen) // 4}")
        seen_B_D = torch.frombuffer(bytearray(b"".join(ask.seen for ask in asks)), dtype=torch.float32)
        with torch.no_grad():
            out_B_O = self._nets[policy](seen_B_D.view(len(asks), inputs))
            heat_B = torch.tensor(
                [1.0 if ask.heat is None else ask.heat for ask in asks], dtype=torch.float64
            )
            said = head.draw(out_B_O, heat_B, [ask.chance for ask in asks])
            logp_B_W = head.score(out_B_O, torch.tensor(said))[0]
        return [
            Tokens(NAME, ids_of(ask.seen), ids, tuple(logp))
            for ask, ids, logp in zip(asks, said, logp_B_W.tolist(), strict=True)
        ]

    def restore(self, policy: str, saved: dict[str, Tensor], about: About, path: str | Path) -> None:
        weights = {k.removeprefix(WEIGHT): t for k, t in saved.items() if k.startswith(WEIGHT)}
        if about.made_by != "numeric" or weights.keys() != self.parameters(policy).keys():
            raise BadInput(
                f"the checkpoint {path} is of a {about.made_by} engine, this one has small networks"
            )
        self._nets[policy].load_state_dict(weights)
        self.drawn = about.drawn

    def share(self, policy: str, batches: list[list[int]]) -> list[list[int]]:
        return batches

    def add_up(self, tensor: Tensor) -> Tensor:
        return tensor


class Ask(NamedTuple):
    """What a policy sees, what names the draw, and the temperature."""

    seen: bytes
    seed: str
    heat: float | None

    @property
    def chance(self) -> Random:
        """A generator that depends on the seed and on what is seen."""
        return Random(hashlib.blake2b(self.seed.encode() + b"\0" + self.seen, digest_size=8).digest())


class NumericModel:
    """A small network as a model that voices can be cast with; asks of one tick are one pass."""

    def __init__(self, body: Numeric, policy: str) -> None:
        self._body, self._policy = body, policy
        self._waiting: list[tuple[Ask, asyncio.Future[Tokens]]] = []
        self._identity = ""
        self.name = f"numeric#{policy}"

    def changed(self) -> None:
        """The weights are others."""
        self._identity = ""

    @property
    def identity(self) -> str:
        """The name and the weights."""
        if not self._identity:
            weights = hashlib.blake2b(digest_size=6)
            for parameter in self._body.parameters(self._policy).values():
                weights.update(parameter.detach().numpy().tobytes())
            self._identity = f"{self.name}@{weights.hexdigest()}"
        return self._identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Act `n` times on the array in the messages.

        Raises:
            BadInput: there is none, or it has another size.
        """
        seen, context = array_bytes(messages), CALL.get()
        name, first = (f"{context.seed}/{context.voice}", context.index) if context else ("", 0)
        name = name if sampling.seed is None else str(sampling.seed)
        drawn = [self._ask(Ask(seen, f"{name}/{first + i}", sampling.temperature)) for i in range(n)]
        version = f"{self._policy}@{self._body.step(self._policy)}"
        found = [await one for one in drawn]
        actions = [self._body.shape(self._policy).head.act(tokens.ids) for tokens in found]
        return [
            Reply(
                message=Message.say("assistant", _told(action)),
                usage=Usage(0 if number else len(tokens.prompt_ids), len(tokens.ids), calls=1),
                model=self.name,
                version=version,
                tokens=tokens,
                data=action,
                cost=0.0,
            )
            for number, (action, tokens) in enumerate(zip(actions, found, strict=True))
        ]

    def _ask(self, ask: Ask) -> asyncio.Future[Tokens]:
        loop = asyncio.get_running_loop()
        if not self._waiting or self._waiting[0][1].get_loop() is not loop:
            self._waiting = []
            loop.call_soon(self._serve, self._waiting)
        done: asyncio.Future[Tokens] = loop.create_future()
        self._waiting.append((ask, done))
        return done

    def _serve(self, waiting: list[tuple[Ask, asyncio.Future[Tokens]]]) -> None:
        if self._waiting is waiting:
            self._waiting = []
        wanted = [(ask, done) for ask, done in waiting if not done.done()]
        try:
            drawn = self._body.draw(self._policy, [ask for ask, _ in wanted]) if wanted else []
        except Exception as error:  # it belongs to those who asked, whatever it is
            for _, done in wanted:
                done.set_exception(error)
            return
        for (_, done), tokens in zip(wanted, drawn, strict=True):
            done.set_result(tokens)


def _told(action: Any) -> str:
    """An action in words that environments read, should the array get lost."""
    return f"Action: {action if isinstance(action, int) else action.tolist()}"


def _net(shape: Shape, hidden: Sequence[int], seed: int) -> torch.nn.Sequential:
    """Orthogonal layers with tanh between them; a policy begins almost uniform (Andrychowicz et al. 2021)."""
    generator = torch.Generator().manual_seed(seed)
    layers: list[torch.nn.Module] = []
    for wide, out in pairwise([shape.inputs + shape.judges, *hidden, shape.head.outputs]):
        layers += [torch.nn.Linear(wide, out), torch.nn.Tanh()]
        torch.nn.init.orthogonal_(layers[-2].weight, 2**0.5, generator=generator)  # type: ignore[arg-type]
        torch.nn.init.zeros_(layers[-2].bias)  # type: ignore[arg-type]
    layers.pop()
    with torch.no_grad():
        layers[-1].weight.mul_(2**-0.5 if shape.judges else 0.01)  # type: ignore[operator]
    return torch.nn.Sequential(*layers)


def numeric_engine(
    inputs: int,
    actions: int | Head,
    policies: Sequence[str] = ("policy",),
    critics: Mapping[str, int] | None = None,
    *,
    hidden: Sequence[int] = (64, 64),
    scale: float = 1.0,
    seed: int = 0,
) -> GradientEngine:
    """An engine whose policies are small networks over arrays.

    Args:
        inputs: numbers that a policy sees.
        actions: how many there are to choose from, or `Gaussian(…)` for vectors.
        policies: their ids.
        critics: the id of each critic, and how many numbers it sees.
        hidden: sizes of the hidden layers.
        scale: a critic's output is multiplied by it; about as large as returns are.
        seed: of the first weights.
    """
    head = Discrete(actions) if isinstance(actions, int) else actions
    shapes = dict.fromkeys(policies, Shape(inputs, head))
    shapes |= {name: Shape(size, Value(scale)) for name, size in (critics or {}).items()}
    return GradientEngine(Numeric(shapes, hidden, seed), micro_tokens=1 << 22)
