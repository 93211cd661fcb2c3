"""A part of a method, tuned on runs of that method, makes it better: CHASE-SQL's selector, OWL's planner.

Policies are tables. So that what is learned on some items serves others, a table is shown of a prompt what a
rule sees in it, instead of all its words.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from itertools import combinations
from random import Random
from statistics import mean
from typing import Any

import pytest
from method_runs import is_right, noise, play, play_all
from sql_items import items

from motet import Agent, Run, Sampling, Task, Team
from motet.evals.scorers import scorer
from motet.methods import chase_sql, workforce
from motet.methods.code.sql_desk import desk
from motet.tape.context import CALL
from motet.train import Adam, Loss
from motet.train.builders import Built
from motet.train.builders.optima import optima
from motet.train.builders.sql_selection import sql_selection
from motet.train.gradient import GradientEngine
from motet.train.tabular import Table
from motet.train.taught import taught
from motet.train.tune import Lesson, tune
from motet.types import Message, Reply

END = "."


class Sighted(Table):
    """A table over what is seen in a prompt; it is the vocabulary of its tuning data as well."""

    label = "table"
    pad = 0

    def __init__(self, words: Sequence[str], policy: str, see: Callable[[str], object]) -> None:
        super().__init__((*words, END), (policy,), END)
        self.ends = frozenset({len(words)})
        self._see = see

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        seen = [f"{m.text} {END}" if m.role == "assistant" else str(self._see(m.text)) for m in messages]
        return super().encode([Message.say(m.role, text) for m, text in zip(messages, seen, strict=True)])

    def prompt(self, chat: Sequence[tuple[str, str]]) -> tuple[int, ...]:
        """Ids of a chat, for `taught`."""
        return self.encode([Message.say(role, text) for role, text in chat])

    def learn(self, built: Built, voice: str, lesson: Lesson) -> None:
        """Learn what a builder made for one voice."""
        rows = taught(built, self, {voice: self.policies[0]})
        losses = tune(GradientEngine(self), rows, lesson)[self.policies[0]]
        assert rows and losses[-1] < losses[0]


# CHASE-SQL: a selector tuned on pairs of a right and a wrong query

CLAUSE = r" (?:WHERE|GROUP BY|ORDER BY) .*"


class Analyst:
    """Writes right queries and three kinds of wrong ones; on hard items it mostly forgets the condition."""

    name = identity = "analyst"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        context = CALL.get()
        assert context
        gold = context.task.target or ""
        wrong = re.sub(CLAUSE, "", gold), f"SELECT * FROM ({gold}) WHERE 0", f"SELECT 1, * FROM ({gold})"
        hard = int(context.task.id) % 2
        chance = Random(f"{context.task.id} {messages[-1].text}")
        said = chance.choices((gold, *wrong), (0.25, 0.55, 0.1, 0.1) if hard else (0.5, 0.2, 0.2, 0.1), k=n)
        return [Reply(message=Message.say("assistant", f"```sql\n{query}\n```")) for query in said]


def candidates_in(prompt: str) -> list[tuple[bool, bool]]:
    """Of each candidate, whether it has a condition and whether it found anything."""
    shown = re.findall(r"Candidate \d:\n```sql\n(.*)\n```\nIts result:\n((?:.+\n)+)", prompt)
    return [(bool(re.search(CLAUSE, query)), "[no rows]" not in found) for query, found in shown]


def mark(task: Task, answer: str) -> float:
    return asyncio.run(scorer("by_kind")(task, answer)).value


def voted(task: Task, drafts: Sequence[str]) -> str:
    """Self-consistency: the first of those whose result most others have."""
    at = desk(task)
    ran = [asyncio.run(at.run(Reply(message=Message.say("assistant", draft)))) for draft in drafts]
    return drafts[max(range(len(drafts)), key=lambda i: sum(ran[i].same(other) for other in ran))]


def drafts_of(run: Run) -> list[str]:
    calls = [c for c in run.calls if c.voice == "generator"]
    return [
        run.tape.path(c.node)[-1].text for c in calls if "Make up" not in run.tape.path(c.prompt)[-1].text
    ]


@pytest.mark.slow
def test_a_selector_tuned_on_right_and_wrong_queries_beats_the_vote_and_stays_below_the_oracle() -> None:
    shapes: dict[str, list[Task]] = {}
    for task in items(100):
        shapes.setdefault((task.target or "").partition(" WHERE")[0], []).append(task)
    parts = list(shapes.values())
    known, new = ([task for part in half for task in part] for half in (parts[::2], parts[1::2]))
    table = Sighted(('{"best":', "1}", "2}"), "selector", candidates_in)
    selector = Agent(table.model("selector"), sampling=Sampling(max_tokens=2, temperature=0))
    team = chase_sql(n=2, beta=0).cast(generator=Analyst(), fixer="sim:fail=1", selector=selector)
    untrained = play_all(team, new)
    collected = play_all(team.cast(selector="sim:judge=0"), known[:30])
    built = sql_selection([run.tape for run in collected])
    table.learn(built, "selector", Lesson(epochs=2, batch=32, adam=Adam(lr=0.3)))
    tuned = play_all(team, new)
    drafts = [drafts_of(run) for run in tuned]
    assert drafts == [drafts_of(run) for run in untrained], "they choose among the same queries"
    vote = [voted(task, found) for task, found in zip(new, drafts, strict=True)]
    before, chosen, elected = (
        mean(map(mark, new, answers))
        for answers in ([run.answer for run in untrained], [run.answer for run in tuned], vote)
    )
    oracle = mean(
        max(mark(task, draft) for draft in set(found)) for task, found in zip(new, drafts, strict=True)
    )
    assert chosen - max(before, elected) > noise(0.5, len(new))
    assert chosen < oracle < 1


# Workforce: a planner tuned by preference of plans that succeeded

TRADES = ("count", "weigh", "name")
KINDS = [kind for size in (1, 2, 3) for kind in combinations(TRADES, size)]
THINGS = ("apples", "boats", "coins", "drums", "eggs", "flags", "geese", "hats")
DOES = re.compile(r"\b(count|weigh|name) the (\w+)")


def errand(kind: Sequence[str], number: int) -> Task:
    """A task for some trades; the answer is what each of them finds."""
    things = Random(f"{kind} {number}").sample(THINGS, len(kind))
    wanted = [f"{trade} the {thing}" for trade, thing in zip(kind, things, strict=True)]
    found = sorted(f"{trade}-{thing}" for trade, thing in zip(kind, things, strict=True))
    return Task(f"Errand {number}: {' and '.join(wanted)}.", target=" ".join(found), id=f"{kind} {number}")


def split(*parts: str) -> str:
    """A plan in one word."""
    subtasks = [{"do": f"{part}-what-is-asked", "after": []} for part in parts]
    return json.dumps({"subtasks": subtasks}, separators=(",", ":"))


PLANS = [split("everything"), *(split(*kind) for kind in KINDS)]


class Planner:
    """Plans as a policy does, and puts the results of the parts together by rule."""

    def __init__(self, policy: Any) -> None:
        self._policy, self.name = policy, policy.name

    @property
    def identity(self) -> str:
        return self._policy.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        said = messages[-1].text
        if "Split it into" in said:
            return await self._policy.sample(messages, n, sampling)
        found = sorted(set(re.findall(r"-> .*?(\w+-\w+)$", said, re.MULTILINE)))
        return [Reply(message=Message.say("assistant", f"Answer: {' '.join(found)}"))] * n


def worker(*trades: str) -> Agent:
    """Does what the task wants of its trades, and makes something up where the task wants nothing of them."""

    def work(prompt: str) -> str:
        task, _, part = prompt.partition("Your part:\n")
        trade, _, rest = part.partition("-")
        if not rest.startswith("what-is-asked") or trade not in trades:
            return "FAILED: not my trade."
        found = [f"{does}-{thing}" for does, thing in DOES.findall(task) if does == trade]
        return found[0] if found else f"{trade}-air"

    return Agent(work, instructions=f"Can {' and '.join(trades)}.")


def by_trade(prompt: str) -> str:
    """A coordinator: each part to who can do it, else to the first."""
    workers = re.findall(r"^- (\w+): (.*)$", prompt, re.MULTILINE)
    parts = re.findall(r"^\[\d+\] (\w+)-", prompt, re.MULTILINE)
    chosen = [next((name for name, can in workers if part in can), workers[0][0]) for part in parts]
    return json.dumps({"workers": chosen})


def test_a_planner_tuned_on_plans_that_succeeded_does_better_with_its_workers_and_with_others() -> None:
    table = Sighted(PLANS, "planner", lambda prompt: [does for does, _ in DOES.findall(prompt)])
    voice = Agent(Planner(table.model("planner")), sampling=Sampling(max_tokens=1))
    mates, others = [worker(t) for t in TRADES], [worker("sing"), worker("weigh"), worker("name", "count")]
    team = workforce(r=0).cast(planner=voice, coordinator=by_trade, workers=mates)
    known = [errand(kind, number) for kind in KINDS for number in range(2)]
    new = [errand(kind, number) for kind in KINDS for number in range(2, 12)]
    casts = team, team.cast(workers=others)
    before = [success(cast, new) for cast in casts]
    tapes = [play(team, task, seed=seed).tape for seed, task in enumerate(known * 20)]
    built = optima(tapes, tokens=0.0, gap=0.5).of("planner")
    table.learn(Built(dpo=built.dpo), "planner", Lesson(Loss("dpo"), epochs=6, batch=32, adam=Adam(lr=0.3)))
    for cast, was in zip(casts, before, strict=True):
        assert success(cast, new) - was > noise(0.5, len(new))


def success(team: Team[...], tasks: Sequence[Task]) -> float:
    """The share of tasks that are done; each has a seed of its own, as the policy sees many prompts alike."""
    return mean(is_right(play(team, task, seed=seed)) for seed, task in enumerate(tasks))
