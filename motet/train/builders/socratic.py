"""Socratic-Zero: a solver, a teacher that writes questions at the edge of its skill, and a generator.

Paper: Wang et al. 2025, arXiv:2509.24726 (catalogue 414); one round's data and the next curriculum.
Idea: the solver answers each question k times and learns by preferences between its right and wrong answers.
Where it failed, the teacher writes a new question after the failed attempt. The generator is tuned to write
what the teacher wrote, weighted by a utility of the solver's success s on it, exp(−(s − μ)² / 2σ²), which
peaks at medium difficulty. Questions that are mastered leave the curriculum, those of the learning zone stay.
Calls: k a question; q + q * k more where any attempt is wrong.
Deviates: the new question's answer is the teacher's own and judged by equality; μ = 0.5, σ = 0.2; the
generator writes nothing until it is cast as the teacher.
Failure: a question that fails or has no answer is rejected; when the solver fails, the run does.
"""

from collections.abc import Sequence
from math import exp

from msgspec import Struct
from msgspec.structs import replace

from motet.agent import Voice
from motet.answers import instruction
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.tape import Called, Tape
from motet.teams import team
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, data_of, of_team, of_voice, or_none, replies, right
from motet.types import Linked, Message, Reply, Task, fill

ASK = "{task}\n\n{form}"
TEACH = """A student was asked:
{task}

and answered wrongly:
{attempt}

Write a new question that trains what the student lacks, as `question`, with its right `answer`."""
GENERATE = "Write a question that trains what this one asks for:\n{task}"


class Question(Struct):
    """What the teacher writes."""

    question: str
    answer: str


@team
async def socratic_round(task: Task, solver: Voice, teacher: Voice, *, k: int = 4, q: int = 1) -> Reply:
    """The solver's attempts at the task and, where one is wrong, at `q` new questions of the teacher's."""
    if k < 1 or q < 0:
        raise BadInput(f"k is {k!r} and q is {q!r}; expected k of 1 or more and q of 0 or more")
    attempts = await solver.ask_many(fill(ASK, task=task, form=instruction(task)), n=k)
    failed = [attempt for attempt in attempts if not right(task, attempt.text)]
    prompts = [fill(TEACH, task=task, attempt=failed[i % len(failed)]) for i in range(q) if failed]
    asked = [or_none(teacher.ask(prompt, schema=Question)) for prompt in prompts]
    for written in await all_of(asked):
        if written:
            new = question_of(task, written.data)
            words = Linked(new.prompt, (written,))
            await or_none(solver.ask_many(fill(ASK, task=words, form=instruction(new)), n=k))
    return attempts[0]


def question_of(task: Task, written: Question) -> Task:
    """The teacher's question as a task, of the kind of the one it was made from."""
    return replace(task, prompt=written.question, target=written.answer, id="", choices=(), tests="")


def socratic(tapes: Sequence[Tape], *, mu: float = 0.5, sigma: float = 0.2) -> Built:
    """Preferences for the voice `solver`, weighted imitation for the voice `generator`.

    Args:
        tapes: runs of `socratic_round`.
        mu, sigma: where the utility of a question peaks, and how widely.

    Raises:
        BadInput: a run is of another team.
    """
    made = Maker()
    for tape in of_team(tapes, socratic_round.name):
        for task, written, attempts in _questions(tape, made):
            made.counts["questions"] += 1
            good = [call for call in attempts if right(task, replies(tape, call)[0].text)]
            bad = [call for call in attempts if call not in good]
            for better in good:
                for worse in bad:
                    made.prefer(tape, better, worse, 1.0)
            if written and attempts:
                asked = Message.say("user", GENERATE.format(task=tape.started.task.prompt))
                said = Message.say("assistant", task.prompt)
                weight = utility(len(good) / len(attempts), mu, sigma)
                made.sft.append(Example((asked, said), (False, True), weight, "generator", (tape.run,)))
    return made.built()


def utility(success: float, mu: float = 0.5, sigma: float = 0.2) -> float:
    """exp(−(s − μ)² / 2σ²): 1 at the edge of the solver's skill, near 0 for what is too easy or too hard."""
    return exp(-((success - mu) ** 2) / (2 * sigma**2))


def curriculum(tapes: Sequence[Tape]) -> list[Task]:
    """The questions for the next round: those, old and new, that the solver got right at times but not
    always, and the old ones that are still too hard."""
    kept: dict[str, Task] = {}
    for tape in of_team(tapes, socratic_round.name):
        for task, written, attempts in _questions(tape, Maker()):
            share = sum(bool(right(task, replies(tape, c)[0].text)) for c in attempts) / max(1, len(attempts))
            if 0 < share < 1 or (share == 0 and not written):
                kept.setdefault(task.prompt, task)
    return list(kept.values())


def _questions(tape: Tape, made: Maker) -> list[tuple[Task, Called | None, list[Called]]]:
    """The task and the teacher's questions, each with who wrote it and the attempts that were answered."""
    solved = [call for call in of_voice(tape, "solver") if call.node]
    task = tape.started.task
    found: list[tuple[Task, Called | None, list[Called]]] = [
        (task, None, [call for call in solved if not call.parents])
    ]
    for call in of_voice(tape, "teacher"):
        question = data_of(tape, call, Question)
        attempts = [c for c in solved if call.id in c.parents]
        if question is None or not question.answer.strip() or not attempts:
            made.reject("it holds no question that was answered", tape, call)
            continue
        found.append((question_of(task, question), call, attempts))
    return found
