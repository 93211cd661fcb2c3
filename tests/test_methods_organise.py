"""Organisations: who is called in, who speaks to whom, what makes them plan again, what it is good for."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_runs import accuracy, edges, noise, play, play_all, said_to, says, sums

from motet import Agent, Task
from motet.errors import BadInput, UnknownName
from motet.evals.stats import mean_ci
from motet.methods import (
    agent_verse,
    direct,
    internet_of_agents,
    magentic_one,
    meta_gpt,
    self_organized,
    workforce,
)
from motet.methods.organise.meta_gpt import Design, Plan, Requirements
from motet.methods.organise.pieces import split
from motet.models.scripted import Line, Scripted
from motet.structured import parse
from motet.tools.python import python_tool
from motet.tools.sandbox import sandbox
from motet.tools.tool import tool
from motet.train.rows import rows_of
from motet.types import FailureKind, Message, Reply, Sampling

CODE = Task("Write `larger(a, b)`, the larger of two numbers.", kind="code", target="unused")
WRONG = "```python\ndef larger(a, b):\n    return a\n```"
RIGHT = "```python\ndef larger(a, b):\n    return a if a > b else b\n```"
TESTS = "```python\nassert larger(2, 1) == 2\nassert larger(1, 2) == 2, 'the second may be larger'\n```"


def verdict(notes: str, done: bool) -> str:
    return json.dumps({"notes": notes, "done": done})


# AgentVerse


def recruiter(prompt: str) -> str:
    roles = ["You know rivers.", "You know towns."]
    return json.dumps({"roles": roles if "What is wrong with it" not in prompt else ["You know hills."] * 2})


def test_a_bad_verdict_changes_who_is_recruited() -> None:
    evaluator = Scripted([verdict("Nobody looked at the hills.", False), verdict("", True)])
    team = agent_verse(n=2, k=1).cast(
        recruiter=recruiter, experts=lambda _: verdict("", True), executor=says(42), evaluator=evaluator
    )
    run = play(team)
    ids = {call.id: call.voice for call in run.calls}
    assert [(v, tuple(ids[p] for p in parents)) for v, parents in edges(run)][5:7] == [
        ("recruiter", ("executor", "evaluator")),
        ("experts_1", ("recruiter", "executor", "evaluator")),
    ]
    first, second = (said for said in said_to(run, "experts_1"))
    assert "rivers" in first and "hills" not in first
    assert "hills" in second and "Nobody looked at the hills." in second


def geography(prompt: str) -> str:
    """Knows one number by role, and adds up all that it is shown."""
    if "`notes`" in prompt:
        return verdict("It has 25 towns.", "25" in prompt.partition("Proposed:")[2])
    if "towns" in prompt.partition("Reviews:")[2]:
        return "17 + 25.\nAnswer: 42"
    return "17 rivers.\nAnswer: 17"


def test_the_vertical_structure_ends_when_the_reviewers_agree_and_joins_two_kinds_of_knowledge() -> None:
    cast = {
        "recruiter": recruiter,
        "executor": lambda p: re.findall(r"Answer: \d+", p)[-1],
        "evaluator": lambda _: verdict("", True),
    }
    pair = play(agent_verse(n=2, k=9).cast(experts=geography, **cast))
    voices = [voice for voice, _ in edges(pair)]
    assert voices == ["recruiter", *["experts_1", "experts_2"] * 2, "executor", "evaluator"]
    assert pair.answer == "Answer: 42"
    alone = play(agent_verse(n=1).cast(experts=geography, **cast))
    assert alone.answer == "Answer: 17"


def test_in_the_horizontal_structure_all_read_each_other_and_one_sums_up() -> None:
    team = agent_verse(n=3, k=2, T=1, structure="horizontal").cast("sim:skill=1,judge=1")
    assert edges(play(team))[:8] == [
        ("recruiter", ()),
        *((f"experts_{i}", ("1",)) for i in (1, 2, 3)),
        ("experts_1", ("1", "3", "4")),
        ("experts_2", ("1", "2", "4")),
        ("experts_3", ("1", "2", "3")),
        ("experts_1", ("1", "5", "6", "7")),
    ]
    with pytest.raises(UnknownName, match="horizontal"):
        play(agent_verse(structure="horizontl").cast("sim:skill=1"))


def test_evaluation_that_knows_a_right_answer_makes_a_group_better_than_one() -> None:
    tasks = sums(100)
    single = accuracy(direct.cast("sim:skill=0.5"), tasks)
    group = accuracy(agent_verse(T=3).cast("sim:skill=0.5,judge=0.9,fix=0.3"), tasks)
    assert group - single > noise(0.5, len(tasks))


# MetaGPT


class Clerk:
    """Writes what the schema wants; asked without one, it chats."""

    name = identity = "clerk"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        fields = (sampling.schema or {}).get("properties", {})
        text = "Let us have a function that tells the larger one."
        if "functions" in fields:
            text = json.dumps({"functions": [{"signature": "larger(a, b)", "does": "the larger one"}]})
        elif fields:
            text = json.dumps({field: ["compare two numbers"] for field in fields})
        return [Reply(message=Message.say("assistant", text), model=self.name)] * n


def engineer(prompt: str) -> str:
    """Writes the function that the design names, with a bug that it mends on seeing the report."""
    named = re.search(r'"signature":\s*"(\w+)', prompt)
    program = RIGHT if "the second may be larger" in prompt.partition("# report")[2] else WRONG
    return program.replace("larger", named[1] if named else "maximum")


def line_of_work(**knobs: Any) -> Any:
    clerks = dict.fromkeys(("product_manager", "architect", "project_manager"), Clerk())
    return meta_gpt(sandbox="monty", **knobs).cast(engineer=engineer, qa=lambda _: TESTS, **clerks)


def test_documents_fit_their_types_and_go_to_those_who_watch_for_them() -> None:
    run = play(line_of_work(), CODE)
    assert run.answer == RIGHT
    assert edges(run) == [
        ("product_manager", ()),
        ("architect", ("1",)),
        ("project_manager", ("1", "2")),
        ("engineer", ("2", "3")),
        ("qa", ("2", "3", "4")),
        ("engineer", ("2", "3", "4", "5")),
    ]
    texts = [run.tape.path(call.node)[-1].text for call in run.calls]
    for text, shape in zip(texts, (Requirements, Design, Plan), strict=False):
        parse(text, shape)


NAMES = ["larger", "smaller", "total", "middle", "spread"]
BODIES = ["max(a, b)", "min(a, b)", "a + b", "(a + b) / 2", "abs(a - b)"]


class Office:
    """Names the function in a document that has a form, and in half of its chat.

    The engineer reads the design. Of its programs, repairs as well, three in five are wrong.
    """

    name = identity = "office"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        said = messages[-1].text
        wanted = next((i for i, name in enumerate(NAMES) if f"{name}(a, b)" in said), 0)
        fields, chance = (sampling.schema or {}).get("properties", {}), Random(said)
        if "As QA engineer" in said:
            facts = [
                f"assert {NAMES[wanted]}({a}, {b}) == {eval(BODIES[wanted])}" for a, b in ((3, 1), (2, 6))
            ]
            text = "\n".join(["```python", *facts, "```"])
        elif "As engineer" in said:
            named = re.search(r"(\w+)\(a, b\)", said.rpartition("# design")[2].partition("# plan")[0])
            body = BODIES[wanted] if chance.random() < 0.4 else f"a - b - {chance.randint(7, 99)}"
            text = f"```python\ndef {named[1] if named else 'program'}(a, b):\n    return {body}\n```"
        elif "functions" in fields:
            text = json.dumps({"functions": [{"signature": f"{NAMES[wanted]}(a, b)", "does": "it"}]})
        elif fields:
            text = json.dumps({field: ["see the requirement"] for field in fields})
        else:
            text = (
                f"Let us have {NAMES[wanted]}(a, b)." if chance.random() < 0.5 else "Let us have a function."
            )
        return [Reply(message=Message.say("assistant", text), model=self.name)] * n


def test_less_feedback_and_documents_without_a_form_lower_the_share_of_right_programs() -> None:
    tasks = [Task(f"{i}: write `{NAMES[i % 5]}(a, b)`.", kind="code", target=str(i % 5)) for i in range(20)]

    def share(**knobs: Any) -> float:
        runs = play_all(meta_gpt(sandbox="monty", **knobs).cast(Office()), tasks)
        for run in runs:
            assert sum(call.voice == "engineer" for call in run.calls) - 1 <= knobs.get("r", 3)
        right = [f"def {NAMES[i % 5]}(a, b):\n    return {BODIES[i % 5]}\n" for i in range(20)]
        return sum(program in run.answer for program, run in zip(right, runs, strict=True)) / 20

    full = share()
    assert full - share(r=0) > noise(0.3, 20)
    assert full - share(documents=False) > noise(0.3, 20)
    assert share(r=0) < share(r=1) <= full


def test_a_design_may_be_as_long_as_the_program_needs() -> None:
    design = {"functions": [{"signature": f"f{i}()", "does": "its part"} for i in range(30)]}
    run = play(line_of_work().cast(architect=lambda _: json.dumps(design)), CODE)
    assert "f29()" in said_to(run, "engineer")[0]


def test_the_others_go_on_without_a_document_that_is_missing() -> None:
    run = play(line_of_work().cast(product_manager="sim:fail=1"), CODE)
    assert run.answer == RIGHT
    assert "(missing: server" in said_to(run, "architect")[0]
    broken = play(line_of_work().cast(engineer="sim:fail=1"), CODE)
    assert broken.error and broken.error.kind is FailureKind.SERVER


def test_a_program_that_exits_before_its_tests_has_not_passed_them() -> None:
    def hasty(prompt: str) -> str:
        mended = "The program ended before its tests" in prompt
        return RIGHT if mended else f"{WRONG[:-4]}\n\nraise SystemExit\n```"

    line = play(line_of_work(r=1).configured(sandbox="subprocess").cast(engineer=hasty), CODE)
    tree = self_organized(sandbox="subprocess", r=1).cast(agents=hasty, tester=lambda _: TESTS)
    assert line.answer.strip() == play(tree, CODE).answer.strip() == RIGHT.strip()


def test_no_tests_are_written_that_are_never_run() -> None:
    tree = self_organized(sandbox="monty", r=0).cast(agents=lambda _: RIGHT, tester=lambda _: TESTS)
    voices = {call.voice for run in (play(line_of_work(r=0), CODE), play(tree, CODE)) for call in run.calls}
    assert not voices & {"qa", "tester"}


# Magentic-One


def ledger(**fields: Any) -> str:
    usual = {"done": False, "looping": False, "progress": True, "next": "agents_1", "instruction": "Go on."}
    return json.dumps(usual | fields)


def leader(prompt: str) -> str:
    """Follows the plan; plans with the second agent once the team is stuck with the first."""
    if "The team is stuck" in prompt or "Write a short plan" in prompt:
        return "Ask agents_2." if "stuck" in prompt else "Ask agents_1."
    said = prompt.partition("Said so far:")[2]
    if "`done`" in prompt:
        chosen = "agents_2" if "Plan:\nAsk agents_2" in prompt else "agents_1"
        return ledger(done="42" in said, progress="failed" not in said, next=chosen)
    return "Answer: 42" if "42" in said else "Answer: none"


def test_a_worker_that_fails_again_and_again_leads_to_a_plan_without_it() -> None:
    team = magentic_one(S=2).cast(orchestrator=leader, agents=["sim:fail=1", says(42), says(0)])
    run = play(team)
    assert run.answer == "Answer: 42"
    spoke = [voice for voice, _ in edges(run) if voice != "orchestrator"]
    assert spoke == ["agents_1", "agents_1", "agents_2"]
    replanned = [said for said in said_to(run, "orchestrator") if "`done`" in said][-2]
    assert "failed" not in replanned.partition("Said so far:")[2]
    stubborn = play(magentic_one(S=9, T=4).cast(orchestrator=leader, agents=["sim:fail=1"]))
    assert stubborn.answer == "Answer: none"


@pytest.mark.parametrize(
    ("moves", "plans"), [("-+-+-+-+", 0), ("--+", 1), ("-+--+", 1), ("----+", 2), ("+++-", 0), ("----", 1)]
)
def test_progress_takes_back_what_a_stall_has_added(moves: str, plans: int) -> None:
    turns = [ledger(progress=move == "+") for move in moves]
    script = Scripted([Line(turn, match="`done`", times=1) for turn in turns] + [Line("words", match="")])
    run = play(magentic_one(S=2, T=len(moves)).cast(orchestrator=script, agents=says(1)))
    assert sum("then write a new plan" in said for said in said_to(run, "orchestrator")) == plans


def test_a_new_plan_is_made_for_the_turns_that_are_left_and_loses_nothing_that_was_said() -> None:
    def lead(prompt: str) -> str:
        if "`done`" in prompt:
            return ledger(progress="Said so far:\n\n(nothing)" in prompt)
        facts = "New facts." if "what was learnt" in prompt else "Facts."
        return facts if "facts" in prompt.rpartition("\n\n")[2] else "Words."

    def spoke(T: int) -> list[str]:
        return [
            voice for voice, _ in edges(play(magentic_one(S=1, T=T).cast(orchestrator=lead, agents=says(7))))
        ]

    assert spoke(2) == ["orchestrator"] * 3 + ["agents_1", "orchestrator", "agents_1", "orchestrator"]
    run = play(magentic_one(S=1, T=3).cast(orchestrator=lead, agents=says(7)))
    told = said_to(run, "orchestrator")
    planning = next(said for said in told if "then write a new plan" in said)
    assert planning.count("New facts.") == 1
    assert "Answer: 7" not in told[-2] and told[-1].count("agents_1: Answer: 7") == 2


def test_isolated_runs_again_and_again_give_a_rate_with_its_interval() -> None:
    """One worker that fails every other time, asked twice: three runs in four succeed."""
    team = magentic_one(S=9, T=2).cast(orchestrator=leader, agents=["sim:skill=1,fail=0.5"])
    seeds = list(range(100))

    def marks(order: list[int]) -> dict[int, bool]:
        return {seed: play(team, seed=seed).answer == "Answer: 42" for seed in order}

    once = marks(seeds)
    assert marks(seeds[:-11:-1]).items() <= once.items()  # what one run does is nothing to the next
    rate = mean_ci([float(right) for right in once.values()])
    assert rate.low < 0.75 < rate.high < 0.9 and rate.low > 0.6


def specialists() -> list[Agent]:
    """A surfer of files with the numbers, and a terminal that adds them up."""

    @tool
    def read(path: str) -> str:
        """Read a file."""
        return {"numbers.txt": "17 and 25"}[path]

    def wants(name: str, **arguments: str) -> Line:
        return Line(match="Do it|Go on", tool_calls=[{"name": name, "arguments": arguments}])

    surfer = Scripted([Line("It says 17 and 25.", match="17 and 25"), wants("read", path="numbers.txt")])
    terminal = Scripted([Line("The sum is 42.", match="^42"), wants("python", code="print(17 + 25)")])
    python = python_tool(sandbox("monty"))
    return [
        Agent(surfer, instructions="You read files.", tools=[read]),
        Agent(terminal, instructions="You run Python.", tools=[python]),
        Agent(says(0), instructions="You browse the web."),
    ]


@pytest.mark.parametrize("members", [3, 2])
def test_a_team_of_specialists_with_tools_works_with_or_without_one_of_them(members: int) -> None:
    turns = [ledger(), ledger(next="agents_2"), ledger(done=True)]
    script = [Line(turn, match="`done`", times=1) for turn in turns]
    orchestrator = Scripted([*script, Line("Answer: 42", match="final answer"), Line("words", match="")])
    run = play(magentic_one.cast(orchestrator=orchestrator, agents=specialists()[:members]))
    assert run.answer == "Answer: 42"
    asked = said_to(run, "orchestrator")[1]
    assert "- agents_1: You read files. (tools: read)" in asked and ("web" in asked) == (members == 3)
    assert "The sum is 42." in said_to(run, "orchestrator")[-1]


def test_an_orchestrator_that_knows_a_right_answer_lifts_its_team() -> None:
    tasks = sums(100)
    single = accuracy(direct.cast("sim:skill=0.5"), tasks)
    led = accuracy(
        magentic_one.cast(orchestrator="sim:skill=0.5,judge=1,follow=1", agents="sim:skill=0.5"), tasks
    )
    assert led - single > noise(0.5, len(tasks))


# Workforce


def plan(*subtasks: str | tuple[str, list[int]]) -> str:
    parts = [(s, []) if isinstance(s, str) else s for s in subtasks]
    return json.dumps({"subtasks": [{"do": do, "after": after} for do, after in parts]})


def by_ability(prompt: str) -> str:
    """Gives each subtask to the worker whose description names its first word, else to the last."""
    workers = re.findall(r"^- (\w+): (.*)$", prompt, re.MULTILINE)
    subtasks = re.findall(r"^\[\d+\] (\w+)", prompt, re.MULTILINE)
    chosen = [next((n for n, about in workers if word in about), workers[-1][0]) for word in subtasks]
    return json.dumps({"workers": chosen})


def able_to(what: str, result: str) -> Agent:
    def work(prompt: str) -> str:
        return result if prompt.partition("Your part:\n")[2].startswith(what) else "FAILED: not my trade."

    return Agent(work, instructions=f"Can {what}.")


def test_subtasks_go_to_the_able_and_wait_for_what_they_need() -> None:
    planner = Scripted([plan(("add it up", [2, 3]), "count rivers", "count towns"), "Answer: 42"])
    shuffled = Scripted([plan("count rivers", "list towns", ("add it up", [1, 2])), "Answer: 42"])
    workers = [able_to("count", "17"), able_to("list", "25"), able_to("add", "42")]
    run = play(workforce.cast(planner=shuffled, coordinator=by_ability, workers=workers))
    assert edges(run) == [
        ("planner", ()),
        ("coordinator", ("1",)),
        ("workers_1", ("1",)),
        ("workers_2", ("1",)),
        ("workers_3", ("3", "4", "1")),
        ("planner", ("1", "3", "4", "5")),
    ]
    forward = play(workforce.cast(planner=planner, coordinator=by_ability, workers=workers))
    assert forward.ok  # a subtask that names later ones waits for none of them


def test_a_failed_subtask_is_planned_again_with_what_is_known_of_it() -> None:
    planner = Scripted([plan("fly there", "count towns"), plan("walk there"), "Answer: 42"])
    workers = [able_to("walk", "there"), able_to("count", "25")]
    run = play(workforce.cast(planner=planner, coordinator=by_ability, workers=workers))
    again = said_to(run, "planner")[1]
    assert "FAILED: not my trade." in again.partition("Failed:")[2]
    assert "25" in again.partition("Done:")[2].partition("Failed:")[0]
    assert run.answer == "Answer: 42"
    assert len(run.calls) == 8
    lost = play(workforce(r=1).cast(planner="sim:skill=1", coordinator="sim:skill=1", workers="sim:fail=1"))
    assert lost.error and lost.error.kind is FailureKind.NO_ANSWER


def test_workers_are_swapped_without_a_word_to_the_planner() -> None:
    def first_prompt(workers: list[Agent]) -> str:
        cast = {"planner": Scripted([plan("count"), "Answer: 1"]), "coordinator": by_ability}
        return said_to(play(workforce.cast(workers=workers, **cast)), "planner")[0]

    assert first_prompt([able_to("count", "1")]) == first_prompt(
        [able_to("count", "2"), able_to("sing", "la")]
    )


@pytest.mark.parametrize("workers", [["count", "weigh"], ["weigh", "sing", "count"]])
def test_a_planner_that_splits_by_trade_does_better_with_any_workers_that_have_the_trades(
    workers: list[str],
) -> None:
    def success(*subtasks: str) -> bool:
        planner = Scripted([plan(*subtasks)] * 3 + ["Answer: 1"])
        staff = [able_to(trade, "1") for trade in workers]
        return play(workforce.cast(planner=planner, coordinator=by_ability, workers=staff)).ok

    assert success("count them", "weigh them")
    assert not success("measure them all")


def test_only_the_planner_is_trained() -> None:
    sampled = {"ids": (1, 2), "logprobs": (-0.1, -0.2)}
    planner = Scripted([Line(plan("count"), **sampled), Line("Answer: 1", **sampled)])
    run = play(workforce.cast(planner=planner, coordinator=by_ability, workers=able_to("count", "1")))
    rows = rows_of([run.tape], {"planner": "planner"})
    assert [span.call.rpartition("/")[2] for row in rows for span in row.spans] == ["1", "4"]


# Self-organised agents


def skeleton(k: int, body: str) -> str:
    """A function that calls `k` helpers and leaves them open."""
    stubs = "".join(f'def helper_{i}():\n    """Return {i}."""\n    pass\n\n' for i in range(k))
    calls = ", ".join(f"helper_{i}()" for i in range(k))
    return f"```python\n{stubs}{body.format(calls=calls)}\n```"


def coder(k: int, faulty: int = -1) -> Callable[[str], str]:
    """Delegates one helper per number; the faulty one is mended by the report, the others stay."""

    def write(prompt: str) -> str:
        own = prompt.partition("It is called")[0]
        if "def total" not in own and (found := re.search(r"def helper_(\d+)", own)):
            i, mending = int(found[1]), "If your part is at fault" in prompt
            return f"```python\ndef helper_{i}():\n    return {i if i != faulty or mending else -1}\n```"
        return skeleton(k, "def total():\n    return sum([{calls}])")

    return write


def total(k: int, **knobs: Any) -> Any:
    tester = f"```python\nassert total() == {k * (k - 1) // 2}\n```"
    return self_organized(sandbox="monty", b=8, **knobs).cast(
        agents=coder(k, 1 if knobs["r"] else -1), tester=lambda _: tester
    )


def test_there_are_as_many_agents_as_the_program_has_functions() -> None:
    runs = {k: play(total(k, r=0), CODE) for k in (2, 4, 8)}
    for k, run in runs.items():
        assert len({call.voice for call in run.calls} - {"tester"}) == 1 + k
        assert all(f"def helper_{i}():\n    return {i}" in run.answer for i in range(k))


def test_by_the_tests_each_mends_its_own_piece_the_mother_first() -> None:
    run = play(total(3, r=2), CODE)
    assert "def helper_1():\n    return 1" in run.answer
    order = [voice for voice, _ in edges(run)]
    family = [f"agents_{i}" for i in (1, 2, 3, 4)]
    assert order == ["agents_1", "tester", *family[1:], *family]
    assert edges(run)[-1] == ("agents_4", ("5", "6", "2"))


def test_a_mother_that_opens_another_function_does_not_lose_those_of_her_children() -> None:
    first = skeleton(1, "def total():\n    return helper_0()")
    stubs = "def extra():\n    pass\n\n\ndef helper_0():\n    pass"
    more = f"```python\n{stubs}\n\n\ndef total():\n    return 7\n```"
    mother = Scripted([Line(more, match="If your part"), Line(first, match="Keep your own part short")])
    child = says("\n```python\ndef helper_0():\n    return 1\n```")
    team = self_organized(sandbox="monty", r=1).cast(
        agents=[mother, child], tester=says("\n```python\nassert 0\n```")
    )
    written = play(team, CODE).answer
    assert re.findall(r"def (\w+)", written) == ["extra", "helper_0", "total"]
    with pytest.raises(BadInput, match="at most"):
        play(team.configured(D=30), CODE)


def test_the_tree_is_no_deeper_than_it_may_be_and_what_one_agent_reads_does_not_grow_with_it() -> None:
    def deep(D: int) -> Any:
        always = skeleton(2, "x = [{calls}]")
        return self_organized(sandbox="monty", b=2, D=D, r=0).cast(agents=lambda _: always, tester=says(1))

    runs = [play(deep(D), CODE) for D in (1, 2, 3, 4)]
    assert [len(run.calls) for run in runs] == [1, 3, 7, 15]
    longest = [max(len(run.tape.path(call.prompt)[-1].text) for call in run.calls) for run in runs]
    assert longest[1] == longest[2] == longest[3]
    failing = play(total(2, r=0).cast(agents=["sim:fail=1"]), CODE)
    assert failing.error and failing.error.kind is FailureKind.NO_ANSWER


@pytest.mark.parametrize(
    ("source", "code", "stubs"),
    [
        ("def f(): pass", "", ["def f(): pass"]),
        ("def f():\n    'Doc.'\n    ...\nx = f()", "x = f()", ["def f():\n    'Doc.'\n    ..."]),
        ("@cache\ndef f():\n    raise NotImplementedError('later')\n", "", None),
        ("def f():\n    raise ValueError", "def f():\n    raise ValueError", []),
        ("def f(:", "def f(:", []),
    ],
)
def test_functions_left_open_are_told_from_those_that_are_written(
    source: str, code: str, stubs: list[str] | None
) -> None:
    piece = split(source)
    assert piece.code == code
    assert list(piece.stubs) == ([source.strip()] if stubs is None else stubs)


# Internet of Agents


def act(state: str, who: str | None, say: str) -> str:
    return json.dumps({"state": state, "next": who, "say": say})


def talk(*turns: str, members: Sequence[str], queries: str = "") -> Scripted:
    """Searches, takes some members, and speaks in this order."""
    asked = [Line(json.dumps({"queries": [queries]}), match="`queries`")] if queries else []
    chosen = Line(json.dumps({"members": list(members)}), match="`members`")
    return Scripted([*asked, chosen, *(Line(turn, match="It is your turn", times=1) for turn in turns)])


def test_those_whose_ability_is_wanted_are_found_and_given_tasks() -> None:
    trades = ["paints walls", "balances equations", "writes songs"]
    agents = [Agent(says(i), instructions=f"Somebody who {trade}.") for i, trade in enumerate(trades)]
    turns = [act("sync_task", "agents_2", "Balance it."), act("conclusion", "agents_2", "Answer: 1")]
    client = talk(*turns, members=["agents_2"], queries="an equation to balance")
    run = play(internet_of_agents(k=1).cast(client=client, agents=agents))
    assert run.answer == "Answer: 1"
    assert "equations" in said_to(run, "client")[1] and "songs" not in said_to(run, "client")[1]
    assert edges(run) == [*[("client", ())] * 3, ("agents_2", ("3",)), ("client", ("3", "4"))]


def test_whoever_gets_a_task_may_open_a_group_of_its_own() -> None:
    client = talk(
        act("sync_task", "agents_1", "Build it."),
        act("conclusion", "agents_1", "Done."),
        members=["agents_1"],
    )
    builder = talk(
        act("sync_task", "agents_2", "Lay bricks."),
        act("conclusion", "agents_2", "Built."),
        members=["agents_2"],
    )
    run = play(internet_of_agents(D=2).cast(client=client, agents=[builder, says("bricks")]))
    assert [voice for voice, _ in edges(run)] == ["client"] * 2 + ["agents_1"] * 2 + [
        "agents_2",
        "agents_1",
        "client",
    ]
    assert "agents_1 (task done): Built." in said_to(run, "client")[-1]
    flat = play(internet_of_agents(D=1, t=2).cast(client=client, agents=[builder, says("bricks")]))
    assert "agents_2" not in {voice for voice, _ in edges(flat)}


def test_a_group_goes_on_while_a_task_is_under_way_and_a_pause_waits_for_it() -> None:
    spoken = asyncio.Event()

    async def slow(_: str) -> str:
        await asyncio.wait_for(spoken.wait(), 5)
        return "the result"

    def chatter(_: str) -> str:
        spoken.set()
        return act("discussion", "client", "Meanwhile.")

    client = talk(
        act("async_task", "agents_1", "Take your time."),
        act("discussion", "agents_2", "How are you?"),
        act("pause", "agents_1", "Let us wait."),
        members=["agents_1", "agents_2"],
    )

    async def worker(prompt: str) -> str:
        if "It is your turn" not in prompt:
            return await slow(prompt)
        assert "agents_1 (task done): the result" in prompt
        return act("conclusion", "client", "Answer: 42")

    run = play(internet_of_agents.cast(client=client, agents=[worker, chatter]))
    assert run.answer == "Answer: 42"
    assert "Tasks under way: agents_1" in said_to(run, "agents_2")[0]


@pytest.mark.parametrize("following", [None, "client", "agents_1"])
@pytest.mark.parametrize("state", ["discussion", "sync_task", "async_task", "pause"])
def test_whoever_names_nobody_is_followed_by_the_next_in_turn(state: str, following: str | None) -> None:
    turns = [act(state, following, "Go on."), act("conclusion", following, "Answer: 42")]
    client = talk(*turns, members=["agents_1", "agents_2"])

    async def next_in_turn(prompt: str) -> str:
        return turns[1] if "It is your turn" in prompt else "Answer: 1"

    run = play(internet_of_agents.cast(client=client, agents=[next_in_turn, says(7)]))
    assert run.answer == "Answer: 42"
    assert {call.voice for call in run.calls} <= {"client", "agents_1"} and len(run.calls) <= 4
    if state == "async_task":
        assert "Tasks under way: agents_1" in said_to(run, "client")[-1]
    else:
        assert "agents_1" in {call.voice for call in run.calls}


def test_a_turn_may_leave_out_who_is_next() -> None:
    client = talk('{"state": "conclusion", "say": "Answer: 42"}', members=["agents_1"])
    run = play(internet_of_agents.cast(client=client, agents=says(1)))
    assert (run.answer, len(run.calls)) == ("Answer: 42", 2)


def test_a_conclusion_calls_off_the_tasks_under_way_but_hides_no_bug_in_them() -> None:
    async def client(prompt: str) -> str:
        if "`members`" in prompt:
            return json.dumps({"members": ["agents_1"]})
        if "Tasks under way: (nothing)" in prompt:
            return act("async_task", "agents_1", "Begin.")
        await asyncio.sleep(0.01)
        return act("conclusion", None, "Answer: 42")

    async def endless(_: str) -> str:
        await asyncio.sleep(60)
        return "too late"

    def buggy(_: str) -> str:
        raise ZeroDivisionError

    team = internet_of_agents.cast(client=client)
    run = play(team.cast(agents=endless))
    assert run.answer == "Answer: 42"
    called_off = [call.failure.kind for call in run.calls if call.failure]
    assert called_off == [FailureKind.CANCELLED]
    with pytest.raises(ZeroDivisionError):
        play(team.cast(agents=buggy))


STATES = ["discussion", "sync_task", "async_task", "pause", "conclusion"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*STATES, "nonsense"]), max_size=12), st.integers(2, 8))
def test_every_conversation_ends(states: list[str], t: int) -> None:
    moves = iter(states)

    def anybody(prompt: str) -> str:
        if "`members`" in prompt:
            return json.dumps({"members": re.findall(r"^- (\w+):", prompt, re.MULTILINE)})
        other = re.search(r"^- (\w+):", prompt, re.MULTILINE)
        return act(next(moves, "sync_task"), other[1], "Go on.") if other else "Answer: 42"

    team = internet_of_agents(t=t)
    run = play(team.cast(client=Agent(anybody, repairs=0), agents=[Agent(anybody, repairs=0)] * 2))
    assert run.ok
    assert len(run.calls) <= 2 * t + 3
