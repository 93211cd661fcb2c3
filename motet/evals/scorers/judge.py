"""A model as judge, asked twice with the places swapped, since judges favour a place.

Zheng et al., *Judging LLM-as-a-Judge* (arXiv:2306.05685): an answer wins only if it wins in both orders;
when the orders disagree it is a tie. Cost: 2 calls per judgement.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from motet.errors import SchemaMismatch
from motet.evals.scorers.exact import gold
from motet.evals.scorers.protocol import NO_ANSWER, Score
from motet.types import Reply, Task

COMPARE = """\
Which answer to the question is better? Judge what is said, not its length, style or place.

<question>
{question}
</question>

<answer_1>
{first}
</answer_1>

<answer_2>
{second}
</answer_2>

Reply with JSON: {{"better": "1"}}, {{"better": "2"}} or {{"better": "tie"}}."""

SAME = """\
Two answers to one question follow. One is known to be right. Do both say the same?

<question>
{question}
</question>

<answer_1{first_mark}>
{first}
</answer_1>

<answer_2{second_mark}>
{second}
</answer_2>

Reply with JSON: {{"same": true}} or {{"same": false}}."""

BETTER = {
    "type": "object",
    "properties": {"better": {"type": "string", "enum": ["1", "2", "tie"]}},
    "required": ["better"],
    "additionalProperties": False,
}
AGREES = {
    "type": "object",
    "properties": {"same": {"type": "boolean"}},
    "required": ["same"],
    "additionalProperties": False,
}

Winner = Literal["a", "b", "tie"]


@runtime_checkable
class Asker(Protocol):
    """A voice: an agent, or anything else that replies with data."""

    async def ask(self, *parts: str, schema: dict[str, Any]) -> Reply: ...


Ask = Callable[[str, dict[str, Any]], Awaitable[Any]] | Asker


class Verdict(Struct, frozen=True):
    """Who won, and what was said in each order (already turned back, so `a` is `a` in both)."""

    winner: Winner
    forward: Winner
    backward: Winner


@dataclass(frozen=True)
class Judge:
    """A judge that compares two answers (`prefer`), or marks one by its target when used as a scorer.

    Args:
        ask: an agent, or an async function of a prompt and a JSON schema that returns the parsed data.
    """

    ask: Ask
    name: str = "judge"

    async def prefer(self, task: Task, a: str, b: str) -> Verdict:
        """Compare two answers in both orders; a tie when the orders disagree.

        Raises:
            ModelError: the judge failed, or (SchemaMismatch) said something else than was asked.
        """
        forward = await self._better(task, a, b)
        backward: Winner = {"a": "b", "b": "a", "tie": "tie"}[await self._better(task, b, a)]  # type: ignore[assignment]
        return Verdict(forward if forward == backward else "tie", forward, backward)

    async def __call__(self, task: Task, answer: str) -> Score:
        wanted = gold(task)
        if not answer.strip():
            return NO_ANSWER
        right = ' status="known to be right"'
        orders = ((wanted, right, answer, ""), (answer, "", wanted, right))
        said = []
        for first, first_mark, second, second_mark in orders:
            prompt = SAME.format(
                question=task.prompt,
                first=first,
                first_mark=first_mark,
                second=second,
                second_mark=second_mark,
            )
            said.append(await self._data(prompt, AGREES, "same", (True, False)))
        return Score(sum(said) / 2, f"target first: {said[0]}, target second: {said[1]}", answer.strip())

    async def _better(self, task: Task, first: str, second: str) -> Winner:
        prompt = COMPARE.format(question=task.prompt, first=first, second=second)
        said = await self._data(prompt, BETTER, "better", ("1", "2", "tie"))
        winners: dict[str, Winner] = {"1": "a", "2": "b", "tie": "tie"}
        return winners[said]

    async def _data(self, prompt: str, schema: dict[str, Any], key: str, allowed: tuple[Any, ...]) -> Any:
        if isinstance(self.ask, Asker):
            data = (await self.ask.ask(prompt, schema=schema)).data
        else:
            data = await self.ask(prompt, schema)
        value = data.get(key) if isinstance(data, dict) else None
        if value not in allowed:
            raise SchemaMismatch(f"the judge said {data!r}; expected {key!r} to be one of {allowed}")
        return value
