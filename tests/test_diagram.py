"""Who speaks to whom, as drawn: read off real runs, and the cards say the same."""

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from motet.cli import main
from motet.evals.lab import sweep
from motet.evals.lab.card import MEASURED, answers_when_able, head, measured, preparing, section
from motet.evals.lab.subject import subject
from motet.evals.lab.words import gained
from motet.methods import METHODS
from motet.viewer.diagram import Diagram, diagram
from motet.viewer.lanes import lanes, mermaid

CARDS = Path(__file__).parent.parent / "docs" / "methods"


def drawn(name: str, **knobs: object) -> Diagram:
    return diagram(subject(name, **knobs).show().tape)


def lines(name: str, **knobs: object) -> list[str]:
    return [line.rstrip() for line in lanes(drawn(name, **knobs)).plain.splitlines()[:-1]]


def test_rounds_of_a_debate_are_one_row() -> None:
    assert lines("debate", n=4, r=3) == [
        "     debaters",
        "  1  ○     debaters ×4",
        "2–4  ●     debaters ×4 read their own and 3 others",
        "     ╰───▶ answer of debaters ×4",
    ]
    [first, rest] = drawn("debate", r=3).rows
    assert (first.sources, rest.sources, rest.steps) == ((), (0, 1), (2, 3, 4))


def test_turns_that_alternate_are_told_once() -> None:
    made = drawn("self_refine", r=3)
    alternating = [row for row in made.rows if len(row.steps) > 1]
    assert [row.voice for row in alternating] == ["critic", "writer"]
    assert all(b - a == 2 for row in alternating for a, b in zip(row.steps, row.steps[1:], strict=False))
    assert "  ├──▶◆     critic reads writer" in "\n".join(lines("self_refine", r=3))


def test_an_arrow_crosses_the_lanes_between() -> None:
    page = "\n".join(lines("smoa"))
    assert "├───│──▶◆" in page
    assert "├──────────▶●" in page


def test_what_is_only_later_is_dotted() -> None:
    """The strong voice of a cascade is asked after the weak ones, but reads nothing of theirs."""
    made = drawn("cascade")
    assert [(row.steps, row.calls, row.sources) for row in made.rows] == [((1,), 5, ()), ((2,), 1, ())]
    assert "s0 -.-> s1" in mermaid(made)
    assert made.edges[-1] == {"from": "strong", "to": "answer", "step": 3, "replies": 1, "calls": 0}


@pytest.mark.parametrize("name", ["internet_of_agents", "magentic_one", "workforce", "agent_store"])
def test_a_group_is_drawn_with_several_members(name: str) -> None:
    run = subject(name).show()
    members = {call.voice for call in run.calls if re.search(r"_\d$", call.voice)}
    assert run.ok and len(members) >= 2


def test_a_repository_is_mended_in_two_ways_that_are_debated() -> None:
    there = subject("swe_search")
    assert set(drawn("swe_search").voices) == {"programmer", "valuer", "discriminators", "judge"}
    run = there.show()
    argued = next(call for call in run.calls if call.voice == "judge")
    patches = set(re.findall(r"\+    return (\d+)", run.tape.path(argued.prompt)[-1].text))
    assert len(patches) == 2
    assert answers_when_able(there)


def test_what_is_drawn_shows_who_can_speak_and_who_is_heard() -> None:
    assert set(drawn("chase_sql").voices) == {"generator", "fixer", "selector"}
    made = drawn("knapsack_composer")
    heard = [edge for edge in made.edges if (edge["from"], edge["to"]) == ("agents", "composer")]
    assert heard and made.edges[-1]["from"] == "composer"


def test_code_in_a_docstring_stays_code() -> None:
    ready = {name for name, method in METHODS.items() if preparing(method)}
    assert {"agent_store", "focal_fusion", "free_agents", "improper_mixture"} <= ready
    assert {"llm_selector", "mas_router"} <= ready
    for name in ready:
        lines = preparing(METHODS[name])
        ast.parse(lines)
        assert f"## Preparing it\n\n```py\n{lines}\n```\n\n## Who speaks" in head(name)
        assert section(METHODS[name], "Failure").endswith(".") and " = " not in section(
            METHODS[name], "Failure"
        )
    assert "Preparing" not in head("debate") and not preparing(METHODS["debate"])


def test_a_card_says_what_its_method_learnt_on() -> None:
    words = measured(sweep("free_agents", items=2), subject("free_agents"))
    assert "made ready in each world on 48 other items: play a `season` with" in words
    assert "made ready" not in measured(sweep("debate", items=2), subject("debate"))
    assert "for all rows together" in words and "| tokens |" in words


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_a_terminal_and_its_edges_are_those_of_the_run(name: str) -> None:
    run = subject(name).show()
    made = diagram(run.tape)
    page = lanes(made, 100).plain
    assert max(map(len, page.splitlines())) <= 100
    assert sum(row.calls * len(row.steps) for row in made.rows) == len(run.calls) == made.calls
    shown = [edge for edge in made.edges if edge["to"] != "answer"]
    assert sum(edge["replies"] for edge in shown) == sum(len(call.parents) for call in run.calls)
    assert {edge["from"] for edge in made.edges} <= {"task", *made.voices}
    assert not re.search(r"[^\S\n ]", page)


def test_the_command_draws_and_gives_the_edges() -> None:
    told = CliRunner().invoke(main, ["methods", "debate"]).stdout
    assert "debaters ×3 read their own and 2 others" in told
    assert "arXiv:2305.14325" in told and "≤ n * (r + 1)" in told
    found = json.loads(CliRunner().invoke(main, ["methods", "debate", "--json"]).stdout)
    assert found["edges"][1] == {"from": "debaters", "to": "debaters", "step": 2, "replies": 9, "calls": 3}


@pytest.mark.parametrize("name", METHODS)
def test_a_card_says_what_the_method_is_and_does(name: str) -> None:
    """`make docs` writes the cards; figures are looked at for one method only, below."""
    said = (CARDS / f"{name}.md").read_text()
    assert said.startswith(head(name) + MEASURED), "run `make docs`"
    assert "<!-- measured " in said


def test_there_is_a_card_for_each_method_and_no_other() -> None:
    assert {path.stem for path in CARDS.glob("*.md")} == METHODS.keys()


def test_a_figure_of_a_card_is_the_one_measured_again() -> None:
    [cell] = sweep("best_of_n", judge=0.9).cells
    found = re.search(r"\| judge 0.9 \| .* \| (\S+) \(.*?\) \|(.*?)\|", (CARDS / "best_of_n.md").read_text())
    assert found and found[1] == gained(cell.gain).split()[0]
    assert found[2].strip() == f"{100 * cell.method.mean:.1f}%"
