"""A simulated solver of known skill: it answers right as often as it is told to, and sees no prompt.

Everything about it is known, so a method's effect on it is a truth to test against. The randomness of
a reply is a hash of its seed, the run's seed, the messages and the sample index: equal calls give equal
replies on every machine. What it knows of the call (the task, the replies that were passed) comes from
the tape's context, not from reading prompts.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from motet.answers import canonical, extract, gold_reply
from motet.errors import BadInput, BadRequest, ModelError, UnknownName
from motet.models.scripted import FAILURES
from motet.tape.context import CALL, CallContext
from motet.tape.keys import digest
from motet.types import Message, Reply, Sampling, StopReason, Task, Usage


class Skills(Struct, frozen=True, omit_defaults=True):
    """The knobs of a simulated solver, written `sim:KEY=VALUE,…`.

    Args:
        skill: probability that its own answer is right.
        skills: the same by `task.meta["skill"]`, written `skill.NAME=P`.
        wrong: how many different wrong answers there are.
        skew: how unequally likely they are: the r-th has weight r ** -skew; at 0 all are equally likely.
        rho: correlation of being right between any two simulated solvers on one item, 0 to 1.
        judge: probability that it recognises the right candidate among several that hold it.
        follow: probability that it goes with the answers it is shown (the right one if it recognises it,
            else the most common) instead of its own.
        fix: probability that, shown only its own wrong answer again, it corrects it.
        spoil: probability that, shown only its own right answer again, it gives it up.
        deceive: probability that it gives the item's one agreed wrong answer, whatever it knows; as a judge,
            that it picks a wrong reply where there is one, and grades a right one low and a wrong one high.
        fail: probability that a request fails, with the error `failure`.
        latency: seconds a call takes.
        tokens: output tokens of a reply.
        cost: US dollars per million tokens.
        seed: another seed is another solver of the same skill.
    """

    skill: float = 0.7
    skills: dict[str, float] = {}
    wrong: int = 4
    skew: float = 0.0
    rho: float = 0.0
    judge: float = 0.0
    follow: float = 0.5
    fix: float = 0.0
    spoil: float = 0.0
    deceive: float = 0.0
    fail: float = 0.0
    failure: str = "server"
    latency: float = 0.0
    tokens: int = 32
    cost: float = 0.0
    seed: int = 0


_CHANCES = ("skill", "rho", "judge", "follow", "fix", "spoil", "deceive", "fail")


class Sim:
    """A simulated solver.

    >>> Sim(skill=0.9).name
    'sim:skill=0.9'
    """

    def __init__(self, skills: Skills | None = None, **knobs: Any) -> None:
        self.skills = skills or Skills(**knobs)
        for name in _CHANCES:
            if not 0 <= (value := getattr(self.skills, name)) <= 1:
                raise BadInput(f"sim: {name} is {value!r}; expected a probability from 0 to 1")
        if self.skills.failure not in FAILURES:
            raise UnknownName("kind of error", self.skills.failure, FAILURES)
        changed = msgspec.to_builtins(self.skills)
        changed |= {f"skill.{k}": v for k, v in changed.pop("skills", {}).items()}
        self.name = "sim:" + ",".join(f"{k}={v}" for k, v in changed.items())
        self.identity = self.name

    @classmethod
    def parse(cls, name: str) -> "Sim":
        """Make a solver from its name, `sim:skill=0.8,rho=0.2`.

        Raises:
            BadInput: a knob is unknown or its value is no number.
        """
        knobs: dict[str, Any] = {}
        skills: dict[str, str] = {}
        for field in name.partition(":")[2].split(","):
            key, equals, value = field.strip().partition("=")
            if key.startswith("skill."):
                skills[key.removeprefix("skill.")] = value
            elif key not in Skills.__struct_fields__ or not equals:
                raise UnknownName("knob of sim", key, Skills.__struct_fields__)
            else:
                knobs[key] = value
        try:
            return cls(msgspec.convert({**knobs, "skills": skills}, Skills, strict=False))
        except msgspec.ValidationError as error:
            raise BadInput(f"{name!r}: {error}") from error

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Answer the task of the run `n` times.

        With a schema, it picks (an integer or one of several labels, read as the number of a reply it
        was shown) or grades (a number; high when the last reply it was shown is right).

        Raises:
            BadRequest: there is no run, or its task has no target. ModelError: as `fail` says.
        """
        context = CALL.get()
        if context is None or context.task is None or not (context.task.target or context.task.tests):
            raise BadRequest(
                f"{self.name} needs a task with a target, such as an item of a suite: it answers by its skill"
            )
        if self.skills.latency:
            await asyncio.sleep(self.skills.latency)
        said = [m.text for m in messages]
        luck = Random(digest("luck", self.skills.seed, context.seed, said, context.index))
        if luck.random() < self.skills.fail:
            raise FAILURES[self.skills.failure](f"{self.name} was told to fail now and then")
        return [self._reply(said, context, context.index + i, sampling) for i in range(n)]

    def _reply(self, said: list[str], context: CallContext, index: int, sampling: Sampling) -> Reply:
        rng = Random(digest(self.skills.seed, context.seed, said, index))
        mind = _Mind(self.skills, context, rng)
        text = mind.judged(sampling.schema) if sampling.schema else mind.reply_with(mind.answer())
        usage = Usage(sum(len(s) for s in said) // 4, self.skills.tokens)
        if context.on_delta:
            context.on_delta(text)
        return Reply(
            message=Message.say("assistant", text),
            stop=StopReason.END,
            usage=usage,
            model=self.name,
            cost=usage.tokens * self.skills.cost / 1e6,
        )


class _Mind:
    """One reply in the making."""

    def __init__(self, skills: Skills, context: CallContext, rng: Random) -> None:
        assert context.task is not None
        self.skills, self.context, self.rng, self.task = skills, context, rng, context.task
        self.right = right_answer(self.task)
        self.lying = False
        self.shared = Random(digest("shared", context.seed, self.task.prompt))

    def answer(self) -> str:
        """What it says in the end."""
        skills, rng = self.skills, self.rng
        agreed = Random(digest("deceit", self.task.prompt))
        if rng.random() < skills.deceive:
            return self._wrong(agreed)
        shown = [(s.voice, a) for s in self.context.sources if (a := extract(self.task, s.text)) is not None]
        mine = [a for voice, a in shown if voice == self.context.voice]
        others = [a for voice, a in shown if voice != self.context.voice]
        own = self._again(mine[-1]) if mine else self._own()
        if others and rng.random() < (skills.follow if mine or skills.follow < 1 else 1.0):
            return self._choose([*others, own])
        return own

    def _own(self) -> str:
        """Its own answer: right with probability `skill`, with correlation `rho` to all others."""
        p = self.skills.skills.get(str(self.task.meta.get("skill", "")), self.skills.skill)
        rng = self.shared if self.rng.random() < math.sqrt(self.skills.rho) else self.rng
        return self.right if rng.random() < p else self._wrong(rng)

    def _again(self, before: str) -> str:
        """Its own earlier answer, looked at once more."""
        if before == self.right:
            return self._wrong(self.rng) if self.rng.random() < self.skills.spoil else before
        return self.right if self.rng.random() < self.skills.fix else before

    def _choose(self, candidates: list[str]) -> str:
        if self.right in candidates and self.rng.random() < self.skills.judge:
            return self.right
        return Counter(candidates).most_common(1)[0][0]

    def _wrong(self, rng: Random) -> str:
        ranks = range(max(1, self.skills.wrong))
        weights = [(rank + 1) ** -self.skills.skew for rank in ranks]
        return wrong_answer(self.task, rng.choices(ranks, weights)[0])

    def reply_with(self, answer: str) -> str:
        """A reply that holds the answer as its kind wants it."""
        if self.task.kind in ("code", "sql"):
            return f"```{'python' if self.task.kind == 'code' else 'sql'}\n{answer}\n```"
        return (
            f"\\boxed{{{answer}}}"
            if self.task.kind == "math"
            else f"I have thought about it.\nAnswer: {answer}"
        )

    def judged(self, schema: dict[str, Any]) -> str:
        """JSON that fits the schema, by skill as a judge."""
        self.lying = self.skills.deceive > 0 and self.rng.random() < self.skills.deceive
        return msgspec.json.encode(self._value(schema)).decode()

    def _value(self, schema: dict[str, Any]) -> Any:
        if "anyOf" in schema or "oneOf" in schema:
            return self._value((schema.get("anyOf") or schema["oneOf"])[0])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            labels = schema["enum"]
            return labels[min(self._pick(), len(labels) - 1)]
        match schema.get("type"):
            case "object":
                return {k: self._value(v) for k, v in schema.get("properties", {}).items()}
            case "array":
                size = max(schema.get("minItems", 1), 1)
                return [self._value(schema.get("items", {"type": "string"})) for _ in range(size)]
            case "integer" if "maximum" in schema and schema["maximum"] == len(self.context.sources):
                return self._pick() + 1
            case "integer" | "number" as kind:
                low, high = schema.get("minimum", 0), schema.get("maximum", 10)
                grade = low + (high - low) * self._grade()
                return round(grade) if kind == "integer" else round(grade, 3)
            case "boolean":
                return self._grade() > 0.5
        return self.reply_with(self.answer())

    def _pick(self) -> int:
        """Position of the reply it thinks best, among those it was shown."""
        shown = [extract(self.task, s.text) for s in self.context.sources]
        known = [a for a in shown if a is not None]
        if self.lying:
            return next((i for i, a in enumerate(shown) if a is not None and a != self.right), 0)
        return shown.index(self._choose(known)) if known else 0

    def _grade(self) -> float:
        """From 0 to 1: above a half when it takes the last reply it was shown for right."""
        last = extract(self.task, self.context.sources[-1].text) if self.context.sources else None
        truth = last == self.right
        sees = self.rng.random() < self.skills.judge
        verdict = not truth if self.lying else truth if sees else self.rng.random() < 0.5
        return (0.6 if verdict else 0.0) + 0.4 * self.rng.random()


def right_answer(task: Task) -> str:
    """The gold answer in canonical form."""
    answer = extract(task, gold_reply(task) or "")
    return answer if answer is not None else canonical(task, task.target or "")


def wrong_answer(task: Task, which: int) -> str:
    """The `which`-th wrong answer to a task; the same number always gives the same answer."""
    right = right_answer(task)
    match task.kind:
        case "choice":
            letters = [chr(65 + i) for i in range(max(2, len(task.choices)))]
            others = [letter for letter in letters if letter != right]
            return others[which % len(others)]
        case "code":
            return f"raise AssertionError('wrong answer {which}')"
        case "sql":
            return f"SELECT 'wrong answer {which}'"
        case "number" | "math":
            try:
                return canonical(task, str(int(right) + which + 1))
            except ValueError:
                return canonical(task, str(1000 + which))
    return canonical(task, f"wrong {which + 1}")


__all__ = ["ModelError", "Sim", "Skills", "right_answer", "wrong_answer"]
