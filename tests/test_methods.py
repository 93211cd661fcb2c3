"""What holds for every method: it is listed, costs what it says, and fails in order."""

import re
from pathlib import Path
from typing import Any

import discussed
import msgspec
import organised
import pytest
import refined
import retrieved
import routed
import selected
from method_runs import SUM, is_right, play

import motet
from motet import Budget, Task
from motet.errors import BadInput, UnknownName
from motet.identity import prompts_of
from motet.methods import METHODS, method
from motet.models.rule import Rule
from motet.types import FailureKind

ROOT = Path(__file__).parent.parent
DISAGREE = "sim:skill=0,wrong=1000000,follow=0"
NEVER_DONE: dict[str, dict[str, Any]] = {
    "self_refine": {"critic": lambda _: '{"notes": "More.", "done": false}'},
    "smoa": {"moderator": lambda _: '{"stop": false}'},
    "dylan": {"agents": DISAGREE},
    "agent_coder": {"programmer": lambda _: "```python\nassert 1 > 2\n```"},
    "cascade": {"weak": DISAGREE},
    **organised.NEVER_DONE,
    **discussed.NEVER_DONE,
    **selected.NEVER_DONE,
    **refined.NEVER_DONE,
    **retrieved.NEVER_DONE,
    **routed.NEVER_DONE,
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "direct": [{}],
    "chain_of_thought": [{}],
    "self_consistency": [{"n": 1}, {"n": 4}],
    "best_of_n": [{"n": 1}, {"n": 4}],
    "mixture_of_agents": [{"n": 1, "layers": 2}, {"n": 3, "layers": 3}, {"n": 2, "layers": 4}],
    "self_moa": [{"n": 1}, {"n": 5}],
    "self_moa_seq": [{"n": n, "w": w} for n, w in [(6, 3), (7, 3), (2, 3), (10, 4), (5, 2), (3, 3)]],
    "smoa": [{"n": n, "k": k, "layers": m} for n, k, m in [(4, 2, 3), (3, 1, 2), (5, 2, 4)]],
    "self_refine": [{"r": 0}, {"r": 1}, {"r": 3}],
    "debate": [{"n": 1, "r": 1}, {"n": 3, "r": 0}, {"n": 4, "r": 2}],
    "dylan": [{"n": n, "T": t, "k": k} for n, t, k in [(4, 3, 2), (5, 4, 3), (3, 1, 2), (4, 2, 2)]],
    "agent_coder": [{"r": 0}, {"r": 2}],
    "cascade": [{"k": 2}, {"k": 5}],
    "latent_mas": [{}, {"m": 0}],
    "latent_hierarchy": [{"n": 1}, {"n": 4}],
    **organised.SETTINGS,
    **discussed.SETTINGS,
    **selected.SETTINGS,
    **refined.SETTINGS,
    **retrieved.SETTINGS,
    **routed.SETTINGS,
}
NOT_NEGATIVE = {
    "n", "r", "k", "w", "T", "layers", "consensus", "threshold", "c", "C", "B", "alpha", "seconds",
    "temperature",
}  # fmt: skip
INDISPENSABLE = {
    "solver", "proposers", "proposer", "aggregator", "writer", "debaters", "agents", "programmer",
    "experts", "engineer", "orchestrator", "workers", "client",
    "generator", "judger",
    "panel", "writers", "responder", "judges",
}  # fmt: skip
QUICK = {
    "agent_coder": {"sandbox": "monty"},
    "meta_gpt": {"sandbox": "monty"},
    "self_organized": {"sandbox": "monty"},
    **refined.QUICK,
    **retrieved.QUICK,
    **routed.QUICK,
}
EVERY = [pytest.param(m, id=name) for name, m in METHODS.items()]
TASKS = [
    SUM,
    Task("Which is red?", target="B", kind="choice", choices=("grass", "blood", "sky")),
    Task("Capital of France?", target="Paris"),
    Task("Derive x^2.", target="2x", kind="math"),
    Task("Write f(x) = x + 1.", target="def f(x):\n    return x + 1", kind="code"),
]


def ready(name: str, everyone: Any = "sim:skill=0.6,judge=0.7", **knobs: Any) -> motet.Team:
    """A method with everybody cast and knobs that keep the tests quick."""
    return METHODS[name].team.configured(**(QUICK.get(name, {}) | knobs)).cast(everyone)


def never_done(name: str, **knobs: Any) -> motet.Team:
    """The same, with a cast that gives it no reason to stop before its time."""
    return ready(name, **knobs).cast(**NEVER_DONE.get(name, {}))


def test_the_registry_names_each_method_once_and_prints_as_json() -> None:
    assert list(METHODS) == [m.name for m in METHODS.values()]
    rows = msgspec.json.decode(msgspec.json.encode([m.listing() for m in METHODS.values()]))
    keys = {"name", "family", "paper", "system", "voices", "groups", "knobs", "calls", "summary"}
    assert all(row.keys() == keys and row["voices"] and row["summary"] for row in rows)
    assert next(r for r in rows if r["name"] == "swe_search")["groups"] == ["discriminators"]
    assert rows[2]["knobs"] == {"n": 5, "temperature": 0.7}
    assert motet.methods.self_consistency(n=9).knobs["n"] == 9
    with pytest.raises(UnknownName, match="did you mean debate"):
        method("debait")
    with pytest.raises(UnknownName, match="knob"):
        method("debate").most_calls(rounds=2)


@pytest.mark.parametrize(("name", "knobs"), [(n, k) for n, each in SETTINGS.items() for k in each])
def test_the_number_of_calls_is_the_formula(name: str, knobs: dict[str, Any]) -> None:
    run = play(never_done(name, **knobs))
    assert run.ok
    assert len(run.calls) == METHODS[name].most_calls(**knobs)


def test_every_method_has_its_number_of_calls_tested() -> None:
    assert SETTINGS.keys() == METHODS.keys()


@pytest.mark.parametrize("m", EVERY)
@pytest.mark.parametrize("task", TASKS, ids=lambda t: t.kind)
def test_voices_that_are_always_right_make_a_team_that_is(m: Any, task: Task) -> None:
    run = play(ready(m.name, "sim:skill=1,judge=1"), task)
    assert is_right(run)
    assert len(run.calls) <= m.most_calls()


@pytest.mark.parametrize("m", EVERY)
def test_a_method_ends_in_order_whoever_fails(m: Any) -> None:
    for seed in range(6):
        run = play(ready(m.name, "sim:skill=0.6,judge=0.7,fail=0.3"), seed=seed)
        assert run.ok == (run.error is None)
        assert len(run.calls) <= m.most_calls()
    run = play(ready(m.name, "sim:fail=1,failure=timeout"))
    assert run.error is not None
    assert run.error.kind in (FailureKind.TIMEOUT, FailureKind.NO_ANSWER)
    assert all(call.failure for call in run.calls)


@pytest.mark.parametrize("m", EVERY)
@pytest.mark.parametrize("voice_index", range(5))
def test_a_method_ends_in_order_when_one_voice_always_fails(m: Any, voice_index: int) -> None:
    voices = list(m.team.voices)
    broken = voices[voice_index % len(voices)]
    run = play(ready(m.name, "sim:skill=1").cast(**{broken: "sim:fail=1"}))
    assert run.error is None or run.error.kind in (FailureKind.SERVER, FailureKind.NO_ANSWER)
    assert run.ok or broken in INDISPENSABLE


@pytest.mark.parametrize("m", EVERY)
def test_a_budget_is_kept(m: Any) -> None:
    run = play(never_done(m.name), budget=Budget(calls=2))
    assert len(run.calls) <= 2
    assert run.ok if m.most_calls() <= 2 else run.error and run.error.kind is FailureKind.BUDGET


@pytest.mark.parametrize("m", EVERY)
def test_knobs_that_make_no_sense_are_refused_before_anything_is_spent(m: Any) -> None:
    for knob in m.team.knobs.keys() & NOT_NEGATIVE:
        with pytest.raises(BadInput, match=f"{knob}=-1"):
            play(ready(m.name, **{knob: -1}))


@pytest.mark.parametrize("m", EVERY)
def test_knobs_of_another_type_are_refused_before_the_run(m: Any) -> None:
    for knob, default in m.team.knobs.items():
        if isinstance(default, int | float | str | tuple):
            with pytest.raises(BadInput, match=rf"{knob}=\{{\}}: expected"):
                m.team(**{knob: {}})


@pytest.mark.parametrize("name", ["mixture_of_agents", "smoa", "debate", "dylan"])
def test_a_cast_larger_than_its_seats_is_refused(name: str) -> None:
    group = next(voice for voice, many in METHODS[name].team.voices.items() if many)
    with pytest.raises(BadInput, match=r"3 .* are cast, but there are 2 seats"):
        play(ready(name, n=2).cast(**{group: ["sim:seed=1", "sim:seed=2", "sim:seed=3"]}))


class Crowd(Rule):
    """Counts how many of it are being asked at once."""

    def __init__(self) -> None:
        super().__init__(self.answer, name="crowd")
        self.now = self.peak = 0

    async def answer(self, _: str) -> str:
        import asyncio

        self.now += 1
        self.peak = max(self.peak, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return "Answer: 42"


@pytest.mark.parametrize(
    ("name", "together"),
    [
        *[("mixture_of_agents", 3), ("smoa", 4), ("debate", 3), ("dylan", 4), ("agent_coder", 2)],
        *[("agent_verse", 2), ("self_organized", 2)],
        *[("judged_debate", 3), ("agent4debate", 6)],
        *[("rank_and_fuse", 12), ("symbolic_moe", 5), ("focal_fusion", 4), ("toa", 3)],
    ],
)
def test_independent_calls_are_in_flight_together(name: str, together: int) -> None:
    crowd = Crowd()
    assert play(ready(name, crowd)).ok
    assert crowd.peak == together


@pytest.mark.parametrize("m", EVERY)
def test_prompts_know_no_data_set(m: Any) -> None:
    prompts = prompts_of(m.team.function)
    names = r"gsm|mmlu|humaneval|mbpp|\barc\b|\bmath\b|alpaca|truthful|bench|openai|gpt|llama"
    assert not [p for p in prompts.values() if re.search(names, p, re.IGNORECASE)]
    assert prompts or m.name == "direct"


def test_the_index_of_papers_lists_every_method_as_it_is() -> None:
    page = (ROOT / "docs" / "methods.md").read_text()
    line = r"^\| \[`(\w+)`\]\(methods/\w+\.md\) \| (.+?) \| (.+?) \| (.+?) \| `(.+?)` \|"
    rows = re.findall(line, page, re.MULTILINE)
    wanted = [
        (m.name, m.family, m.paper, str(m.system or "–"), m.calls) for m in METHODS.values()
    ]  # fmt: skip
    assert rows == wanted
