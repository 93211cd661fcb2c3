"""Routing and composition: planted differences between voices are found, and are worth finding."""

import asyncio
import contextlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_runs import SUM, accuracy, edges, is_right, noise, play, play_all, said_to, says, sums
from routed import everybody_debates

import motet
from motet import Agent, Budget, Run, Store, Task
from motet.errors import BadInput
from motet.methods import (
    Roster,
    agent_store,
    allocate,
    free_agents,
    improper_mixture,
    knapsack_composer,
    llm_selector,
    mas_router,
    season,
    self_instruct,
    train_mixture,
    train_router,
    train_tokens,
)
from motet.methods.organise.roster import closest
from motet.methods.route.agent_store import token_chances
from motet.methods.route.agent_tokens import Entry
from motet.methods.route.controller import Menu, drawn
from motet.methods.route.features import features, softmax
from motet.methods.route.improper_critic import actor_critic
from motet.methods.route.improper_learning import Episode, ascend
from motet.methods.route.knapsack import Knapsack, psi
from motet.methods.route.mas_router import MODES
from motet.methods.route.router_training import controller_of, planned
from motet.methods.shapes import one_of
from motet.models.rule import Rule
from motet.tape.export import to_jsonl
from motet.tape.export.jsonl import import_jsonl
from motet.teams import Voices
from motet.types import FailureKind

# --- LLMSelector: who generates, who criticises, who refines


def module_player(name: str, g: float, c: float, r: float) -> Agent:
    """A model that generates, criticises and refines rightly as often as it is told."""

    def say(prompt: str) -> str:
        right = 2 * int(re.findall(r"What is (\d+)", prompt)[0])
        lucky = random.Random(name + prompt).random()
        if "Critique:" in prompt:
            draft = re.findall(r"Answer: (\d+)", prompt)[0]
            return f"Answer: {draft if 'It is fine' in prompt else right + (lucky > r)}"
        if "Do not answer" in prompt:
            fine = f"Answer: {right}\n" in prompt
            return "It is fine." if fine == (lucky < c) else "It is wrong."
        return f"Answer: {right + (lucky > g)}"

    return Agent(Rule(say, name=name))


def noisy_judge(prompt: str) -> str:
    """Knows whose fault it is, nine times in ten."""
    right = re.findall(r"The right answer: (\d+)", prompt)[0]
    answers = re.findall(r"Answer: (\d+)", prompt)
    wrong = {
        "generator": answers[0] != right,
        "critic": ("It is fine" in prompt) != (answers[0] == right),
        "refiner": answers[-1] != right,
    }[re.findall(r"module '(\w+)'", prompt)[0]]
    return json.dumps({"error": wrong == (random.Random(prompt).random() < 0.9)})


SKILLS = {"a": (0.9, 0.55, 0.3), "b": (0.4, 0.95, 0.4), "d": (0.3, 0.6, 0.9)}


def expected(*places: str) -> float:
    """How often a system is right whose generator, critic and refiner are these."""
    g, c, r = (SKILLS[name][i] for i, name in enumerate(places))
    return g * (c + (1 - c) * r) + (1 - g) * c * r


def test_allocation_finds_the_best_of_all_casts_with_few_of_them_run() -> None:
    pool = [module_player(name, *skills) for name, skills in SKILLS.items()]
    tasks = sums(40)
    found = asyncio.run(allocate(llm_selector, pool, tasks, judge=noisy_judge, store=Store.memory()))
    best = max(product(SKILLS, repeat=3), key=lambda places: expected(*places))
    assert [list(SKILLS)[k] for k in found.trace[-1]] == list(best) == ["a", "b", "d"]
    assert found.runs / len(tasks) <= 2 * 3 * 3 < 27
    team = accuracy(llm_selector.cast(**found.cast), sums(100))
    assert abs(team - expected(*best)) < noise(expected(*best), 100)
    assert team > max(expected(name, name, name) for name in SKILLS) + 0.1


def test_allocation_keeps_who_is_cast_stops_at_its_budget_and_may_do_without_a_judge() -> None:
    team = llm_selector.cast(critic=says("fine"), refiner=says(0))
    found = asyncio.run(allocate(team, ["sim:skill=0", "sim:skill=1"], sums(2), B=3, store=Store.memory()))
    assert found.cast.keys() == {"generator"}
    assert found.trace == [(0,), (0,)]
    with pytest.raises(BadInput, match="0 candidates"):
        asyncio.run(allocate(team, [], sums(2)))


def test_the_draft_stands_when_the_critic_or_the_refiner_fails() -> None:
    for broken in ("critic", "refiner"):
        run = play(llm_selector.cast(**{broken: "sim:fail=1"}).cast("sim:skill=1"))
        assert is_right(run)
        assert run.tape.ended is not None and run.tape.ended.parents == ("1",)


# --- MasRouter: mode, roles, models

CHEAP, DEAR = "sim:skill.easy=0.95,skill.hard=0.2,cost=100,seed=1", "sim:skill=0.95,cost=2000,seed=2"
PROFILES = ("a small cheap model for easy questions", "a large costly model that is strong on hard questions")
LAM = 2.0


def easy_and_hard(n: int, start: int = 0) -> list[Task]:
    wording = ("Prove the theorem and give the constant {}.", "Easy sum: {0} + {0}?")
    return [
        Task(wording[i % 2].format(i), str(2 * i), kind="number", meta={"skill": ("hard", "easy")[i % 2]})
        for i in range(start, start + n)
    ]


def logged(team: Any, tasks: list[Task], seeds: range) -> list[Run]:
    async def runs() -> list[Run]:
        store = Store.memory()
        return await asyncio.gather(*(team.arun(t, store=store, seed=s) for s in seeds for t in tasks))

    return asyncio.run(runs())


def worth(team: Any, tasks: list[Task]) -> float:
    runs = play_all(team, tasks)
    return sum(is_right(run) - LAM * (run.cost or 0) for run in runs) / len(runs)


UNTRAINED = mas_router(profiles=PROFILES, gamma=2).cast(agents=[CHEAP, DEAR])


@cache
def trained(lam: float) -> Any:
    """The router after six rounds of 96 runs, where a unit of cost is worth `lam`."""
    router = UNTRAINED
    for begin in range(0, 36, 6):
        runs = logged(router, easy_and_hard(16), range(begin, begin + 6))
        router = router(controller=train_router(runs, lam=lam))
    return router


def test_the_router_learns_cheap_for_easy_and_dear_for_hard_and_takes_in_a_later_model() -> None:
    team, router, fresh = UNTRAINED, trained(LAM), easy_and_hard(40, 100)
    fixed = [
        mas_router(gamma=gamma, modes=["vote"]).cast(agents=[who])
        for gamma in (1, 2)
        for who in (CHEAP, DEAR)
    ]
    assert worth(router, fresh) > max(worth(other, fresh) for other in [team, *fixed]) + 0.03

    later = (*PROFILES, "a tiny cheap model for easy questions")
    menu = Menu(list(MODES.values()), router.knobs["roles"], later)
    for task, wanted in zip(fresh[:2], ({1}, {0, 2}), strict=True):
        plans = [
            drawn(router.knobs["controller"], task.prompt, menu, 2, random.Random(i)) for i in range(100)
        ]
        chosen = Counter(plan.llms[0] for plan in plans)
        assert sum(chosen[i] for i in wanted) > 70
        assert wanted == {1} or chosen[2] > 15


def test_what_was_drawn_is_found_again_on_the_tape() -> None:
    team = mas_router(profiles=PROFILES).cast(agents=[CHEAP, DEAR])
    for seed in range(8):
        run = play(team, seed=seed)
        plan = planned(run)
        voices = [f"agents_{j + 1}" for j in plan.llms]
        debated = plan.mode == 2 and len(voices) > 1
        assert [c.voice for c in run.calls] == voices * (1 + debated)
    with pytest.raises(BadInput, match="no profiles"):
        train_router([play(mas_router.cast(agents=CHEAP))], lam=1)
    with pytest.raises(BadInput, match="no runs"):
        train_router([], lam=1)


def test_a_chain_hands_on_and_a_debate_reads_all() -> None:
    three = {"agents": says(42)}
    forced = mas_router(controller=everybody_debates(), gamma=3).cast(**three)
    chain = [parents for _, parents in edges(play(forced(modes=["chain"])))]
    assert chain == [(), ("1",), ("2",)]
    debate = [parents for _, parents in edges(play(forced))]
    assert debate == [()] * 3 + [("1", "2", "3")] * 3


# --- the knapsack


def test_the_threshold_rises_from_below_the_least_worth_to_the_greatest() -> None:
    assert psi(0, 2, 6) < 2
    assert psi(1, 2, 6) == pytest.approx(6)
    with pytest.raises(BadInput, match="above 0"):
        Knapsack(B=0, costs=(1,), weights={"a": 1})


@settings(max_examples=40)
@given(
    costs=st.lists(st.floats(0.1, 5), min_size=1, max_size=6),
    B=st.floats(0.5, 10),
    data=st.data(),
)
def test_the_budget_is_never_exceeded_and_no_skill_is_bought_twice(
    costs: list[float], B: float, data: Any
) -> None:
    pack = Knapsack(B, costs, {"a": 1, "b": 2, "c": 3})
    for i in range(len(costs)):
        shown = data.draw(st.sets(st.sampled_from("abc")))
        after = pack.offered(i, shown)
        assert after.left >= 0
        assert after == pack or shown & set(pack.wanted)
        pack = after


LIAR = Agent("sim:skill=0,follow=0,seed=1", instructions="The best at adding numbers, at any sum of numbers.")
HONEST = Agent("sim:skill=0.95,follow=0,seed=2", instructions="Good at numbers.")
DEARER = Agent("sim:skill=0.95,follow=0,seed=3", instructions="Adding numbers.")


def add_numbers(prompt: str) -> str:
    need = {"skill": "adding numbers, any sum", "weight": 1, "probes": ["What is 2 + 3?", "What is 5 + 8?"]}
    return json.dumps({"skills": [need]}) if "skills" in prompt else "Answer: 0"


def test_probing_rejects_who_lies_about_itself() -> None:
    agents = [LIAR, DEARER, HONEST]
    team = knapsack_composer(m=1, K=3, q=2, B=4.0, costs=(1.0, 4.0, 1.0)).cast(
        composer=add_numbers, judge="sim:skill=1,judge=1", agents=agents
    )
    tasks = sums(40)
    runs = play_all(team, tasks)
    answering = Counter(run.calls[-1].voice for run in runs)
    assert answering["agents_1"] == 0
    assert sum(map(is_right, runs)) / 40 > 0.8
    dear = play_all(team(B=5.0), tasks[:10])
    assert all(run.calls[-1].voice != "agents_1" for run in dear)


CRAFTS = ("parse dates", "sum columns", "draw charts", "translate letters")
ERRANDS = [
    Task(f"Please {' and '.join(need)}.", target="42", kind="number", meta={"need": need})
    for size in (1, 2, 3)
    for need in combinations(CRAFTS, size)
]


class Component:
    """Has one or two crafts, or none (one in four); claims them all the same, and maybe another."""

    def __init__(self, rng: random.Random, name: str) -> None:
        crafts = set(rng.sample(CRAFTS, rng.choice((1, 1, 2))))
        self.claims = crafts | ({rng.choice(CRAFTS)} if rng.random() < 0.5 else set())
        self.crafts = crafts if rng.random() < 0.75 else set()
        self.price = float(rng.choice((1, 2, 3)))
        described = f"I {' and '.join(craft for craft in CRAFTS if craft in self.claims)}"
        self.agent = Agent(Rule(self.work, name=name), instructions=described)

    def work(self, prompt: str) -> str:
        return f"Done: {', '.join(craft for craft in CRAFTS if craft in self.crafts and craft in prompt)}"


Inventory = list[Component]


def plans_and_joins(prompt: str) -> str:
    asked, _, answers = prompt.partition("Answers of those")
    needed = [craft for craft in CRAFTS if craft in asked]
    if "skills" in prompt:
        probes = [{"skill": c, "weight": 1, "probes": [f"Show that you can {c}."]} for c in needed]
        return json.dumps({"skills": probes})
    return f"Answer: {42 if all(craft in answers for craft in needed) else 0}"


def sees_what_was_done(prompt: str) -> str:
    skill = prompt.splitlines()[0].removeprefix("Skill: ")
    return json.dumps({"helpful": skill in prompt.partition("Answer:")[2]})


def price(inventory: Inventory, taken: Iterable[int]) -> float:
    return sum(inventory[i].price for i in taken)


def serves(inventory: Inventory, taken: Iterable[int], task: Task) -> bool:
    """Whether those taken have all crafts that a task needs between them, whatever they claim."""
    return set(task.meta["need"]) <= set().union(*(inventory[i].crafts for i in taken))


def by_description(inventory: Inventory, task: Task, B: float) -> list[int]:
    """The component nearest to each skill by its description, as long as there is money."""
    taken: list[int] = []
    for need in task.meta["need"]:
        (i,) = closest(need, [component.agent.instructions for component in inventory], 1)
        if i not in taken and price(inventory, (*taken, i)) <= B:
            taken.append(i)
    return taken


def by_claims(inventory: Inventory, task: Task, B: float) -> Sequence[int]:
    """The offline knapsack: the set within the budget that claims most of the skills, for the least money."""
    needed = set(task.meta["need"])
    sets = (s for size in range(len(inventory) + 1) for s in combinations(range(len(inventory)), size))
    return max(
        (s for s in sets if price(inventory, s) <= B),
        key=lambda s: (len(needed & set().union(*(inventory[i].claims for i in s))), -price(inventory, s)),
    )


def by_probes(inventory: Inventory, B: float) -> list[tuple[Run, list[int]]]:
    """The runs of the composer on all errands, and whom it bought: those asked with the errand itself."""
    costs = [component.price for component in inventory]
    team = knapsack_composer(m=3, K=4, B=B, costs=costs).cast(
        composer=plans_and_joins, judge=sees_what_was_done, agents=[c.agent for c in inventory]
    )
    return [
        (run, [int(c.voice[7:]) - 1 for c in run.calls if c.voice[:7] == "agents_" and not c.parents])
        for run in play_all(team, ERRANDS)
    ]


def test_success_for_cost_is_above_retrieval_and_the_offline_knapsack_on_what_is_described() -> None:
    """At three budgets, over inventories of eight components of several crafts and prices, with liars."""
    rng = random.Random(0)
    inventories = [[Component(rng, f"{i} {j}") for j in range(8)] for i in range(4)]
    for B in (2.0, 4.0, 8.0):
        served, spent = Counter[str](), Counter[str]()
        for inventory in inventories:
            for task, (run, taken) in zip(ERRANDS, by_probes(inventory, B), strict=True):
                rivals = {way.__name__: way(inventory, task, B) for way in (by_description, by_claims)}
                for way, some in {"by_probes": taken, **rivals}.items():
                    assert price(inventory, some) <= B
                    served[way] += serves(inventory, some, task)
                    spent[way] += price(inventory, some)
                assert len(taken) == 1 or is_right(run) == serves(inventory, taken, task)
        ours = served["by_probes"]
        assert all(0 < served[rival] < ours for rival in ("by_description", "by_claims")), served
        assert all(ours / spent["by_probes"] > served[r] / spent[r] for r in ("by_description", "by_claims"))


def test_probes_stop_when_a_skill_is_covered_and_without_anybody_the_composer_answers() -> None:
    first = play(
        knapsack_composer(m=1, K=2).cast(
            composer=add_numbers, judge="sim:judge=1", agents=["sim:skill=1,follow=0"] * 2
        )
    )
    assert [c.voice for c in first.calls] == ["composer", "agents_1", "judge", "agents_1"]
    assert [c.parents for c in first.calls] == [(), ("1",), ("1", "2"), ()]
    nobody = play(knapsack_composer.cast(composer=add_numbers, judge="sim:judge=1", agents="sim:fail=1"))
    assert [c.voice for c in nobody.calls] == ["composer", "agents_1", "composer"]
    with pytest.raises(BadInput, match="2 costs for 1 agents"):
        play(knapsack_composer(costs=(1, 2)).cast(says(0)))


# --- free agents


def test_who_plays_badly_is_replaced_within_window_and_trial_and_shadows_have_no_say() -> None:
    tasks = sums(20, skill="calm") + [
        Task(f"What is {i} * 2?", str(2 * i), kind="number", meta={"skill": "drift"}) for i in range(60)
    ]
    stale, steady = "sim:skill.calm=0.95,skill.drift=0.1,seed=1", "sim:skill=0.95,seed=2"
    team = free_agents(n=3).cast(agents=[stale, "sim:skill=0.1,seed=3", steady])
    played = asyncio.run(season(team, tasks, Roster((0,), pool=(1, 2)), W=8, P=6, store=Store.memory()))
    static = asyncio.run(season(team, tasks, Roster((0,)), store=Store.memory()))
    assert all(match.roster.active == (0,) for match in played[:20])
    swapped = next(i for i, match in enumerate(played) if match.roster.active != (0,))
    assert played[-1].roster.active == (2,) and swapped <= 20 + 2 * (8 + 6)
    assert set(played[-1].roster.pool) == {0, 1}
    late = [sum(is_right(match.run) for match in some[50:]) / 30 for some in (played, static)]
    assert late[0] > 0.8 and late[1] < 0.3
    for match, before in zip(played[1:], played, strict=False):
        ended = match.run.tape.ended
        voices = {c.id: c.voice for c in match.run.calls}
        playing = {f"agents_{i + 1}" for i in before.roster.active}
        assert ended is not None and {voices[i] for i in ended.parents} <= playing
        assert len(voices) == 1 + bool(before.roster.trial)


@motet.team
async def gated(task, gate, experts: Voices):
    """Ask the expert that a gate names."""
    chosen = await gate.ask(task, schema=one_of(len(experts)))
    return await experts[chosen.data.best - 1].ask(task)


def test_a_gated_team_whose_one_expert_drops_is_swapped_within_window_and_trial() -> None:
    def by_kind(prompt: str) -> str:
        return '{"best": %d}' % (1 + ("*" in prompt))  # noqa: UP031

    def league(skill: str, seed: int) -> Any:
        voices = {"gate": by_kind, "experts": [f"sim:skill=0.95,seed={seed}", f"sim:{skill},seed={seed + 1}"]}
        return gated.cast(**voices)

    tasks = [
        Task(
            f"What is {i} {'*' if i % 2 else '+'} {2 if i % 2 else i}?",
            str(2 * i),
            kind="number",
            meta={"skill": "drift" if i >= 20 else "calm"},
        )
        for i in range(60)
    ]
    stale, steady = league("skill.calm=0.95,skill.drift=0", 1), league("skill=0.95", 5)
    team = free_agents(n=2).cast(agents=[stale, steady])
    rules = {"W": 8, "threshold": 0.7, "store": Store.memory()}
    played = asyncio.run(season(team, tasks, Roster((0,), pool=(1,)), P=6, **rules))
    static = asyncio.run(season(team, tasks, Roster((0,)), **rules))
    assert all(match.roster.active == (0,) and not match.roster.trial for match in played[:20])
    swapped = next(i for i, match in enumerate(played) if match.roster.active == (1,))
    assert swapped <= 20 + 8 + 6
    late = [sum(is_right(match.run) for match in some[40:]) / 20 for some in (played, static)]
    assert late[0] > 0.8 and late[1] < 0.6
    calls = played[-1].run.calls
    assert [c.voice for c in calls] == ["agents_2/gate", "agents_2/experts_2"]


def test_those_on_trial_have_no_say_whatever_the_budget() -> None:
    cast = {"agents": [says(42), says(42), says(7), says(7), says(7)]}
    for active in ((0,), (0, 1)):
        team = free_agents(n=5, active=active).cast(**cast)
        for trial in ((2,), (2, 3, 4)):
            for calls in range(7):
                alone = play(team, budget=Budget(calls=calls))
                run = play(team(trial=trial), budget=Budget(calls=calls))
                assert (run.ok, run.ok and run.answer) == (alone.ok, alone.ok and alone.answer)
                assert len(run.calls) == (min(calls, len(active) + len(trial)) if run.ok else len(run.calls))
    slow = free_agents(n=2, active=(0,), trial=(1,)).cast(agents=[says(42), "sim:latency=30"])
    run = play(slow, budget=Budget(seconds=0.02))
    assert run.error and run.error.kind is FailureKind.BUDGET, "seconds end a run whoever is asked"


def test_a_trial_that_the_budget_refuses_earns_nothing() -> None:
    team, one = free_agents(n=2).cast(agents=[says(42), says(42)]), Budget(calls=1)
    roster = Roster((0,), window={0: (0.0, 0.0)}, trial=(0, 1))
    (match,) = asyncio.run(season(team, [SUM], roster, W=2, P=2, budget=one, store=Store.memory()))
    assert match.run.ok and match.roster.duel == ((1.0, 0.0),)


def test_a_roster_judges_by_full_windows_and_a_draw_keeps_the_player() -> None:
    roster, rules = Roster((0, 1), pool=(2,)), {"W": 2, "threshold": 0.5, "P": 1}
    once = roster.after({0: 0, 1: 1}, **rules)
    assert once.trial is None
    tried = once.after({0: 0, 1: 1}, **rules)
    assert tried.trial == (0, 2) and tried.pool == ()
    assert tried.after({0: 1, 1: 1, 2: 1}, **rules) == Roster((0, 1), (2,), {1: (1, 1)})
    assert tried.after({0: 0, 1: 1, 2: 1}, **rules).active == (2, 1)
    with pytest.raises(BadInput, match="each once"):
        asyncio.run(season(free_agents.cast(says(0)), [], Roster((0,), pool=(0,))))
    for active, trial in (((0,), (0,)), ((0, 0), ()), ((0,), (1, 1)), ((2,), ()), ((0,), (-1,))):
        with pytest.raises(BadInput, match="none of them twice"):
            play(free_agents(n=2, active=active, trial=trial).cast(says(0)))


# --- AgentStore

KINDS = {
    "sheet": ("Sort column {} of the sheet", "Sum the cells of column {} in the spreadsheet"),
    "mail": ("Send the letter {} to my boss by mail", "Reply to message {} in my inbox"),
    "photo": ("Crop picture {} to a square", "Make image {} brighter in the photo editor"),
}


def demonstrations(names: str) -> list[list[str]]:
    return [[form.format(name) for form in forms for name in names] for forms in KINDS.values()]


def routed(tokens: Any, store: list[list[str]]) -> float:
    """The share of tasks that the hub gives to the agent they belong to."""
    hits = [
        max(range(len(tokens)), key=lambda i: token_chances(text, tokens)[i]) == right
        for right, texts in enumerate(store)
        for text in texts
    ]
    return sum(hits) / len(hits)


def test_tokens_route_what_they_have_not_seen_and_a_later_one_leaves_the_others_alone() -> None:
    shown, held_out = demonstrations("ABCD"), demonstrations("XYZ")
    tokens = train_tokens(shown)
    assert routed(tokens, held_out) == 1.0
    two = train_tokens(shown[:2])
    three = train_tokens(shown, tokens=two)
    assert three[:2] == two
    assert routed(three, held_out[:2]) == routed(two, held_out[:2]) == 1.0
    assert routed(three, held_out) > 0.9
    with pytest.raises(BadInput, match="needs one or more"):
        train_tokens([["a"], []])


def test_a_task_for_one_goes_to_one_and_a_task_for_two_is_split() -> None:
    def manager(prompt: str) -> str:
        if "subtasks" not in prompt:
            return "Answer: joined"
        names = re.findall(r"- (\w+):", prompt)
        return json.dumps({"subtasks": [{"agent": n, "do": f"the part of {n}"} for n in sorted(names)]})

    team = agent_store(tokens=train_tokens(demonstrations("ABCD")), k=2, threshold=0.8).cast(
        manager=manager, agents=[says("sheet"), says("mail"), says("photo")]
    )
    alone = play(team, Task("Crop picture Q to a square"))
    assert edges(alone) == [("agents_3", ())]
    both = play(team, Task("Sort column C of the sheet, then send the letter to my boss by mail"))
    asked = [("manager", ()), ("agents_1", ("1",)), ("agents_2", ("2", "1")), ("manager", ("2", "3"))]
    assert edges(both) == asked
    assert both.answer == "Answer: joined"
    assert "the part of agents_2" in said_to(both, "agents_2")[0]


def test_the_hub_falls_back_to_the_next_agent_and_then_to_the_manager() -> None:
    text = "Do it."
    tokens = [tuple(weight * x for x in features(text, 8)) for weight in (-1, 3)]
    team = agent_store(tokens=tokens, threshold=0.6)
    next_one = play(
        team.cast(manager=says(0), agents=[says(42), "sim:fail=1"]), Task(text, "42", kind="number")
    )
    assert [c.voice for c in next_one.calls] == ["agents_2", "agents_1"] and is_right(next_one)
    nobody = play(team.cast(manager=says(42), agents="sim:fail=1")(tokens=tokens[:1]), Task(text, "42"))
    assert nobody.answer == "Answer: 42"
    with pytest.raises(BadInput, match="2 tokens for 1 agents"):
        play(team.cast(says(0)))


def test_self_instruct_adds_tasks_that_repeat_none() -> None:
    written = iter(["Crop picture A to a square", "Rotate the scan", "rotate  the scan", "Blur the faces"])
    writer = lambda _: json.dumps({"tasks": [next(written, "Blur the faces")]})  # noqa: E731
    entry = Entry("edits pictures", ("Crop picture B to a square",))
    more = asyncio.run(self_instruct(entry, writer, n=3, store=Store.memory()))
    assert more.demonstrations == (*entry.demonstrations, "Rotate the scan", "Blur the faces")
    assert features("Rotate the scan", 8) == features("rotate  the scan", 8)
    mute = asyncio.run(self_instruct(entry, "sim:fail=1", rounds=2, store=Store.memory()))
    assert mute == entry


# --- improper mixtures


@dataclass(frozen=True)
class Queues:
    """Two queues that grow alike; policy m serves queue m."""

    M: int = 2
    served: float = 0.9

    def start(self, rng: random.Random) -> tuple[int, ...]:
        return (2, 2)

    def step(self, state: tuple[int, ...], m: int, rng: random.Random) -> tuple[tuple[int, ...], float]:
        after = [min(15, q + (rng.random() < 0.4)) for q in state]
        after[m] -= after[m] > 0 and rng.random() < self.served
        return tuple(after), -sum(after) / 15

    def phi(self, state: tuple[int, ...]) -> tuple[float, ...]:
        return (1.0, state[0] / 15, state[1] / 15)


@dataclass(frozen=True)
class Skewed(Queues):
    """The same, where a third policy serves nobody."""

    M: int = 3

    def step(self, state: tuple[int, ...], m: int, rng: random.Random) -> tuple[tuple[int, ...], float]:
        if m < 2:
            return super().step(state, m, rng)
        after = tuple(min(15, q + (rng.random() < 0.4)) for q in state)
        return after, -sum(after) / 15


def episode(world: Queues, pi: list[float], rng: random.Random, horizon: int = 40) -> Episode:
    state, drawn_, rewards = world.start(rng), [], []
    for _ in range(horizon):
        m = rng.choices(range(world.M), pi)[0]
        state, reward = world.step(state, m, rng)
        drawn_.append(m)
        rewards.append(reward)
    return Episode(tuple(drawn_), tuple(rewards))


def mean_return(world: Queues, pi: list[float]) -> float:
    rng = random.Random(1)
    return sum(sum(episode(world, pi, rng, 100).rewards) for _ in range(30)) / 30


def test_a_mixture_that_is_learned_beats_each_policy() -> None:
    world, rng, theta = Queues(), random.Random(0), [1.5, 0.0]
    for _ in range(40):
        theta = ascend(theta, [episode(world, softmax(theta), rng) for _ in range(10)], eta=0.02, gamma=0.95)
    pi = softmax(theta)
    assert pi[0] == pytest.approx(0.5, abs=0.12)
    assert mean_return(world, pi) > 0.6 * max(mean_return(world, [1, 0]), mean_return(world, [0, 1]))


@pytest.mark.parametrize("natural", [False, True])
def test_actor_and_critic_leave_out_who_does_nothing(natural: bool) -> None:
    step = {"alpha": 2.0} if natural else {"alpha": 6.0}
    pi = softmax(actor_critic(Skewed(), natural=natural, steps=120, **step))
    assert pi[2] < 0.15 and min(pi[:2]) > 0.3
    assert mean_return(Skewed(), pi) > max(
        mean_return(Skewed(), [m == i for i in range(3)]) for m in range(3)
    )


def test_voices_are_mixed_until_the_best_has_nearly_all_the_weight() -> None:
    voices = [f"sim:skill={skill},seed={i}" for i, skill in enumerate((0.3, 0.9, 0.5))]
    team = improper_mixture(T=1).cast(agents=voices)
    weights = asyncio.run(train_mixture(team, sums(30), steps=12, eta=3.0, store=Store.memory()))
    assert weights[1] > 0.85
    assert accuracy(team(weights=weights), sums(80)) > accuracy(team, sums(80)) + 0.1


def test_each_step_reads_the_one_before_and_weights_that_make_no_sense_are_refused() -> None:
    run = play(improper_mixture(T=3, weights=(0, 1)).cast(agents=[says(0), says(42)]))
    assert edges(run) == [("agents_2", ()), ("agents_2", ("1",)), ("agents_2", ("2",))]
    for weights in ((1.0,), (1.0, -1.0), (0.0, 0.0)):
        with pytest.raises(BadInput, match="weights="):
            play(improper_mixture(weights=weights).cast(agents=[says(0), says(42)]))


def test_a_learned_controller_is_stored_once_and_found_again_from_any_run(tmp_path: Path) -> None:
    team = mas_router(profiles=PROFILES, gamma=2).cast(agents=[CHEAP, DEAR])
    tasks = easy_and_hard(4)
    learned = train_router(logged(team, tasks, range(4)), lam=LAM)
    store = Store(tmp_path / "tape.db")
    runs = [team(controller=learned).run(task, store=store, seed=s) for s in range(3) for task in tasks]
    begun = [len(msgspec.json.encode(run.tape.started)) for run in runs]
    whole = len(msgspec.json.encode(learned))
    assert max(begun) < 3_000 < 8_000 < whole
    store.close()
    assert (tmp_path / "tape.db").stat().st_size < 3 * whole + len(runs) * 10_000
    with contextlib.closing(Store(tmp_path / "tape.db", readonly=True)) as again:
        read = [Run(again.load(run.id)) for run in runs]
    assert {msgspec.json.encode(controller_of(run)) for run in read} == {msgspec.json.encode(learned)}
    assert train_router(read, lam=LAM) == train_router(runs, lam=LAM)
    (imported,) = import_jsonl(to_jsonl([runs[0].tape]).splitlines())
    assert (
        imported.knobs == read[0].tape.knobs == msgspec.json.decode(msgspec.json.encode(runs[0].tape.knobs))
    )
    changed = msgspec.structs.replace(learned, mode=())
    assert team(controller=changed).identity != team(controller=learned).identity
    with pytest.raises(BadInput, match="names messages that are not in the file"):
        import_jsonl(line for line in to_jsonl([runs[0].tape]).splitlines() if '"role":"system"' not in line)
