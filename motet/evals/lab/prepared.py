"""Methods that learn, made ready on other items by their own training before they are measured."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from motet.concurrency import all_of
from motet.evals.lab.world import on
from motet.methods import method
from motet.methods.aggregate import read_log, skill_probe, skill_profiles, train_decider, train_fusion
from motet.methods.common import gives_target
from motet.methods.route import Roster, allocate, season, train_mixture, train_router, train_tokens
from motet.methods.single import direct
from motet.performance import run_blocking
from motet.run import Run
from motet.tape import Store
from motet.teams import Team
from motet.types import Task

LESSONS = 48
MODELS = ("amber", "birch", "cobalt", "dune", "ember", "fjord")
Training = Callable[[Team[...], Sequence[Task]], Awaitable[Team[...]]]


def lessons(topics: Sequence[str]) -> list[Task]:
    """Questions to learn from, with their answers: sums, on all topics in turn."""
    sums = [Task(f"What is {3 * i} + {i + 2}?", target=str(4 * i + 2), kind="number") for i in range(LESSONS)]
    return [on(task, topics[i % len(topics)]) for i, task in enumerate(sums)]


def prepared(team: Team[...], how: Training, topics: Sequence[str]) -> Team[...]:
    """A cast team after its training."""

    async def train() -> Team[...]:
        return await how(team, lessons(topics))

    return run_blocking(train())


async def with_fusion(team: Team[...], tasks: Sequence[Task]) -> Team[...]:
    """Learn by `train_decider` whom to ask, and by `train_fusion` whom to believe."""
    log = read_log(await _played(team, tasks))
    members = train_decider(log, steps=200)
    return team.configured(members=members, weights=_round(train_fusion(log, members)))


async def with_season(team: Team[...], tasks: Sequence[Task]) -> Team[...]:
    """Play a `season` with one free agent, the first, while all others have a seat."""
    roster = Roster(tuple(range(1, len(team.parts["agents"]))), pool=(0,))
    played = await season(team, tasks, roster, store=Store.memory())
    return team.configured(active=played[-1].roster.active)


async def with_allocation(team: Team[...], tasks: Sequence[Task]) -> Team[...]:
    """Find by `allocate` the model of each module, among those that are there."""
    singers: dict[str, Any] = {m.model.name: m.model for some in team.parts.values() for m in some}  # type: ignore[union-attr]
    if len(singers) == 1:
        return team
    system = method(team.name).team.configured(**team.knobs)
    found = await allocate(system, list(singers.values()), tasks, store=Store.memory())
    return system.cast(**found.cast)


async def with_tokens(team: Team[...], tasks: Sequence[Task]) -> Team[...]:
    """Enrol each agent with the tasks that it has right, and `train_tokens` on them."""
    trials = await all_of([_played(direct.cast(solver=agent), tasks) for agent in team.parts["agents"]])
    right = [[t.text for t, run in zip(tasks, runs, strict=True) if _is_right(run, t)] for runs in trials]
    return team.configured(tokens=train_tokens([texts or ["(nothing)"] for texts in right], epochs=6, lr=0.5))


async def with_weights(team: Team[...], tasks: Sequence[Task]) -> Team[...]:
    """Learn by `train_mixture` how often each voice is drawn."""
    weights = await train_mixture(team, tasks[: LESSONS // 2], store=Store.memory())
    return team.configured(weights=_round(weights))


async def with_controller(team: Team[...], tasks: Sequence[Task]) -> Team[...]:
    """Learn a controller by `train_router` from two runs of each task."""
    described = team.configured(profiles=MODELS[: len(team.parts["agents"])])
    runs = await all_of([_played(described, tasks, start) for start in (0, LESSONS)])
    log = [run for some in runs for run in some]
    controller = train_router(log, lam=0, epochs=12, price=lambda run: run.usage.tokens)
    return described.configured(controller=controller)


async def with_profiles(team: Team[...], tasks: Sequence[Task]) -> Team[...]:
    """Read from `skill_probe` runs what each expert is good at."""
    (keyworder,), experts = team.parts["keyworder"], list(team.parts["experts"])
    knobs = {name: team.knobs[name] for name in ("n", "q")}
    probe = skill_probe.configured(**knobs).cast(keyworder=keyworder, experts=experts)
    return team.configured(profiles=skill_profiles(await _played(probe, tasks)))


async def _played(team: Team[...], tasks: Sequence[Task], start: int = 0) -> list[Run]:
    store = Store.memory()
    return await all_of([team.arun(task, seed=start + i, store=store) for i, task in enumerate(tasks)])


def _is_right(run: Run, task: Task) -> bool:
    return run.ok and gives_target(task, run.answer)


def _round(numbers: Sequence[float]) -> tuple[float, ...]:
    """Numbers that are the same on every machine."""
    return tuple(round(number, 4) for number in numbers)
