"""Compare methods on one suite, each against a single call and against voting at the same budget.

The baseline matters more than the method: most gains of teams vanish when one model may spend as much on
plain self-consistency (Wang et al., arXiv:2203.11171; Smit et al., *Should we be going MAD?*,
arXiv:2311.17371). So each method is held against as many votes as cost what it costs, on the same items,
with the same seeds, and with replies shared wherever two methods ask the same.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from motet.agent import Agent
from motet.budget import Budget
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.evals.bench import Bench, Outcome, scorer_identity
from motet.evals.budgeting import Currency, mean_spend, merge_levels, read_budget, rematched, votes_for
from motet.evals.comparison import Comparison, Item, Settings, make_rows
from motet.evals.lineup import Entry, baseline_voice, cast_all, entries_of, same_or_new
from motet.evals.progress import Counter, Progress, shown
from motet.evals.suite import Suite, load_suite
from motet.performance import run_blocking
from motet.tape import Store, project_store
from motet.teams import Team
from motet.types import Task

PILOT = 3
"""Votes drawn to learn what the first and each further vote cost."""

REMATCHES = 2
"""How often the number of votes is corrected after seeing what they cost."""

RESUME = "stopped; what is done is kept in {path}. The same comparison, run again, goes on from there"


class Options(TypedDict, total=False):
    """Settings of `compare` that are seldom changed.

    seeds: runs of each method on each item, with seeds `seed`, `seed + 1`, … (1).
    store: where runs are kept and found again; the project's store when left out.
    concurrency: items worked on at once (8).
    on_progress: told after each run; without it a bar is shown when stderr is a terminal.
    baselines: whether the single call and self-consistency are added (True).
    """

    seeds: int
    store: Store | None
    concurrency: int
    on_progress: Callable[[Progress], None] | None
    baselines: bool


def compare(
    methods: "Iterable[Team[...] | str] | Team[...] | str",
    suite: Suite | str,
    *,
    model: Any = None,
    budget: Budget | str | None = None,
    n: int | None = None,
    seed: int = 0,
    **options: Unpack[Options],
) -> Comparison:
    """Compare methods at equal budgets and say which were worth what they spent.

    Each method is run on every item; then self-consistency is run with as many votes as cost, on
    average, what the method cost. A run that fails scores 0. Everything is kept: a comparison that was
    stopped, or killed, goes on where it was when it is called again, and pays for no answer twice.

    Args:
        methods: teams, or names of methods.
        suite: a suite, or the name or file of one.
        model: who sings the voices that are not cast, and the baselines.
        budget: what is made equal, `tokens` (the default), `calls` or `money`; or a `Budget`, a hard limit
            for every single run.
        n: how many items of the suite; all when left out.
        seed: decides which items are drawn, and goes into every call.
        **options: see `Options`.

    Raises:
        BadInput: a setting is wrong, a voice is not cast, or a price is needed and unknown.
        UnknownName: no such method or suite. StoreError: the store cannot be kept.
        KeyboardInterrupt: it was stopped; the message says how to go on.
    """
    store = options.get("store") or project_store()
    options["store"] = store
    try:
        return run_blocking(acompare(methods, suite, model=model, budget=budget, n=n, seed=seed, **options))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(RESUME.format(path=store.path)) from None


async def acompare(
    methods: "Iterable[Team[...] | str] | Team[...] | str",
    suite: Suite | str,
    *,
    model: Any = None,
    budget: Budget | str | None = None,
    n: int | None = None,
    seed: int = 0,
    **options: Unpack[Options],
) -> Comparison:
    """`compare`, for code that is asynchronous itself."""
    suite = (
        load_suite(suite, n, seed)
        if isinstance(suite, str)
        else suite
        if n is None
        else suite.sample(n, seed)
    )
    currency, limit = read_budget(budget)
    store, seeds = options.get("store") or project_store(), _counted("seeds", options.get("seeds", 1))
    teams = cast_all(methods, model)
    with shown(options.get("on_progress")) as listener:
        board = Board(
            Bench(suite.scorer, store, limit),
            [(task, seed + i) for task in suite for i in range(seeds)],
            _counted("concurrency", options.get("concurrency", 8)),
            Counter(listener),
        )
        if options.get("baselines", True):
            entries, matches, direct = await _with_baselines(board, teams, model, currency)
        else:
            entries, matches, direct = entries_of(teams), {}, None
            await board.play(entries, "methods")
    items = board.items(suite.tasks, [entry.label for entry in entries], seeds)
    settings = Settings(
        suite=suite.name, scorer=scorer_identity(suite.scorer), n=len(items), seed=seed, seeds=seeds,
        currency=currency, budget=limit.limits() if limit else {}, model=_model_name(model),
    )  # fmt: skip
    return Comparison(settings, make_rows(entries, items, matches, direct, currency), items, store)


@dataclass
class Board:
    """The work that there is, a task with a seed each, and the outcomes so far, by label."""

    bench: Bench
    work: list[tuple[Task, int]]
    concurrency: int
    counter: Counter
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)

    async def play(self, entries: Sequence[Entry], doing: str) -> None:
        """Run these entries on all items. On one item they go one after another, so that what one has
        asked is there for the next."""
        entries = [entry for entry in entries if entry.label not in self.outcomes]
        self.counter.plan(len(entries) * len(self.work), doing)
        gate = asyncio.Semaphore(self.concurrency)

        async def one(task: Task, seed: int) -> list[Outcome]:
            async with gate:
                return [await self._play(entry, task, seed) for entry in entries]

        columns = await all_of([one(task, seed) for task, seed in self.work])
        for entry, made in zip(entries, zip(*columns, strict=True), strict=True):
            self.outcomes[entry.label] = list(made)

    async def _play(self, entry: Entry, task: Task, seed: int) -> Outcome:
        outcome, paid, cost, made = await self.bench.play(entry.team, task, seed)
        self.counter.add(paid, cost, made=made)
        return outcome

    def spend(self, entry: Entry, currency: Currency) -> float:
        """Mean spend of a run of this entry."""
        return mean_spend(self.outcomes[entry.label], currency)

    def items(self, tasks: Sequence[Task], labels: Sequence[str], seeds: int) -> tuple[Item, ...]:
        """The outcomes by item."""
        return tuple(
            Item(
                id=task.id or str(i + 1),
                prompt=task.prompt,
                target=task.target,
                outcomes={
                    label: tuple(self.outcomes[label][i * seeds : (i + 1) * seeds]) for label in labels
                },
            )
            for i, task in enumerate(tasks)
        )


async def _with_baselines(
    board: Board, teams: "list[Team[...]]", model: Any, currency: Currency
) -> tuple[list[Entry], dict[str, str], str]:
    """Run the methods, a single call and a single vote; then as many votes as cost what a method costs.

    Returns:
        All entries, the baseline of each method, and the label of the single call.
    """
    from motet.methods import direct, self_consistency

    voice = baseline_voice(teams, model)
    single = Entry("direct", direct.cast(voice), "baseline")
    methods = entries_of([team for team in teams if team.identity != single.team.identity], {single.label})

    def voting(n: int) -> Entry:
        return same_or_new(self_consistency(n=n).cast(voice), f"self_consistency(n={n})", methods)

    rivals = {PILOT: voting(PILOT), 1: voting(1)}  # in this order the one vote is there already, and free
    await board.play([single, *methods, *rivals.values()], "methods")
    one, pilot = (board.spend(rivals[n], currency) for n in (1, PILOT))
    if not one and not all(outcome.failure for outcome in board.outcomes[rivals[1].label]):
        raise BadInput(f"a call spends no {currency} here, so they cannot be made equal; use budget='calls'")
    spent = {entry.label: board.spend(entry, currency) for entry in methods}
    votes = merge_levels({label: votes_for(spend, one, (PILOT, pilot)) for label, spend in spent.items()})
    for attempt in range(1 + REMATCHES):
        rivals |= {n: voting(n) for n in sorted({*votes.values()} - {*rivals})}
        await board.play(list(rivals.values()), "baselines")
        tried = {n: board.spend(rival, currency) for n, rival in rivals.items()}
        better = merge_levels(rematched(votes, spent, tried))
        if better == votes or attempt == REMATCHES:
            break
        votes = better
    rivals[1] = single  # one vote is a single call
    chosen = {label: rivals[n] for label, n in votes.items()}
    own = [rivals[n] for n in sorted({1, *votes.values()}) if rivals[n] not in methods]
    return [*methods, *own], {label: rival.label for label, rival in chosen.items()}, single.label


def _counted(name: str, value: int) -> int:
    if value < 1:
        raise BadInput(f"{name} is {value!r}; expected 1 or more")
    return value


def _model_name(model: Any) -> str | None:
    singer = model.model if isinstance(model, Agent) else model
    return singer if isinstance(singer, str | None) else getattr(singer, "name", repr(singer))
