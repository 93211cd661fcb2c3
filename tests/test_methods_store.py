"""Hubs, allocations and learned teams: which term decides, who steps in, and what a log says of whom."""

import asyncio
import json
import re
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from method_runs import accuracy, play, play_all, said_to, says, sums
from test_methods_compose import demonstrations
from test_methods_select import log_of, pool_log

from motet import Agent, Store, Task
from motet.errors import BadInput, ServerError
from motet.methods import (
    adaptive_consistency,
    agent_store,
    allocate,
    chain_of_thought,
    fittest,
    focal_fusion,
    llm_selector,
    read_log,
    self_instruct,
    train_decider,
    train_tokens,
)
from motet.methods.aggregate.adaptive_consistency import beta_certainty, dirichlet_certainty
from motet.methods.route.agent_tokens import Entry
from motet.models.rule import Rule
from motet.models.scripted import Line, Scripted
from motet.tape.context import CALL

# ---- Adaptive-Consistency with many votes


def test_the_certainty_of_a_vote_is_exact_for_hundreds_of_samples() -> None:
    assert beta_certainty([800, 800]) == 0.5
    for votes in ([800, 800], [760, 750], [5000, 4900], [800, 20]):
        assert dirichlet_certainty(votes) == pytest.approx(beta_certainty(votes), abs=1e-9)
    turns = cycle(["Answer: 1", "Answer: 2"])
    assert len(play(adaptive_consistency(n=1030).cast(lambda _: next(turns))).calls) == 1030


# ---- Focal fusion


def test_the_log_has_a_place_for_every_member_up_to_the_last_that_was_asked() -> None:
    pool = ["sim:skill=1", "sim:skill=0", "sim:skill=0", "sim:skill=1", "sim:skill=1"]
    log = read_log(play_all(focal_fusion(n=5, members=(0, 3)).cast(agents=pool), sums(3)))
    assert log.answers == tuple((gold, None, None, gold) for gold in log.gold)


def test_a_member_that_is_a_team_is_in_the_log_with_what_it_said_last() -> None:
    pair = llm_selector.cast(generator=says(1), critic=says("no"), refiner="sim:skill=1")
    log = read_log(play_all(focal_fusion(n=2).cast(agents=[pair, "sim:skill=0"]), sums(3)))
    assert [row[0] for row in log.answers] == list(log.gold)
    assert not any(row[1] for row in log.correct)


def test_a_member_is_asked_once_and_a_subset_has_two_or_more() -> None:
    with pytest.raises(BadInput, match="each once"):
        play(focal_fusion(n=3, members=(0, 0, 0)).cast("sim:skill=1"))
    with pytest.raises(BadInput, match="k=1"):
        fittest(pool_log(10, 0), 1)
    with pytest.raises(BadInput, match="pool=1"):
        fittest(log_of(["1", "2"]), 2)


def test_the_decider_asks_fewer_the_more_a_member_costs() -> None:
    log = pool_log(120, 10)
    sizes = [len(train_decider(log, w=0.3, penalty=penalty)) for penalty in (0.0, 2.0)]
    assert sizes[0] > sizes[1] == 2


# ---- AgentStore

ABOUT = ("Helps with office work.", "Helps with office work and with people.", "Helps with pictures.")
FIELD = {"sheet": "office", "spreadsheet": "office", "letter": "office", "inbox": "office"} | dict.fromkeys(
    ("picture", "image", "photo"), "pictures"
)


def reads_descriptions(prompt: str) -> str:
    """Names the first agent whose description names the field of a word of the task: it knows what every word
    belongs to, and no more of the agents than they say."""
    task = prompt.partition("Agents:")[0].lower()
    fields = {field for word, field in FIELD.items() if re.search(rf"\b{word}\b", task)}
    told = re.findall(r"- (\w+): (.+)", prompt)
    who = next((name for name, about in told if any(field in about for field in fields)), told[0][0])
    return json.dumps({"subtasks": [{"agent": who, "do": task}]})


def test_tokens_route_better_than_a_voice_that_reads_honest_but_vague_descriptions() -> None:
    shown, held_out = demonstrations("ABCD"), demonstrations("XYZ")
    agents = [Agent(Rule(says(i)), instructions=about) for i, about in enumerate(ABOUT)]
    tasks = [Task(text, str(right), kind="number") for right, some in enumerate(held_out) for text in some]
    hub = agent_store(k=3).cast(manager=reads_descriptions, agents=agents)
    assert accuracy(hub, tasks) == pytest.approx(2 / 3), "nothing tells the two that do office work apart"
    assert accuracy(hub(tokens=train_tokens(shown), threshold=0.0), tasks) == 1.0


def plans(*parts: str, join: Any = "Answer: joined", otherwise: Any = "Answer: mine") -> Callable[[str], str]:
    """A manager; a reply that is an error is raised."""

    def manage(prompt: str) -> str:
        if "at most" in prompt:
            return json.dumps({"subtasks": [{"agent": "agents_1", "do": part} for part in parts]})
        reply = join if "Results of its parts" in prompt else otherwise
        if isinstance(reply, Exception):
            raise reply
        return str(reply)

    return manage


def fails_at(word: str) -> Callable[[str], str]:
    def answer(prompt: str) -> str:
        part = prompt.partition("Your part:\n")[2].partition("\n")[0]
        if word in part:
            raise ServerError("no")
        return f"Answer: did {part}"

    return answer


DOWN = ServerError("down")


def test_the_manager_does_a_part_at_which_all_agents_fail() -> None:
    cast = {"agents": [fails_at("two")] * 2}
    run = play(agent_store(k=2).cast(manager=plans("one", "two"), **cast))
    asked = ["manager", "agents_1", "agents_1", "agents_2", "manager", "manager"]
    assert [call.voice for call in run.calls] == asked
    assert "Answer: did one" in said_to(run, "manager")[-1] and "Answer: mine" in said_to(run, "manager")[-1]
    assert run.answer == "Answer: joined"


def test_one_part_of_two_is_never_passed_off_as_the_whole() -> None:
    cast = {"agents": [fails_at("two")] * 2}
    without = play(agent_store(k=2).cast(manager=plans("one", "two", otherwise=DOWN), **cast))
    assert without.answer == "Answer: joined" and "did one" in said_to(without, "manager")[-1]
    alone = play(agent_store(k=2).cast(manager=plans("one"), **cast))
    assert [c.voice for c in alone.calls] == ["manager", "agents_1"] and alone.answer == "Answer: did one"


def test_the_last_result_stands_when_the_results_cannot_be_joined() -> None:
    run = play(agent_store(k=2).cast(manager=plans("one", "two", join=DOWN), agents=fails_at("three")))
    assert run.answer == "Answer: did two"


def test_without_tokens_agents_are_found_by_their_descriptions() -> None:
    told = ("Cooks soup.", "Sorts sheets.", "Crops a picture to a square.")
    agents = [Agent(Rule(says(i)), instructions=about) for i, about in enumerate(told)]
    run = play(agent_store(k=1).cast(manager="sim:fail=1", agents=agents), Task("Crop picture 9 to a square"))
    assert run.answer == "Answer: 2"


def test_self_instruct_asks_with_another_seed_each_time_and_keeps_what_was_given() -> None:
    words = ["Rotate the scan", "Blur all faces", "Print two pages", "Hide this layer"]
    writer = lambda _: json.dumps({"tasks": [words[CALL.get().seed % 4]]})  # type: ignore[union-attr] # noqa: E731
    entry = Entry("edits pictures", ("Crop picture B to a square",))
    more = asyncio.run(self_instruct(entry, writer, n=5, seed=1, store=Store.memory()))
    assert more.demonstrations == (*entry.demonstrations, *words[1:], words[0])
    many = Entry("edits pictures", tuple(words))
    assert asyncio.run(self_instruct(many, "sim:fail=1", n=2, store=Store.memory())) == many
    flood = Scripted([Line(json.dumps({"tasks": words}), match="")])
    assert len(asyncio.run(self_instruct(entry, flood, n=3, store=Store.memory())).demonstrations) == 3


# ---- LLMSelector


def poor(prompt: str) -> str:
    """Answers wrongly, finds every draft fine, and spoils what it refines."""
    return "It is fine." if "Do not answer" in prompt else "Answer: -1"


def good(prompt: str) -> str:
    """Answers rightly, knows a wrong draft, and mends what is said to be wrong."""
    right = str(2 * int(re.findall(r"What is (\d+)", prompt)[0]))
    draft = re.findall(r"Answer:\s+Answer: (-?\d+)", prompt)
    if "Do not answer" in prompt:
        return "It is fine." if draft == [right] else "It is wrong."
    return f"Answer: {draft[0] if 'It is fine' in prompt else right}"


def spares_the_refiner(prompt: str) -> str:
    """A judge that knows a wrong draft, and who passed it, and never blames the refiner."""
    right = re.findall(r"The right answer: (\d+)", prompt)[0]
    wrong_draft = re.findall(r"\[generator\]\nAnswer: (-?\d+)", prompt) != [right]
    blamed = {"generator": wrong_draft, "critic": wrong_draft and "It is fine" in prompt, "refiner": False}
    return json.dumps({"error": blamed[re.findall(r"module '(\w+)'", prompt)[0]]})


def test_both_terms_of_the_score_are_needed() -> None:
    """No single change of the poor system mends its answers, so that the end alone finds nothing to keep; the
    judge alone leaves the refiner that it spares."""

    def found(**knobs: Any) -> tuple[str, ...]:
        options = {"judge": spares_the_refiner, "store": Store.memory()} | knobs
        allocation = asyncio.run(allocate(llm_selector, [poor, good], tasks, **options))
        assert (accuracy(llm_selector.cast(**allocation.cast), tasks) == 1.0) == (not knobs)
        return tuple(allocation.cast[module].__name__ for module in ("generator", "critic", "refiner"))

    tasks = sums(4)
    assert found() == ("good", "poor", "good")
    assert found(judge=None) == found(alpha=0.0) == ("poor", "poor", "poor")
    assert found(beta=0.0) == ("good", "poor", "poor")


def test_tasks_that_differ_in_their_meta_alone_are_run_each_for_itself() -> None:
    tasks = [Task("1 + 1?", "2", kind="number", meta={"skill": skill}) for skill in ("a", "b", "b")]
    pool = ["sim:skill.a=1,skill.b=0", "sim:skill.a=0,skill.b=1"]
    found = asyncio.run(allocate(chain_of_thought, pool, tasks, store=Store.memory()))
    assert found.cast == {"solver": pool[1]} and found.runs == 6
