"""What experts are good at, read from the tapes of a validation set; and who aggregates best.

Paper: Chen et al. 2025, arXiv:2503.05641 (catalogue 141): the preparation of Symbolic-MoE.

    probe = skill_probe(n=3).cast(keyworder="local", experts=[a, b, c])
    runs = [probe.run(task) for task in validation]
    who = asyncio.run(best_aggregator(runs, [a, b, c]))
    team = symbolic_moe(n=3, profiles=skill_profiles(runs)).cast(
        keyworder="local", experts=[a, b, c], aggregator=[a, b, c][who]
    )
"""

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any, cast

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each, majority
from motet.concurrency import all_of
from motet.errors import SchemaMismatch
from motet.methods.aggregate.mixture_of_agents import mixture_of_agents
from motet.methods.aggregate.said import last_said
from motet.methods.aggregate.symbolic_moe import Skills, agreed, named_skills
from motet.methods.common import Mark, at_least, gives_target, seats
from motet.methods.single.chain_of_thought import STEPS
from motet.models.scripted import Line, Scripted
from motet.run import Run
from motet.structured import parse
from motet.teams import Voices, team
from motet.types import Failure, Linked, Reply, Task


@team
async def skill_probe(
    task: Task, keyworder: Voice, experts: Voices, *, n: int = 4, q: int = 5, temperature: float = 0.7
) -> Linked:
    """Name the skills of a validation question, and let every expert answer it."""
    at_least(1, q=q)
    pool, prompt = seats(experts, n), (task, STEPS, instruction(task))
    naming = named_skills(task, keyworder, q, temperature)
    _, said = await all_of([naming, ask_each(pool, [prompt] * n, temperature=temperature)])
    return majority(task, answered(cast("list[Reply | Failure]", said)))


def skill_profiles(runs: Sequence[Run], mark: Mark = gives_target) -> list[dict[str, int]]:
    """The profile of each expert of some `skill_probe` runs: +1 for each skill of a question it had right, -1
    for each of one it had wrong. An expert that failed had it wrong.
    """
    profiles: list[dict[str, int]] = []
    for run in runs:
        started = run.tape.started
        skills = _skills_of(run, started.knobs["q"])
        profiles.extend(defaultdict(int) for _ in range(len(profiles), started.knobs["n"]))
        for i, profile in enumerate(profiles, 1):
            said = last_said(run, f"experts_{i}")
            right = said is not None and mark(started.task, said)
            for skill in skills:
                profile[skill] += 1 if right else -1
    return [dict(profile) for profile in profiles]


async def best_aggregator(
    runs: Sequence[Run],
    candidates: Sequence[Any],
    *,
    mark: Mark = gives_target,
    seed: int = 0,
    **options: Any,
) -> int:
    """Which of some voices makes the right answer of one right and one wrong rationale most often.

    Args:
        runs: of `skill_probe`; those on which the experts were all right or all wrong say nothing.
        candidates: whom to try: models, names, agents or teams.
        options: of `Team.arun`, such as `store`.

    Returns:
        Its position; the first of equals.
    """
    rng = Random(seed)
    mixed = []
    for run in runs:
        task = run.tape.started.task
        told = [last_said(run, f"experts_{i + 1}") for i in range(run.tape.started.knobs["n"])]
        halves = [[t for t in told if t is not None and mark(task, t) is right] for right in (True, False)]
        if all(halves):
            mixed.append((task, rng.sample([rng.choice(half) for half in halves], 2)))

    async def passes(candidate: Any, task: Task, texts: Sequence[str]) -> bool:
        voices = [Scripted([Line(text, match="")]) for text in texts]
        trial = mixture_of_agents(n=2, layers=2).cast(proposers=voices, aggregator=candidate)
        run = await trial.arun(task, seed=seed, **options)
        return run.ok and mark(task, run.answer)

    tried = [all_of([passes(candidate, *one) for one in mixed]) for candidate in candidates]
    scores = [sum(passed) for passed in await all_of(tried)]
    return scores.index(max(scores))


def _skills_of(run: Run, q: int) -> list[str]:
    """The skills that were named; a keyworder that is a team has named those of all its replies that fit."""
    replies = []
    for call in run.calls:
        if call.node and call.voice.partition("/")[0] == "keyworder":
            try:
                replies.append(parse(run.tape.path(call.node)[-1].text, Skills))
            except SchemaMismatch:
                continue
    return agreed(replies, min(2, q))
