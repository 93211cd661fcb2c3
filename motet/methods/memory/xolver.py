"""Xolver: a team with a shared memory of the problem at hand and a long-term memory of those before it.

Paper: Hosain et al. 2025, arXiv:2506.14234 (catalogue 398).
Idea: an Olympiad team does not start from scratch. A planner names m roles; the agents in these roles see the
K most related problems that were solved before (the long-term memory) and solve the question. A judge scores
each attempt with feedback, and the best m of all rounds stay in a shared memory of that size, which every
agent sees in the next of T rounds besides its own history, so that the best of a round is never worse than
that of the round before. It ends early when m > 1 shared attempts agree. A verifier states the answer, and
the best attempt (or, where it had to be corrected, the answer) is written back to the long-term memory.
Calls: at most 2 + 2 * T * m; agents are asked together, and each attempt is judged as soon as it is there.
Deviates: the planner names m roles at once, where the paper chooses m out of more. Without a long-term memory
nothing is recalled, where the paper lets the model remember a related problem by itself. Tools are those of
the agents that are cast. The verifier may correct the answer, where the authors' only reads it out of the
attempt. What the judge scores below `tau` is not written back.
Failure: without a planner all agents are experts. An attempt that is not judged scores 0. An agent that has
not answered yet is told the question again. When no agent answers in the first round, the run fails; when the
verifier does not, the best attempt is the answer.
"""

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from motet.agent import Conversation, Voice
from motet.answers import extract, instruction
from motet.combine import Prompt, answered, ask_each, tally
from motet.concurrency import all_of
from motet.errors import ModelError
from motet.methods.common import at_least, recruit, seats, share
from motet.methods.memory.experience import Episode, Experience
from motet.teams import Voices, team
from motet.types import Failure, Linked, Reply, Task, fill

PLAN = """\
Question:
{task}

A team of {m} specialists shall solve it. Give the role of each as `roles`: one sentence that tells it who it
is."""
SOLVE = """\
{role}

{before}Question:
{task}

Solve it step by step. {form}"""
RELATED = "Problems like it that were solved before:\n\n{episodes}\n\n"
EPISODE = "Problem:\n{problem}\nSolution:\n{solution}"
AGAIN = """\
The best attempts of the team so far, with the judge's feedback:

{shared}

Learn from them and solve the question again, step by step. {form}"""
ATTEMPT = "{reply}\nScore: {score}\nFeedback: {feedback}"
JUDGE = """\
Question:
{task}

Attempt:
{reply}

Say as `feedback` what is right and wrong in it, and give as `score` how good it is, from 0 to 1."""
VERIFY = """\
Question:
{task}

The team's best attempt:
{reply}

Check it, correct it if need be, and state the answer. {form}"""


class Verdict(Struct):
    """What the judge says of an attempt."""

    feedback: str
    score: Annotated[float, Meta(ge=0, le=1)]


class Attempt(NamedTuple):
    """What an agent said, with its score and as the team is shown it."""

    reply: Reply
    score: float
    shown: Linked


@team
async def xolver(  # noqa: PLR0913 (four voices are the method)
    task: Task,
    planner: Voice,
    agents: Voices,
    judge: Voice,
    verifier: Voice,
    *,
    m: int = 3,
    T: int = 2,
    K: int = 5,
    tau: float = 0.5,
    experience: Experience | None = None,
) -> Reply:
    """Solve with `m` agents in `T` rounds from `K` related experiences, and write the best attempt back."""
    at_least(1, m=m, T=T)
    at_least(0, K=K)
    share(tau=tau)
    form = instruction(task)
    crew = [agent.chat() for agent in seats(agents, m)]
    episodes = experience.recall(task.text, K) if experience else []
    told = [fill(EPISODE, problem=e.problem, solution=e.solution) for e in episodes]
    before = fill(RELATED, episodes=told) if told else Linked("")
    roles = await recruit(planner, fill(PLAN, task=task, m=m), m)
    openings = [[fill(SOLVE, role=role, before=before, task=task, form=form)] for role in roles]
    shared: list[Attempt] = []
    again: list[Linked] = []
    for _ in range(T):
        asked = [(*opening, *again) for opening in openings]
        outcomes = await all_of([_attempt(task, judge, *turn) for turn in zip(crew, asked, strict=True)])
        if not shared:
            answered([o.reply if isinstance(o, Attempt) else o for o in outcomes])
        for i, outcome in enumerate(outcomes):
            if isinstance(outcome, Attempt):
                openings[i] = []  # it is in the agent's own history
                shared.append(outcome)
        shared = sorted(shared, key=lambda attempt: -attempt.score)[:m]
        if m > 1 and len(shared) == m and tally(task, [attempt.reply for attempt in shared]).share() == 1:
            break
        again = [fill(AGAIN, shared=[attempt.shown for attempt in shared], form=form)]
    top = shared[0]
    try:
        final = await verifier.ask(fill(VERIFY, task=task, reply=top.reply, form=form))
    except ModelError:
        final = top.reply
    if experience is not None and top.score >= tau:
        confirmed = extract(task, final.text) == extract(task, top.reply.text)
        experience.keep(Episode(task.text, (top.reply if confirmed else final).text))
    return final


async def _attempt(task: Task, judge: Voice, agent: Conversation, asked: Prompt) -> Attempt | Failure:
    """What an agent says to this, judged."""
    (reply,) = await ask_each([agent], [asked])
    if isinstance(reply, Failure):
        return reply
    (verdict,) = await ask_each([judge], [fill(JUDGE, task=task, reply=reply)], schema=Verdict)
    score, feedback = 0.0, Linked("none")
    if isinstance(verdict, Reply):
        score, feedback = verdict.data.score, Linked(verdict.data.feedback, (verdict,))
    return Attempt(reply, score, fill(ATTEMPT, reply=reply, score=score, feedback=feedback))
