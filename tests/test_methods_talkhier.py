"""TalkHier on many houses: what each field of a message, the hierarchy and the memory are worth."""

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from method_runs import accuracy, noise, play

from motet import Agent, Task, team
from motet.combine import ask_all
from motet.methods import talkhier
from motet.methods.refine.talkhier import EVALUATE, Evaluation
from motet.teams import Voices
from motet.types import Message, Reply, Sampling, fill

PARTS = ("north", "south", "west")
COLOURS = ("red", "blue", "green")
KNOWN = "No side is green."
SLIPS = 0.2
"""How often an evaluator is mistaken about a side."""


def colours(house: str) -> list[str]:
    """The truth: two of the colours."""
    return Random(house).choices(COLOURS[:2], k=len(PARTS))


HOUSES = [
    Task(f"What colours has house {i}: {', '.join(PARTS)}?", target=" ".join(colours(str(i))))
    for i in range(60)
]


def house_in(said: str) -> str:
    return re.findall(r"house (\d+)", said)[0]


def draft_in(said: str) -> list[str]:
    found = re.findall(r"Answer: ((?:red|blue|green) \w+ \w+)", said)
    return found[-1].split() if found else []


def named_in(said: str) -> set[str]:
    return set(re.findall(r"wrong: (\w+)", said))


class Listener:
    """A model that makes its reply of all that is in its conversation."""

    def __init__(self, name: str, reply: Any) -> None:
        self.name = self.identity = name
        self._reply = reply

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        said = self._reply([message.text for message in messages])
        return [Reply(message=Message.say("assistant", said)) for _ in range(n)]


def supervise(told: list[str]) -> str:
    """Passes on what is wrong; knows a fact; has the draft from the turn before, in which it was shown."""
    wrong = " ".join(f"wrong: {part}" for part in sorted(named_in(told[-1])))
    so_far = " ".join(draft_in("\n".join(told)))
    return json.dumps(
        {
            "message": wrong or "Go.",
            "background": KNOWN,
            "intermediate_output": so_far and f"Answer: {so_far}",
        }
    )


def write(told: list[str]) -> str:
    """Guesses; mends what is wrong in the draft that it is shown, and begins anew when it is shown none."""
    said, chance = told[-1], Random(f"{house_in(told[0])} {len(told)}")
    guesses = [colour for colour in COLOURS if colour != "green" or KNOWN not in said]
    draft, wrong = draft_in(said), named_in(said)
    for i, part in enumerate(PARTS):
        if not draft[i:]:
            draft.append(chance.choice(guesses))
        elif part in wrong:
            draft[i] = chance.choice([colour for colour in guesses if colour != draft[i]])
    return f"Answer: {' '.join(draft)}"


def evaluator(number: int) -> Listener:
    """Sees every side, and is mistaken about some."""

    def evaluate(told: list[str]) -> str:
        said = told[-1]
        chance, truth = Random(f"{number} {said}"), colours(house_in(said))
        wrong = [
            part
            for part, is_, right in zip(
                PARTS, draft_in(said.rpartition("\nAnswer:\n")[2]), truth, strict=True
            )
            if (is_ != right) != (chance.random() < SLIPS)
        ]
        return json.dumps(
            {"feedback": " ".join(f"wrong: {part}" for part in wrong), "score": 1 - len(wrong) / 3}
        )

    return Listener(f"evaluator {number}", evaluate)


def lead(told: list[str]) -> str:
    """Sums up what most of its evaluators say."""
    if "Your evaluators say" not in told[-1]:
        return json.dumps({"message": "Look.", "background": KNOWN, "intermediate_output": ""})
    wrong = [part for part in PARTS if told[-1].count(f"wrong: {part}") > 1]
    return json.dumps({"feedback": " ".join(f"wrong: {part}" for part in wrong), "score": 1 - len(wrong) / 3})


CAST = {
    "supervisor": Listener("supervisor", supervise),
    "writer": Listener("writer", write),
    "lead": Listener("lead", lead),
    "evaluators": [Agent(evaluator(i)) for i in range(3)],
}


@team
async def flat(task: Task, writer: Any, evaluators: Voices, *, T: int = 1) -> Reply:
    """The same writer and evaluators, who speak to each other."""
    talk = writer.chat()
    draft = await talk.ask(task, f"Background: {KNOWN}")
    for _ in range(T):
        asked = fill(EVALUATE, task=task, form="", order="", draft=draft)
        notes = await ask_all(evaluators, asked, schema=Evaluation)
        draft = await talk.ask(task, f"Background: {KNOWN}", draft, *notes)
    return draft


def test_each_field_of_a_message_and_the_hierarchy_are_worth_something() -> None:
    full = accuracy(talkhier(T=1).cast(**CAST), HOUSES)
    for fields in ("MB", "MI", "BI"):
        assert full - accuracy(talkhier(T=1, fields=fields).cast(**CAST), HOUSES) > noise(0.5, len(HOUSES))
    without = flat.cast(writer=CAST["writer"], evaluators=CAST["evaluators"])
    assert full - accuracy(without, HOUSES) > noise(0.5, len(HOUSES))


def test_every_agent_keeps_a_memory_of_its_own_talks() -> None:
    run = play(talkhier(T=2, threshold=1.0).cast(**CAST), HOUSES[0])
    turns: dict[str, list[int]] = {}
    for call in run.calls:
        turns.setdefault(call.voice, []).append(len(run.tape.path(call.prompt)))
    crowd = ["evaluators_1", "evaluators_2", "evaluators_3"]
    assert sorted(turns) == sorted(["supervisor", "writer", "lead", *crowd])
    assert all(len(lengths) > 1 for lengths in turns.values())
    assert all(lengths == [2 * i + 1 for i in range(len(lengths))] for lengths in turns.values())
