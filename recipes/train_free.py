"""Training-free GRPO on a frozen voice (Cai et al. 2025, arXiv:2510.08191; catalogue 377).

The questions use signs that nobody explained (`7 § 3 ¤ 2`); each stands for one of five operations. The voice
is a program, not a language model: it reads each sign as its instructions say (nine times of ten), and
otherwise guesses. The teacher is a program too: it holds the good attempts of a group against the bad ones
and writes down which reading made the difference. What is tested is the method around them: groups,
comparisons, edits of the library, lessons in every later prompt. There are no weights: whatever rises, rises
by text. As a control the marks are dealt at random, so that the comparisons have nothing to find.

With `--model NAME` the voice and the teacher are that language model instead, frozen, on sums of one digit.
The control there is a library written by hand: what the voice makes of good advice, whoever wrote it.

    python -m recipes.train_free [--seeds 8] [--iterations 3] [--processes 2]
    python -m recipes.train_free --model local [--items 12] [--held-out 30] [--iterations 1]
"""

import argparse
import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

import motet
from motet.answers import instruction
from motet.evals.stats import Interval, mean_ci, paired_bootstrap
from motet.models.rule import Rule
from motet.tape import CALL, Tape
from motet.teams import Team
from motet.train.builders.lessons import with_lessons
from motet.train.builders.reading import mark_of
from motet.train.builders.training_free import Course, Library, training_free
from motet.types import Message, Reply, Sampling, Task

SIGNS = "§¤¶µ"
READINGS: dict[str, Callable[[int, int], int]] = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "larger": max,
    "smaller": min,
}
LESSON = re.compile(rf"Read ([{SIGNS}]) as (\w+)\.")
LEARNT = re.compile(r"\[(\d+)\] " + LESSON.pattern)
ATTEMPT = re.compile(r"mark ([\d.]+): (.*)")


class Reader:
    """The frozen voice: reads signs as its instructions say, else guesses, and says how it read them."""

    name = identity = "reader"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Work the question out, from left to right."""
        context = CALL.get()
        seed, first = (context.seed, context.index) if context else (0, 0)
        known = dict(LESSON.findall("".join(m.text for m in messages if m.role == "system")))
        question = messages[-1].text
        return [self._reply(question, known, Random(f"{seed}/{first + i}/{question}")) for i in range(n)]

    def _reply(self, question: str, known: dict[str, str], rng: Random) -> Reply:
        value, *rest = re.findall(rf"\d+|[{SIGNS}]", question)
        result, said = int(value), []
        for sign, number in zip(rest[::2], rest[1::2], strict=True):
            reading = known[sign] if sign in known and rng.random() < 0.9 else rng.choice(list(READINGS))
            result = READINGS[reading](result, int(number))
            said.append(f"Read {sign} as {reading}.")
        text = f"{' '.join(said)}\nAnswer: {result}"
        return Reply(message=Message.say("assistant", text), model=self.name, cost=0.0)


def teach(asked: str) -> str:
    """The teacher: sums attempts up, compares the good with the bad, and edits the library."""
    if "Sum up" in asked:
        return " ".join(f"Read {sign} as {reading}." for sign, reading in LESSON.findall(asked))
    if "Compare the good" in asked:
        attempts = [(float(mark), dict(LESSON.findall(said))) for mark, said in ATTEMPT.findall(asked)]
        return msgspec.json.encode({"lessons": compared(attempts)}).decode()
    return msgspec.json.encode({"edits": edits(asked)}).decode()


def compared(attempts: list[tuple[float, dict[str, str]]]) -> list[str]:
    """For each sign the reading of the good attempts, where they agree and the bad ones read otherwise."""
    found = []
    for sign in SIGNS:
        good = {how[sign] for mark, how in attempts if mark > 0.5 and sign in how}
        bad = {how[sign] for mark, how in attempts if mark <= 0.5 and sign in how}
        if len(good) == 1 and bad - good:
            found.append(f"Read {sign} as {good.pop()}.")
    return found


def edits(asked: str) -> list[dict[str, Any]]:
    """What most of the new lessons say of each sign; against a known lesson at least two must say so."""
    known = {sign: (int(number), reading) for number, sign, reading in LEARNT.findall(asked)}
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sign, reading in LESSON.findall(asked.partition("New ones:")[2]):
        votes[sign][reading] += 1
    found: list[dict[str, Any]] = []
    for sign, counted in votes.items():
        ((reading, n),) = counted.most_common(1)
        text = f"Read {sign} as {reading}."
        if sign not in known:
            found.append({"do": "add", "text": text})
        elif known[sign][1] != reading and n > 1:
            found.append({"do": "update", "number": known[sign][0], "text": text})
    return found


@motet.team
async def solve(task: Task, reader: Any) -> Reply:
    """Answer the question."""
    reply: Reply = await reader.ask(task)
    return reply


def questions(n: int, meaning: dict[str, str], rng: Random) -> list[Task]:
    """Questions with two signs each."""
    made = []
    for i in range(n):
        (a, b, c), (one, two) = rng.choices(range(2, 10), k=3), rng.sample(SIGNS, 2)
        right = READINGS[meaning[two]](READINGS[meaning[one]](a, b), c)
        made.append(Task(f"{a} {one} {b} {two} {c}", str(right), str(i), "number"))
    return made


class Taught(NamedTuple):
    """What came of one seed."""

    before: float
    after: float
    control: float
    right: int
    groups: int
    even: int


def taught(seed: int, epochs: int) -> Taught:
    """Grow a library from marks, and one from marks dealt at random; try both on held-out questions."""
    rng = Random(seed)
    meaning = {sign: rng.choice(list(READINGS)) for sign in SIGNS}
    lessons, held_out = questions(48, meaning, rng), questions(60, meaning, rng)
    band, store = solve.cast(Reader()), motet.Store.memory()

    def by_chance(tape: Tape) -> float:
        return float(Random(tape.started.seed).random() < 0.2)

    def grown(mark: Callable[[Tape], float | None]) -> Any:
        plan = Course(epochs, group=5, batch=12)
        return asyncio.run(
            training_free(band, lessons, motet.Agent(Rule(teach)), plan, mark=mark, store=store, seed=seed)
        )

    library, control = grown(mark_of), grown(by_chance)
    tried = (band, with_lessons(band, library.lessons), with_lessons(band, control.lessons))
    scores = [accuracy(team, held_out, 10_000 + seed, store) for team in tried]
    store.close()
    known = dict(LESSON.findall(" ".join(library.lessons)))
    counts = library.counts
    right = sum(known.get(sign) == reading for sign, reading in meaning.items())
    return Taught(scores[0], scores[1], scores[2], right, counts["groups"], counts["even groups"])


def accuracy(team: Team[...], tasks: Sequence[Task], seed: int, store: motet.Store) -> float:
    """The share of questions answered rightly."""
    return fmean(marks(team, tasks, seed, store))


def marks(team: Team[...], tasks: Sequence[Task], seed: int, store: motet.Store) -> list[float]:
    """The mark of each question: 1 when it was answered rightly."""
    runs = [team.run(task, seed=seed, store=store) for task in tasks]
    return [mark_of(run.tape) or 0.0 for run in runs]


@motet.team
async def add_up(task: Task, reader: Any) -> Reply:
    """Answer in a form that can be read."""
    reply: Reply = await reader.ask(task, instruction(task))
    return reply


BY_HAND = ("Add the two numbers.", "Do not explain.", "Write only the line 'Answer: ' and the sum.")


def on_model(
    name: str, items: int, held_out: int, epochs: int, seed: int = 0
) -> tuple[Library, dict[str, list[float]]]:
    """Let a frozen language model be its own teacher, on sums of one digit.

    Returns:
        The library, and the marks of the held-out items with no library, with this one, with one by hand.
    """
    tasks = motet.load_suite("arithmetic?difficulty=1", items + held_out, seed).tasks
    voice = motet.Agent(name, sampling=motet.Sampling(max_tokens=32))
    teacher = motet.Agent(name, sampling=motet.Sampling(max_tokens=80))
    band, store = add_up.cast(voice), motet.Store.memory()
    plan = Course(epochs, group=4, batch=max(1, items // 2))
    library = asyncio.run(training_free(band, tasks[:items], teacher, plan, store=store, seed=seed))
    libraries = {"none": (), "its own": library.lessons, "by hand": BY_HAND}
    found = {
        kind: marks(with_lessons(band, lessons), tasks[items:], 10_000 + seed, store)
        for kind, lessons in libraries.items()
    }
    store.close()
    return library, found


def tell(library: Library, marked: Mapping[str, list[float]]) -> None:
    """Print the library and the table."""
    for number, lesson in enumerate(library.lessons, 1):
        print(f"[{number}] {lesson}")
    print(f"\n{library.counts}\n\n| library | held-out accuracy | over none |\n|---|--:|--:|")
    for kind, mine in marked.items():
        gain = "" if kind == "none" else shown(paired_bootstrap(mine, marked["none"]), "+")
        print(f"| {kind} | {shown(mean_ci(mine))} | {gain} |")


def main() -> None:
    """Teach on every seed and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=3, help="epochs over the 48 questions")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--model", help="a language model to teach, instead of the program")
    parser.add_argument("--items", type=int, default=12, help="sums that the language model learns from")
    parser.add_argument("--held-out", type=int, default=30, help="sums that it is tried on")
    given = parser.parse_args()
    if given.model:
        tell(*on_model(given.model, given.items, given.held_out, given.iterations))
        return
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        found = list(pool.map(partial(taught, epochs=given.iterations), range(given.seeds)))
    before, after, control = ([getattr(f, name) for f in found] for name in ("before", "after", "control"))
    print("| library | held-out accuracy |\n|---|--:|")
    print(f"| none | {shown(mean_ci(before))} |")
    print(f"| from marks dealt at random | {shown(mean_ci(control))} |")
    print(f"| from comparisons of groups | {shown(mean_ci(after))} |")
    print(f"| comparisons − none | {shown(paired_bootstrap(after, before), '+')} |")
    print(f"| comparisons − random marks | {shown(paired_bootstrap(after, control), '+')} |\n")
    signs, groups = given.seeds * len(SIGNS), sum(f.groups for f in found)
    print(f"Signs read rightly in the library: {sum(f.right for f in found)} of {signs}.")
    print(f"Groups that taught nothing, all marks being equal: {sum(f.even for f in found)} of {groups}.")


def shown(interval: Interval, sign: str = "") -> str:
    """A mean with its 95 % interval."""
    return f"{interval.mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


if __name__ == "__main__":
    main()
