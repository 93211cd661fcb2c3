"""Symbolic-MoE: experts recruited for each question by the skills that it needs.

Paper: Chen et al. 2025, arXiv:2503.05641 (catalogue 141).
Idea: models of one size are good at different things, and questions of one kind need different skills. A
voice names the skills of the question; k experts are drawn by how well they did on these skills before
(`skill_profiles`), each reasons once, and an aggregator writes the answer. There is no discussion and no
training. `run_grouped` plays many questions so that each model is loaded once.
Calls: q + k + 1.
Deviates: a skill that no profile has is taken for the one that looks most like it, letter by letter, where
the paper compares embeddings. Experts that are drawn for very few of all questions are not replaced.
Failure: with no skills named or no profiles, all experts are as likely. An expert that fails is missing;
when all drawn do, or the aggregator does, the run fails.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.errors import BadInput
from motet.methods.aggregate.mixture_of_agents import AGGREGATE
from motet.methods.common import at_least, dice, seats, weights
from motet.methods.retrieve.corpus import cosine, trigrams
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import Voices, team
from motet.types import Reply, Task, fill

Profile = Mapping[str, int]
"""For each skill, on how many validation questions an expert was right, less those where it was wrong."""

SKILLS = """\
Question:
{task}

Which knowledge, subjects or skills does it need? Give 2 to 5 short keywords as `skills`. Do not answer it."""
LONGEST = 20  # characters of a keyword: a longer one is a sentence


class Skills(Struct):
    """What a question needs."""

    skills: Annotated[list[str], Meta(min_length=1, max_length=5)]


@team
async def symbolic_moe(  # noqa: PLR0913 (three voices are the method)
    task: Task,
    keyworder: Voice,
    experts: Voices,
    aggregator: Voice,
    *,
    n: int = 4,
    k: int = 3,
    q: int = 5,
    profiles: Sequence[Profile] = (),
    tau: float = 0.5,
    temperature: float = 0.7,
) -> Reply:
    """Draw `k` of `n` experts, with replacement, by the skills that `q` looks at the question name.

    `profiles` are those of the experts, in their order; see `skill_profiles`. The lower `tau`, the more it
    counts how good an expert is altogether.
    """
    at_least(1, k=k, q=q)
    weights(temperature=temperature)
    if not tau > 0:
        raise BadInput(f"tau={tau!r}: expected a number above 0")
    if profiles and len(profiles) != n:
        raise BadInput(f"{len(profiles)} profiles for {n} experts; give one for each, in their order")
    pool, form = seats(experts, n), instruction(task)
    skills = await named_skills(task, keyworder, q, temperature)
    suited = suitability(skills, profiles or [{}] * n, tau)
    drawn = dice("recruit", task.text).choices(pool, suited, k=k)
    said = await ask_each(drawn, [(task, STEPS, form)] * k, temperature=temperature)
    return await aggregator.ask(fill(AGGREGATE, task=task, replies=answered(said), form=form))


async def named_skills(task: Task, keyworder: Voice, q: int, temperature: float) -> list[str]:
    """The skills that at least two of `q` replies name (one will do when q is 1)."""
    asked = [fill(SKILLS, task=task)] * q
    replies = await ask_each([keyworder] * q, asked, schema=Skills, temperature=temperature)
    return agreed([reply.data for reply in replies if isinstance(reply, Reply)], min(2, q))


def agreed(replies: Sequence[Skills], least: int) -> list[str]:
    """The short keywords that occur in `least` replies or more."""
    named = [dict.fromkeys(word.strip().lower() for word in reply.skills) for reply in replies]
    words = Counter(word for reply in named for word in reply)
    return [word for word, times in words.items() if times >= least and 0 < len(word) <= LONGEST]


def suitability(skills: Sequence[str], profiles: Sequence[Profile], tau: float = 0.5) -> list[float]:
    """How well each expert suits a question: local suitability times global competence, summing to 1.

    The local one is the sum of an expert's scores on these skills; experts at or below 0 are out, unless all
    are: then the sums are shifted so that the least is 1. The global one is the sum of all of its scores
    (shifted so that the least is 1 when it is negative), to the power 1 / tau. So it is in the authors' code.
    """
    known = sorted({skill for profile in profiles for skill in profile})
    wanted = [nearest(skill, known) for skill in skills] if known else []
    if not wanted:
        return [1 / len(profiles)] * len(profiles)
    local = [float(sum(profile.get(skill, 0) for skill in wanted)) for profile in profiles]
    local = [max(s, 0) for s in local] if max(local) > 0 else [s - min(local) + 1 for s in local]
    total = [float(sum(profile.values())) for profile in profiles]
    total = [t - min(total) + 1 for t in total] if min(total) < 0 else total
    top = max(t for s, t in zip(local, total, strict=True) if s)  # a part of it has no power too great
    if not top:
        return [s / sum(local) for s in local]
    weights = [s * (t / top) ** (1 / tau) if s else 0.0 for s, t in zip(local, total, strict=True)]
    return [w / sum(weights) for w in weights]


def nearest(word: str, known: Sequence[str]) -> str:
    """The known word of the greatest cosine of letter trigrams; the first of equals."""
    return max(known, key=lambda other: cosine(trigrams(word), trigrams(other)))
