"""How an agent is enrolled in the hub: its document, more demonstrations of its tasks, and its token.

Paper: Jia et al. 2024, arXiv:2410.18603 (catalogue 176): AgentEnroll, self-instruct and AgentToken.
Idea: the language model stays as it is; each agent is one more row of its output head, trained on tasks that
it should be given. Demonstrations are few, so a voice writes more after their pattern, and those that repeat
one are dropped. A later agent trains its own row alone.
Deviates: the model is a fixed hash of a task's trigrams (`features`). Repetition is measured by their
cosine, where the paper compares embeddings of words. A later row is trained against the demonstrations of
the agents before it as well, so that it does not draw their tasks.

    store = [asyncio.run(self_instruct(entry, "local")) for entry in store]
    tokens = train_tokens([entry.demonstrations for entry in store])
"""

from collections.abc import Sequence
from random import Random
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from motet.agent import Voice
from motet.errors import BadInput, SchemaMismatch
from motet.methods.common import share
from motet.methods.route.agent_store import Token, token_chances
from motet.methods.route.features import dot, features
from motet.structured import parse
from motet.teams import team
from motet.types import Reply, Task

D = 64  # features of a task
INSTRUCT = """\
An agent for tasks of one kind.

What it can do:
{about}

Tasks that it was given:
{shown}

Write {n} other tasks that it could be given, as `tasks`: as concrete as these, each different."""


class Entry(Struct, frozen=True):
    """The document with which an agent is enrolled: what it can do, and tasks that it should be given."""

    about: str
    demonstrations: tuple[str, ...]


class Tasks(Struct):
    """What the writer of demonstrations gives."""

    tasks: Annotated[list[str], Meta(min_length=1)]


@team
async def instruct(task: Task, writer: Voice) -> Reply:
    """Ask for more tasks like those shown."""
    return await writer.ask(task, schema=Tasks)


async def self_instruct(
    entry: Entry, writer: Any, *, n: int = 20, rounds: int = 8, tau: float = 0.8, **options: Any
) -> Entry:
    """An entry with up to `n` demonstrations, the missing ones written by a voice; those it has all stay.

    Args:
        rounds: how often the writer is asked at most; each time it is shown up to four demonstrations, and
            the run has a seed of its own.
        tau: a task whose cosine to one that is there is greater is dropped, from 0 to 1.
        options: of `Team.arun`, such as `store` and `seed`.
    """
    share(tau=tau)
    seed, kept = options.pop("seed", 0), list(entry.demonstrations)
    rng = Random(f"{seed} {entry.about}")
    for turn in range(rounds):
        if len(kept) >= n:
            break
        shown = "\n".join(f"- {task}" for task in rng.sample(kept, min(4, len(kept))))
        prompt = INSTRUCT.format(about=entry.about, shown=shown, n=min(5, n - len(kept)))
        run = await instruct.cast(writer=writer).arun(Task(prompt), seed=seed + turn, **options)
        try:
            written = parse(run.answer, Tasks).tasks if run.ok else []
        except SchemaMismatch:
            continue
        for text in written:
            new = all(dot(features(text, D), features(known, D)) <= tau for known in kept)
            if new and text.strip() and len(kept) < n:
                kept.append(text.strip())
    return msgspec.structs.replace(entry, demonstrations=tuple(kept))


def train_tokens(
    demonstrations: Sequence[Sequence[str]],
    *,
    tokens: Sequence[Token] = (),
    epochs: int = 60,
    lr: float = 2.0,
    d: int = D,
) -> list[tuple[float, ...]]:
    """The token of each agent, by descent of the cross-entropy on the demonstrations.

    Args:
        demonstrations: for each agent, tasks that it should be given.
        tokens: of the first agents, trained before; they stay as they are.
        lr: step size. d: how many features a task has.

    Raises:
        BadInput: an agent has no demonstration, or there are more tokens than agents.
    """
    if not all(demonstrations) or len(tokens) > len(demonstrations):
        sizes = [len(some) for some in demonstrations]
        raise BadInput(
            f"{len(tokens)} tokens, demonstrations {sizes}: each agent needs one or more to be trained"
        )
    fixed = len(tokens)
    d = len(tokens[0]) if tokens else d
    rows = [list(token) for token in tokens] + [[0.0] * d for _ in demonstrations[fixed:]]
    lessons = [(text, i) for i, some in enumerate(demonstrations) for text in some]
    rng = Random(0)
    for _ in range(epochs):
        rng.shuffle(lessons)
        for text, right in lessons:
            chances = token_chances(text, rows)
            for i in range(fixed, len(rows)):
                slope = lr * ((i == right) - chances[i])
                rows[i] = [x + slope * h for x, h in zip(rows[i], features(text, d), strict=True)]
    return [tuple(round(x, 4) for x in row) for row in rows]
