"""Focal diversity: how rarely the others fail with the one who fails, from logged answers.

Paper: Tekin et al. 2025, arXiv:2502.04492 (catalogue 173).
Idea: a team is worth more than its members when they fail on different questions. Among the questions that a
focal member fails, let p_i be the share that exactly i of the S members fail. With p(1) = sum of i / S *
p_i, the chance that a member taken at random fails, and p(2) = sum of i (i - 1) / (S (S - 1)) * p_i, the
chance that two do, the negative correlation of the focal member is 1 - p(2) / p(1). Focal diversity is its
mean over all members as focal: 1 when nobody ever fails with another, 0 when all fail together.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from motet.answers import canonical, extract
from motet.errors import BadInput
from motet.methods.aggregate.said import last_said
from motet.methods.common import at_least
from motet.run import Run

Answers = tuple[str | None, ...]


@dataclass(frozen=True)
class Log:
    """What each member of a pool answered to each question; None when no answer could be read.

    Args:
        answers: one row a question, in the order of the members. gold: the right answer to each.
    """

    answers: tuple[Answers, ...]
    gold: tuple[str, ...]

    @cached_property
    def correct(self) -> list[list[bool]]:
        """Whether each member was right, one row a question."""
        return [[a == gold for a in row] for row, gold in zip(self.answers, self.gold, strict=True)]

    @property
    def size(self) -> int:
        """How many members the pool has."""
        return len(self.answers[0]) if self.answers else 0


def read_log(runs: Sequence[Run], group: str = "agents") -> Log:
    """What was said last at the seats `GROUP_1`, `GROUP_2`, … in some runs on tasks with a target.

    The pool reaches to the last seat that was asked in any run; who was not asked in one has no answer in it.
    See `last_said` for a member that is a team.

    Raises:
        BadInput: a task has no target.
    """
    named = re.compile(rf"{re.escape(group)}_(\d+)(/|$)")
    seats = [int(seat[1]) for run in runs for call in run.calls if (seat := named.match(call.voice))]
    pool = [f"{group}_{i + 1}" for i in range(max(seats, default=0))]
    rows, gold = [], []
    for run in runs:
        task = run.tape.started.task
        if task.target is None:
            raise BadInput(f"item {task.id!r} has no target; only answers that can be marked make a log")
        rows.append(tuple(extract(task, last_said(run, seat) or "") for seat in pool))
        gold.append(canonical(task, task.target))
    return Log(tuple(rows), tuple(gold))


def focal_correlation(correct: Sequence[Sequence[bool]], members: Collection[int], focal: int) -> float:
    """The negative correlation of one of two or more members as focal; 1 when it never fails."""
    size = len(members)
    failed = [sum(not row[m] for m in members) for row in correct if not row[focal]]
    one = sum(i / size for i in failed)
    two = sum(i * (i - 1) / (size * (size - 1)) for i in failed)
    return 1 - two / one if one else 1.0


def focal_diversity(correct: Sequence[Sequence[bool]], members: Collection[int]) -> float:
    """The mean of `focal_correlation` over all members as focal, from 0 to 1.

    Args:
        correct: whether each member of the pool was right, one row a question.
        members: columns of the subset, two or more.
    """
    if len(members) < 2:
        raise BadInput(f"members={members!r}: diversity is of two or more")
    return sum(focal_correlation(correct, members, focal) for focal in members) / len(members)


def plurality(row: Answers, members: Collection[int], weights: Sequence[float] | None = None) -> str | None:
    """The answer with most votes (or weight, one a member) among some members; ties go to the first."""
    votes: dict[str, float] = {}
    for member, weight in zip(members, weights or [1.0] * len(members), strict=True):
        answer = row[member]
        if answer is not None:
            votes[answer] = votes.get(answer, 0.0) + weight
    return max(votes, key=lambda answer: votes[answer]) if votes else None


def accuracy(log: Log, members: Collection[int], weights: Sequence[float] | None = None) -> float:
    """The share of questions that a vote of some members has right."""
    voted = [
        plurality(row, members, weights) == gold for row, gold in zip(log.answers, log.gold, strict=True)
    ]
    return sum(voted) / len(voted)


def fitness(log: Log, members: Collection[int], *, w: float = 0.5, penalty: float = 0.1) -> float:
    """What a subset is worth: `w` of focal diversity, the rest of accuracy, less a penalty for its size."""
    worth = w * focal_diversity(log.correct, members) + (1 - w) * accuracy(log, members)
    return worth - penalty * len(members) / log.size


def fittest(log: Log, k: int, **weights: float) -> tuple[int, ...]:
    """The subset of 2 to `k` members that is worth most, found by trying all.

    Raises:
        BadInput: `k`, or the pool, is less than 2.
    """
    at_least(2, k=k, pool=log.size)
    tried = (c for size in range(2, k + 1) for c in combinations(range(log.size), size))
    return max(tried, key=lambda members: fitness(log, members, **weights))
