"""What a method gains over self-consistency with as many calls, in worlds whose truth is planted.

Voices are simulated (`motet.models.sim`, `motet.evals.lab.world`): how often they are right, and in what, how
much alike they err, how well they know a right answer when they see one, and how many of them lie, is all
set. Two votes are never compared with two debates: the rival of a method is a vote of as many samples as the
method makes calls, on the same items, by the first voice, which is an able one; as many of the votes are
deceivers' as of the method's calls. Each world has items of its own: chance does not strike all alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from motet.answers import extract, instruction
from motet.combine import answered, ask_each, majority
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.evals.lab.prepared import prepared
from motet.evals.lab.shown import remembered
from motet.evals.lab.subject import Subject, subject
from motet.evals.lab.world import (
    AXES,
    BASE,
    Profiles,
    World,
    liar,
    on,
    singers,
    solver,
    specialists,
    topics,
)
from motet.evals.stats import Interval, mcnemar, mean_ci, never_seen, paired_bootstrap
from motet.methods.single.chain_of_thought import STEPS
from motet.models.sim import right_answer
from motet.performance import run_blocking
from motet.run import Run
from motet.tape import Store
from motet.tape.keys import digest
from motet.teams import Team, Voices, team
from motet.types import Linked, Task

if TYPE_CHECKING:
    from rich.table import Table

TOGETHER = 20
"""Items worked on at once: there is something to gain where a method runs programs."""


class Cell(Struct, frozen=True):
    """One world.

    Args:
        world: what was planted.
        method, vote: share of right answers, of the method and of self-consistency, with 95% intervals.
        gain: of the one over the other, item by item, -1 to 1.
        calls: of a run of the method, on average. votes: samples of self-consistency.
        failures: runs of the method that ended without an answer.
        tokens, vote_tokens: of a run, on average. cost, vote_cost: the same in US dollars, if known.
    """

    world: dict[str, float]
    method: Interval
    vote: Interval
    gain: Interval
    calls: float
    votes: int
    failures: int
    tokens: float = 0.0
    vote_tokens: float = 0.0
    cost: float | None = None
    vote_cost: float | None = None


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


class Played(Struct, frozen=True):
    """Runs of a team: where it was right (1, else 0), and what a run took on average."""

    marks: list[float]
    tokens: float
    cost: float | None


class Rivals:
    """The votes that were held already: many methods are held against the same."""

    def __init__(self) -> None:
        self.held: dict[tuple[Any, ...], Played] = {}


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
    most = {
        "deceivers": there.most_deceivers,
        "weak": there.most_deceivers,
        "profile": bool(there.group and len(there.seats) > 1),
    }
    worlds: list[World] = [{}]
    for name, values in AXES.items():
        worlds += [{name: v} for v in values if v != BASE[name] and v <= most.get(name, v)]
    trial = Trial(items, seed, len(worlds), rivals=rivals or Rivals())
    cells = []
    for done, world in enumerate(worlds, 1):
        cells.append(trial.cell(there, {**BASE, **world}))
        if on_progress:
            on_progress(done, len(worlds))
    return Sweep(there.team.name, items, seed, dict(BASE), tuple(cells))


@team
async def vote(task: Task, voters: Voices) -> Linked:
    """Self-consistency among several: with equal voters it is `self_consistency`, reply for reply."""
    prompts = [(task, STEPS, instruction(task))] * len(voters)
    return majority(task, answered(await ask_each(voters, prompts)))


def marks(
    cast: Team[...], task: Task | Sequence[Task], seeds: Sequence[int]
) -> tuple[list[float], list[Run]]:
    """Play a team once with each seed, on a task or several in turn; 1 where its answer is right, else 0."""
    tasks = list(islice(cycle([task] if isinstance(task, Task) else task), len(seeds)))

    async def play() -> list[Run]:
        runs: list[Run] = []
        for at in range(0, len(seeds), TOGETHER):
            store, span = Store.memory(), slice(at, at + TOGETHER)
            pairs = zip(tasks[span], seeds[span], strict=True)
            runs += await all_of([cast.arun(item, seed=s, store=store) for item, s in pairs])
        return runs

    with remembered():
        runs = run_blocking(play())
    right = {item.prompt: right_answer(item) for item in tasks}
    pairs = zip(runs, tasks, strict=True)
    return [float(run.ok and extract(item, run.answer) == right[item.prompt]) for run, item in pairs], runs


@dataclass(frozen=True)
class Trial:
    """How worlds are measured.

    Args:
        items: runs in each. seed: another one has other items.
        settings: how many worlds there are: intervals of the gain hold in all of them together.
        profiles: the skills of the seats by topic; those of the world's `profile` when empty.
        rivals: votes that were held before.
    """

    items: int
    seed: int = 0
    settings: int = 1
    profiles: Profiles = ()
    rivals: Rivals = field(default_factory=Rivals)

    def __post_init__(self) -> None:
        if self.items < 1:
            raise BadInput(f"items={self.items!r}: expected 1 or more")

    def cell(self, there: Subject, world: World) -> Cell:
        """Try a subject in a world, on items of this world's own."""
        size = len(there.seats)
        profiles = self.profiles or specialists(world, size)
        seated = singers(world, size, profiles, team=there.team.name)
        tasks = [on(there.task, topic) for topic in topics(profiles)]
        first = int(digest(_spelt(world), profiles)[:7], 16) + self.seed
        seeds = range(first, first + self.items)
        able = seated[0] if seated else solver(world)
        cast = there.seated(able, seated)
        if there.training:
            cast = prepared(cast, there.training, topics(profiles))
        right, runs = marks(cast, tasks, seeds)
        mine = _played(right, runs)
        calls = sum(len(run.calls) for run in runs) / len(runs)
        votes = max(1, round(calls))
        lied = votes * self._lying(there, world, runs)
        theirs = self._vote(tasks, (able, liar(world)), votes, lied, seeds)
        return Cell(
            world=dict(world),
            method=mean_ci(mine.marks),
            vote=mean_ci(theirs.marks),
            gain=gain_of(mine.marks, theirs.marks, 1 - 0.05 / self.settings),
            calls=calls,
            votes=votes,
            failures=sum(not run.ok for run in runs),
            tokens=mine.tokens,
            vote_tokens=theirs.tokens,
            cost=mine.cost,
            vote_cost=theirs.cost,
        )

    def _lying(self, there: Subject, world: World, runs: Sequence[Run]) -> float:
        """The share of liars among the calls; among the seats, where they may have been found out before."""
        if there.training:
            return world["deceivers"] / max(1, len(there.seats))
        said = [call.model == liar(world) for run in runs for call in run.calls]
        return sum(said) / max(1, len(said))

    def _vote(
        self, tasks: Sequence[Task], who: tuple[str, str], votes: int, lied: float, seeds: range
    ) -> Played:
        """Votes of the able and of liars, of whom there are `lied` on average: on some items one more."""
        key = (*(task.prompt for task in tasks), *who, votes, lied, seeds)
        if key not in self.rivals.held:
            items = list(islice(cycle(tasks), len(seeds)))
            least = int(lied + 1e-9)
            more = round((lied - least) * len(seeds))
            right, runs = list[float](), list[Run]()
            for liars, span in ((least + 1, slice(more)), (least, slice(more, None))):
                if seeds[span]:
                    voters = [who[0]] * (votes - liars) + [who[1]] * liars
                    some = marks(vote.cast(voters=voters), items[span], seeds[span])
                    right, runs = right + some[0], runs + some[1]
            self.rivals.held[key] = _played(right, runs)
        return self.rivals.held[key]


def _played(right: list[float], runs: Sequence[Run]) -> Played:
    costs = [run.cost for run in runs]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known) / len(runs) if len(known) == len(runs) else None
    return Played(right, sum(run.usage.tokens for run in runs) / len(runs), cost)


def gain_of(mine: Sequence[float], theirs: Sequence[float], level: float) -> Interval:
    """The gain item by item. Few differences are no proof, whatever the bootstrap makes of them: the interval
    is without 0 only if the exact test says so too."""
    gain = paired_bootstrap(mine, theirs, level=level)
    low, high = gain.low, gain.high
    if low == high:
        slack = never_seen(len(mine), level=level)
        low, high = max(-1.0, low - slack), min(1.0, high + slack)
    if mcnemar(mine, theirs) > 1 - level:
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(gain.mean, low, high)


def _spelt(world: World) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in sorted(world.items()))
