"""What a method gains over self-consistency with as many calls, in worlds whose truth is planted.

Voices are simulated (`motet.models.sim`): how often they are right, how much alike they err, how well they
know a right answer when they see one, and how many of them lie, is all set. Two votes are never compared
with two debates: the rival of a method is a vote of as many samples as the method makes calls, on the same
items, and as many of the votes are deceivers' as of the method's calls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from motet.answers import extract, instruction
from motet.combine import answered, ask_each, majority
from motet.concurrency import all_of
from motet.errors import BadInput, UnknownName
from motet.evals.lab.subject import Subject, subject
from motet.evals.stats import Interval, mean_ci, never_seen, paired_bootstrap
from motet.methods.single.chain_of_thought import STEPS
from motet.models.sim import Sim, Skills, right_answer
from motet.performance import run_blocking
from motet.run import Run
from motet.tape import Store
from motet.teams import Team, Voices, team
from motet.types import Linked, Task

if TYPE_CHECKING:
    from rich.table import Table

World = Mapping[str, float]
"""Knobs of a simulated solver, and `deceivers`: how many of the voices lie."""

BASE: World = {
    "skill": 0.6, "rho": 0.0, "judge": 0.6, "deceivers": 0, "follow": 0.8, "fix": 0.1, "spoil": 0.1,
}  # fmt: skip
"""The middle of the map: of ten times a voice is right six, goes with what it is shown eight, and knows the
right answer among several six; shown its own answer alone, it mends or spoils one."""

AXES: dict[str, tuple[float, ...]] = {
    "skill": (0.3, 0.45, 0.6, 0.75, 0.9),
    "rho": (0.0, 0.3, 0.6, 1.0),
    "judge": (0.0, 0.3, 0.6, 0.9),
    "deceivers": (0, 1, 2),
}
"""What `survey` varies, one at a time."""

TOGETHER = 20
"""Items worked on at once: there is something to gain where a method runs programs."""


class Cell(Struct, frozen=True):
    """One world.

    Args:
        world: what was planted.
        method, vote: share of right answers, of the method and of self-consistency, with 95% intervals.
        gain: of the one over the other, item by item, -1 to 1.
        calls: of a run of the method, on average. votes: samples of self-consistency.
        failures: runs of the method that ended without an answer; they are wrong.
    """

    world: dict[str, float]
    method: Interval
    vote: Interval
    gain: Interval
    calls: float
    votes: int
    failures: int


class Sweep(Struct, frozen=True):
    """A method in several worlds; `base` is what does not vary."""

    name: str
    items: int
    seed: int
    base: dict[str, float]
    cells: tuple[Cell, ...]

    @property
    def verdict(self) -> str:
        """What the figures come to, in a sentence."""
        from motet.evals.lab.words import verdict

        return verdict(self)

    def table(self) -> "Table":
        """One row a world, for a terminal."""
        from motet.evals.lab.words import table

        return table(self)

    def heat(self) -> str:
        """The gains as signs: a line for each knob that varies, or a grid where two vary together."""
        from motet.evals.lab.words import heat

        return heat(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as `motet lab --json` prints it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return {**found, "verdict": self.verdict}


Progress = Callable[[int, int], None]


class Rivals:
    """The votes that were held already: many methods are held against the same."""

    def __init__(self) -> None:
        self.held: dict[tuple[Any, ...], list[float]] = {}


def survey(
    tried: "str | Team[...]",
    *,
    items: int = 200,
    seed: int = 0,
    knobs: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
    rivals: Rivals | None = None,
) -> Sweep:
    """Try a method in the middle of the map and along each of `AXES`, one at a time: what a card shows."""
    there = subject(tried, **(knobs or {}))
    worlds: list[dict[str, float]] = []
    for name, values in AXES.items():
        some = (v for v in values if name != "deceivers" or v <= there.most_deceivers)
        worlds += [{name: v} for v in some if v != BASE[name]]
    return measure(there, dict(BASE), [{}, *worlds], items, seed, on_progress, rivals)


def measure(
    there: Subject,
    base: World,
    worlds: Sequence[World],
    items: int,
    seed: int = 0,
    on_progress: Progress | None = None,
    rivals: Rivals | None = None,
) -> Sweep:
    """Try a subject in some worlds, each given by where it differs from the base."""
    if items < 1:
        raise BadInput(f"items={items!r}: expected 1 or more")
    cells, rivals = [], rivals or Rivals()
    for done, world in enumerate(worlds, 1):
        cells.append(_cell(there, {**base, **world}, range(seed, seed + items), rivals))
        if on_progress:
            on_progress(done, len(worlds))
    return Sweep(there.team.name, items, seed, dict(base), tuple(cells))


@team
async def vote(task: Task, voters: Voices) -> Linked:
    """Self-consistency among several: with equal voters it is `self_consistency`, reply for reply."""
    prompts = [(task, STEPS, instruction(task))] * len(voters)
    return majority(task, answered(await ask_each(voters, prompts)))


def marks(cast: Team[...], task: Task, seeds: Sequence[int]) -> tuple[list[float], list[Run]]:
    """Play a team once with each seed; 1 where its answer is right, else 0."""

    async def play() -> list[Run]:
        runs: list[Run] = []
        for at in range(0, len(seeds), TOGETHER):
            store = Store.memory()
            some = [cast.arun(task, seed=s, store=store) for s in seeds[at : at + TOGETHER]]
            runs += await all_of(some)
        return runs

    runs, right = run_blocking(play()), right_answer(task)
    return [float(run.ok and extract(task, run.answer) == right) for run in runs], runs


def _cell(there: Subject, world: World, seeds: Sequence[int], rivals: Rivals) -> Cell:
    honest, liar = _singer(world), _singer({**world, "deceive": 1.0})
    deceivers = int(world["deceivers"])
    mine, runs = marks(there.cast(honest, liar, deceivers), there.task, seeds)
    calls = sum(len(run.calls) for run in runs) / len(runs)
    votes = max(1, round(calls))
    lied = round(sum(call.model == liar for run in runs for call in run.calls) / len(runs) * votes / calls)
    key = (there.task.prompt, honest, votes, lied, seeds[0], len(seeds))
    if key not in rivals.held:
        voters = [honest] * (votes - lied) + [liar] * lied
        rivals.held[key] = marks(vote.cast(voters=voters), there.task, seeds)[0]
    theirs = rivals.held[key]
    gain = paired_bootstrap(mine, theirs)
    if gain.low == gain.high:  # no difference was seen: that is no proof that there is none
        slack = never_seen(len(seeds))
        gain = Interval(gain.mean, max(-1.0, gain.low - slack), min(1.0, gain.high + slack))
    failures = sum(not run.ok for run in runs)
    return Cell(dict(world), mean_ci(mine), mean_ci(theirs), gain, calls, votes, failures)


def _singer(world: World) -> str:
    knobs = {name: value for name, value in world.items() if name != "deceivers"}
    for name in knobs:
        if name not in Skills.__struct_fields__:
            raise UnknownName("knob of a world", name, [*Skills.__struct_fields__, "deceivers"])
    return Sim(Skills(**knobs)).name  # type: ignore[arg-type]
