"""The port behind which training happens, shaped like the Tinker API, and the contract that engines keep.

An engine holds policies by id. Gradients add up over calls of `forward_backward` until `optim_step`.
"""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from motet.errors import BadInput, MotetError, UnknownName
from motet.models.protocol import Model
from motet.train.objective import Loss
from motet.train.rows import Row
from motet.types import Sampling, Tokens

REFERENCE = "reference"
"""The policy that is never trained: the weights as all policies of an engine found them."""


class Adam(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Knobs of one AdamW step (Loshchilov & Hutter 2019).

    Args:
        lr: learning rate.
        weight_decay: decoupled.
        clip: largest norm of the policy's gradient; None does not clip.
    """

    lr: float = 1e-4
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    clip: float | None = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.lr < inf:
            raise BadInput(f"the learning rate is {self.lr!r}; expected a finite number, 0 or more")


class Engine(Protocol):
    """Where policies live, sample and learn. One engine is used from one thread at a time."""

    @property
    def policies(self) -> tuple[str, ...]:
        """Ids of the policies that can be trained."""
        ...

    def step(self, policy: str) -> int:
        """How many steps the policy has taken."""
        ...

    def model(self, policy: str) -> Model:
        """The policy as a model that voices can be cast with; it follows every step.

        Replies carry the version `POLICY@STEP`.
        """
        ...

    def forward_backward(self, policy: str, rows: Sequence[Row], loss: Loss) -> dict[str, float]:
        """Add the gradient of a loss over these rows to the policy's.

        Returns:
            `loss`, `tokens`, `rows`, `logp` (mean log-probability); for rows with the sampler's, how far off
            it was (`motet.losses.mismatch`); for losses that clip, the share of tokens that are (`clipped`).

        Raises:
            BadInput: no rows, or rows that lack what the loss reads.
        """
        ...

    def optim_step(self, policy: str, optimizer: Adam) -> dict[str, float]:
        """Take one step along the gradient and forget it.

        Returns:
            the new `step`, and `grad_norm` before clipping where the engine knows it.

        Raises:
            MotetError: the gradient is not finite. No step is taken, and the gradient is forgotten.
        """
        ...

    def sample(
        self, policy: str, prompts: Sequence[Sequence[int]], n: int, sampling: Sampling
    ) -> list[list[Tokens]]:
        """Draw `n` continuations of each prompt of ids; `sampling.seed` makes them repeat."""
        ...

    def logprobs(self, policy: str, rows: Sequence[Row]) -> list[tuple[float, ...]]:
        """The policy's log-probability of each id inside the mask of each row, NaN elsewhere.

        `REFERENCE` is a policy here.
        """
        ...

    def save(self, policy: str, path: str | Path) -> None:
        """Write all there is of the policy to one file, atomically."""
        ...

    def load(self, policy: str, path: str | Path) -> None:
        """Make the policy what was saved: weights, optimiser, step and random state.

        Raises:
            BadInput: no such file, or it is of another base. MotetError: it is cut short or damaged. In all
            cases the policy is as before.
        """
        ...


def same(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]], tolerance: float = 1e-5) -> bool:
    """Whether two answers of `logprobs` agree."""
    return all(
        abs(a - b) <= tolerance or (a != a and b != b)
        for x, y in zip(one, other, strict=True)
        for a, b in zip(x, y, strict=True)
    )


def check_engine(make: Callable[[], Engine], folder: Path, prompt: Sequence[int] = (1, 2, 3)) -> None:
    """Prove that an engine keeps the contract.

    Args:
        make: makes an engine with at least two policies, the same one each time.
        folder: where to save.
        prompt: ids that the engine can continue.

    Raises:
        AssertionError: it does not; the message says what.
    """
    engine = make()
    assert len(engine.policies) >= 2, "give the engine two policies or more"
    one, two = engine.policies[:2]
    rows = _sampled(engine, one, prompt)
    _check_learning(engine, one, two, rows)
    _check_refusals(engine, one, rows)
    _check_checkpoints(make, engine, (one, two), rows, folder)


def _sampled(engine: Engine, policy: str, prompt: Sequence[int]) -> list[Row]:
    drawn = engine.sample(policy, [prompt, prompt], 2, Sampling(max_tokens=4, seed=7))
    again = engine.sample(policy, [prompt, prompt], 2, Sampling(max_tokens=4, seed=7))
    assert [[t.ids for t in g] for g in drawn] == [[t.ids for t in g] for g in again], (
        "a seed does not repeat"
    )
    rows = []
    for tokens in (t for group in drawn for t in group):
        assert 1 <= len(tokens.ids) <= 4, f"asked for 1 to 4 tokens, got {tokens.ids!r}"
        assert tokens.prompt_ids == tuple(prompt), "a sample does not say what it continues"
        empty, size = len(prompt), len(tokens.ids)
        rows.append(
            Row(
                ids=(*prompt, *tokens.ids),
                mask=(False,) * empty + (True,) * size,
                logprobs=(float("nan"),) * empty + tokens.logprobs,
                advantages=(float("nan"),) * empty + (1.0,) * size,
            )
        )
    scored = engine.logprobs(policy, rows)
    assert same(scored, [row.logprobs for row in rows], 1e-4), (
        "sampler and trainer disagree on log-probabilities"
    )
    return rows


def _check_learning(engine: Engine, one: str, two: str, rows: list[Row]) -> None:
    before, other = engine.logprobs(one, rows), engine.logprobs(two, rows)
    fixed = engine.logprobs(REFERENCE, rows)
    metrics = engine.forward_backward(one, rows[:1], Loss("reinforce"))
    assert metrics["tokens"] == sum(rows[0].mask), "the last token is trained too"
    assert same(before, engine.logprobs(one, rows)), "gradients alone moved the policy"
    stepped = engine.optim_step(one, Adam(lr=1e-2))
    assert stepped.get("grad_norm", 1.0) > 0, "there was no gradient"
    assert engine.step(one) == 1, "a step is not counted"
    assert engine.step(two) == 0, "a step of one policy counts for another"
    gain = [b - a for a, b in zip(before[0], engine.logprobs(one, rows)[0], strict=True) if a == a]
    assert sum(gain) > 0, "a reply with a positive advantage did not become more probable"
    assert gain[-1] != 0, "the last token was not trained"
    assert same(other, engine.logprobs(two, rows)), "training one policy moved another"
    assert same(fixed, engine.logprobs(REFERENCE, rows)), "training a policy moved the reference"


def _check_refusals(engine: Engine, one: str, rows: list[Row]) -> None:
    _refused(lambda: engine.forward_backward("nobody", rows, Loss("sft")), UnknownName, "an unknown policy")
    _refused(lambda: engine.forward_backward(one, rows, Loss("nothing")), UnknownName, "an unknown loss")
    _refused(lambda: engine.forward_backward(one, [], Loss("sft")), BadInput, "no rows")
    bare = [row.but(logprobs=()) for row in rows]
    _refused(
        lambda: engine.forward_backward(one, bare, Loss("ppo")), BadInput, "rows without log-probabilities"
    )
    uncredited = [row.but(advantages=()) for row in rows]
    _refused(
        lambda: engine.forward_backward(one, uncredited, Loss("ppo")), BadInput, "rows without advantages"
    )


def _check_checkpoints(
    make: Callable[[], Engine], engine: Engine, policies: tuple[str, str], rows: list[Row], folder: Path
) -> None:
    one, two = policies
    file = folder / "policy.safetensors"
    engine.save(one, file)
    fresh = make()
    fresh.load(one, file)
    assert fresh.step(one) == engine.step(one), "the step was not kept"
    assert same(engine.logprobs(one, rows), fresh.logprobs(one, rows), 0.0), "the weights were not kept"
    for each in (engine, fresh):
        each.forward_backward(one, rows, Loss("sft"))
        each.optim_step(one, Adam(lr=1e-2))
    assert same(engine.logprobs(one, rows), fresh.logprobs(one, rows), 0.0), "the optimiser was not kept"
    before = fresh.logprobs(two, rows)
    broken = folder / "broken.safetensors"
    broken.write_bytes(file.read_bytes()[:-7])
    _refused(lambda: fresh.load(two, broken), MotetError, "a checkpoint cut short")
    _refused(
        lambda: fresh.load(two, folder / "nothing.safetensors"), BadInput, "a checkpoint that is not there"
    )
    assert same(before, fresh.logprobs(two, rows), 0.0), "a refused checkpoint changed the policy"


def _refused(act: Callable[[], object], error: type[Exception], what: str) -> None:
    try:
        act()
    except error:
        return
    raise AssertionError(f"{what} should be refused with {error.__name__}")
