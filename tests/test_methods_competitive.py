"""Competitive debate with its ratings, and the panel that judges replies with its evidence and its guard."""

import json
import re
from itertools import pairwise, permutations
from math import log10
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import edges, play, play_all, said_to, says
from voices import review

from motet import Run, Task
from motet.errors import BadInput
from motet.methods import agent4debate, distil, elo_ratings, evidence, jail_judge, verdict, winner
from motet.methods.discuss.evidence import Mass, combine, mass
from motet.types import FailureKind

MOTION = Task("Cats make better pets than dogs.")
DOCUMENTS = [
    ("Cats", "Cats are quiet pets and clean themselves."),
    ("Dogs", "Dogs are loud pets and need walks."),
    ("Fish", "Carp live in ponds."),
]
ROLES = ["SAWR", "AWR", "SWR", "SAW", "W"]


def searcher(_: str) -> str:
    return json.dumps({"queries": ["quiet cats"]})


def writer(said: str) -> str:
    """Cites what it was given, makes the points it was told to, and mends what a reviewer complains of."""
    cited = [f"[{title}]" for title in re.findall(r"^(?:\[\d+\] )*\[1\] (\w+) \(score", said, re.M)]
    point = "The point." if "Make the point." in said else ""
    return " ".join(["Speech.", *cited[:1], point, "Mended." if "Mend it." in said else ""])


def reviewer(said: str) -> str:
    return json.dumps({"feedback": "Mend it.", "finished": "Mended." in said.rpartition("Draft of")[2]})


def judge(said: str) -> str:
    speech = said.rpartition("The speech of the")[2].partition("Mark this speech")[0]
    marks = {"argument": "The point.", "source": "[Cats]", "language": "Mended."}
    return json.dumps({name: 8 if sign in speech else 3 for name, sign in marks.items()})


CREW: dict[str, Any] = {
    "searchers": searcher,
    "analyzers": lambda _: "Make the point.",
    "writers": writer,
    "reviewers": reviewer,
    "judge": judge,
}


def match(affirmative: str = "SAWR", negative: str = "SAWR", R: int = 1, **cast: Any) -> Run:
    team = agent4debate(R=R, documents=DOCUMENTS, affirmative=affirmative, negative=negative)
    return play(team.cast(**(CREW | cast)), MOTION)


def side(run: Run, number: int) -> list[tuple[str, tuple[str, ...]]]:
    return [edge for edge in edges(run) if edge[0].endswith(str(number))]


def test_a_side_works_in_the_order_that_the_stage_wants() -> None:
    run = match(R=0)
    initials = "".join(voice[0] for voice, _ in side(run, 1))
    assert initials == "saw" + "asw" + "aw"
    assert initials == "".join(voice[0] for voice, _ in side(run, 2))
    assert [call.voice for call in run.calls[-6:]] == ["judge"] * 6
    assert [tool.name for tool in run.tape.tools] == ["search"] * 4


def test_sides_read_each_other_after_each_stage_and_keep_their_material_to_themselves() -> None:
    run = match("W", "AW", R=0)
    assert [(voice[:-2], parents) for voice, parents in edges(run)[:-6]] == [
        ("writers", ()),
        ("analyzers", ()),
        ("writers", ("2",)),
        ("writers", ("1", "3")),
        ("analyzers", ("2", "1", "3")),
        ("writers", ("2", "5", "1", "3")),
        ("writers", ("1", "3", "4", "6")),
        ("analyzers", ("2", "5", "1", "3", "4", "6")),
        ("writers", ("2", "5", "8", "1", "3", "4", "6")),
    ]
    assert edges(run)[-1] == ("judge", ("1", "3", "4", "6", "9"))


def test_speeches_cite_what_the_search_found_and_a_rejected_draft_is_written_again() -> None:
    run = match()
    assert "[Cats]" in run.answer and "Mended." in run.answer
    assert "Cats are quiet pets" in said_to(run, "writers_1")[0]
    voices = [voice for voice, _ in side(run, 1)]
    assert voices[:5] == ["searchers_1", "analyzers_1", "writers_1", "reviewers_1", "writers_1"]
    content = match(reviewers=lambda _: json.dumps({"feedback": "", "finished": True}), R=3)
    assert len([voice for voice, _ in side(content, 1) if voice == "writers_1"]) == 3
    assert "Cats are quiet" not in said_to(match("AWR"), "writers_1")[0]


def test_the_whole_team_is_rated_above_each_team_that_lacks_a_role_and_above_a_single_prompt() -> None:
    games = [(a, b, float(winner(match(a, b).tape) == "affirmative")) for a, b in permutations(ROLES, 2)]
    ratings = elo_ratings(games)
    assert next(iter(ratings)) == "SAWR" and list(ratings)[-1] == "W"
    assert all(ratings["SAWR"] - ratings[less] > 100 for less in ROLES[1:])


def test_who_is_silent_loses_a_draw_goes_to_the_negative_and_two_silent_sides_fail() -> None:
    assert winner(match("SAWR", "W").tape) == "affirmative"
    assert winner(match("SAWR", "SAWR").tape) == "negative"
    silent = match(writers=["sim:fail=1", writer])
    assert winner(silent.tape) == "negative" and "writers_1" not in [c.voice for c in silent.calls if c.node]
    nobody = match(writers="sim:fail=1")
    assert winner(nobody.tape) is None
    assert nobody.error and nobody.error.kind is FailureKind.NO_ANSWER
    with pytest.raises(BadInput, match="affirmative='SA'"):
        match("SA")


def test_a_side_that_no_judge_has_marked_has_not_lost_by_it() -> None:
    def marks_only(sign: str) -> Any:
        return lambda said: judge(said) if sign in said else "Well done."

    assert winner(match("W", "SAWR", judge=marks_only("speech of the negative:")).tape) == "negative"
    shy = match("SAWR", "W", judge=marks_only("speech of the affirmative:"))
    assert winner(shy.tape) == "negative", "nothing to compare with: a draw"
    first = match("SAWR", "W", judge=marks_only("before this speech:\n\n\n\n"))
    assert winner(first.tape) == "affirmative", "one speech with marks is enough"


def test_a_team_may_sit_in_a_seat_of_a_side() -> None:
    teams = [review(rounds=1).cast(writer=writer, critic=says("Well.")) for _ in range(2)]
    assert winner(match("W", "SAWR", writers=teams).tape) == "negative"
    run = match("SAWR", "W", writers=teams)
    assert winner(run.tape) == "affirmative" and "writers_1/critic" in {call.voice for call in run.calls}


def test_documents_come_with_the_motion() -> None:
    motion = Task(MOTION.prompt, meta={"documents": [list(pair) for pair in DOCUMENTS]})
    run = play(agent4debate.cast(**CREW), motion)
    assert "[Cats]" in run.answer and len(run.calls) == len(match().calls)


def test_ratings_settle_along_a_chain_of_players() -> None:
    players = [f"{i:02}" for i in range(13)]
    pairs = list(pairwise(players))
    games = [(a, b, 1.0) for a, b in pairs for _ in range(270)] + [
        (b, a, 1.0) for a, b in pairs for _ in range(30)
    ]
    ratings = elo_ratings(games, prior=1e-6)
    steps = [ratings[a] - ratings[b] for a, b in pairs]
    assert steps == pytest.approx([400 * log10(9)] * 12, abs=0.01), "nine to one, at each step"
    apart = elo_ratings([("a", "b", 1.0), ("c", "d", 1.0)])
    assert apart["a"] == pytest.approx(apart["c"]) and sum(apart.values()) / 4 == pytest.approx(1000)


def test_elo_finds_the_odds_behind_the_results() -> None:
    games = [("a", "b", 1.0)] * 60 + [("b", "a", 1.0)] * 6 + [("b", "c", 0.5)] * 20
    ratings = elo_ratings(games, prior=1e-6)
    assert ratings["a"] - ratings["b"] == pytest.approx(400, abs=1)
    assert ratings["b"] - ratings["c"] == pytest.approx(0, abs=1)
    assert sum(ratings.values()) / 3 == pytest.approx(1000)
    assert elo_ratings([("a", "b", 1.0)])["a"] < 1200, "one game won is no proof"
    assert elo_ratings([]) == {}
    with pytest.raises(BadInput, match="score=2"):
        elo_ratings([("a", "b", 2)])


SCORES = st.lists(st.integers(1, 10), min_size=1, max_size=6)
MASSES = st.builds(mass, st.integers(1, 10), st.floats(0.01, 1))


def total(belief: Mass) -> float:
    return belief.jailbroken + belief.safe + belief.either


def test_evidence_is_combined_by_the_numbers_of_the_rule() -> None:
    assert (mass(8).jailbroken, mass(8).safe, mass(8).either) == pytest.approx((0.72, 0.18, 0.1))
    both = combine(mass(8), mass(8))
    assert both.jailbroken == pytest.approx((0.72 * 0.72 + 2 * 0.72 * 0.1) / (1 - 2 * 0.72 * 0.18))
    said = evidence([8, 2, 9])
    assert (said.score, said.nearest) == (8, 0)
    assert evidence([4]).score == 4 and evidence([1, 1, 1]).score == 1
    assert evidence([9, 9]).conflict < evidence([9, 1]).conflict
    for bad in ([], [11]):
        with pytest.raises(BadInput, match="score"):
            evidence(bad)


@given(MASSES, MASSES, MASSES)
def test_the_rule_keeps_the_whole_and_takes_evidence_in_any_order(a: Mass, b: Mass, c: Mass) -> None:
    assert total(combine(a, b)) == pytest.approx(1)
    left, right = combine(combine(a, b), c), combine(c, combine(b, a))
    assert (left.jailbroken, left.safe) == pytest.approx((right.jailbroken, right.safe))
    ignorance = Mass(0, 0, 1)
    assert combine(a, ignorance) == Mass(*map(pytest.approx, (a.jailbroken, a.safe, a.either)))


@given(SCORES)
def test_the_combined_score_stays_on_the_scale(scores: list[int]) -> None:
    assert 1 <= evidence(scores).score <= 10
    assert 0 <= evidence(scores).nearest < len(scores)


def safety(points: int, why: str = "Because.") -> Any:
    return lambda _: json.dumps({"reason": why, "safety": points})


def accepts(_: str) -> str:
    return json.dumps({"reason": "It is so.", "accept": True})


def panel(task: Task | None = None, **cast: Any) -> Run:
    voices = {
        "responder": says(42),
        "judges": safety(10),
        "voters": accepts,
        "inference": safety(10, "Fine."),
    }
    given = {**voices, **cast}
    return play(
        jail_judge(k=3, v=2).cast(**given), task or Task("What is 17 + 25?", target="42", kind="number")
    )


def test_each_tier_reads_the_one_before_and_the_reply_itself() -> None:
    run = panel(judges=[safety(9, "A."), safety(3, "B."), safety(9, "C.")])
    judges = [(f"judges_{i}", ("1",)) for i in (1, 2, 3)]
    voters = [(f"voters_{i}", ("2", "1")) for i in (1, 2)]
    assert edges(run) == [("responder", ()), *judges, *voters, ("inference", ("2", "5", "6", "1"))]
    assert "A." in said_to(run, "voters_1")[0] and "For: It is so." in said_to(run, "inference")[0]
    assert run.answer == "Answer: 42"
    assert (found := verdict(run.tape)) and (found.score, found.explanation) == (1, "Fine.")


def test_a_reply_that_breaks_the_rules_is_held_back_with_the_reason() -> None:
    bad = panel(inference=safety(1, "It tells how to do harm."))
    assert bad.answer == "I cannot help with that. It tells how to do harm."
    recorded = panel(Task("Hello.", meta={"response": "Good day."}))
    assert recorded.answer == "Good day." and "responder" not in {call.voice for call in recorded.calls}
    unconcluded = panel(judges=safety(2, "Harm."), inference="sim:fail=1", voters="sim:fail=1")
    assert (found := verdict(unconcluded.tape)) and (found.score, found.explanation) == (10, "Harm.")
    assert unconcluded.answer.endswith("Harm.")
    unjudged = panel(judges="sim:fail=1")
    assert unjudged.error and unjudged.error.kind is FailureKind.NO_ANSWER and verdict(unjudged.tape) is None


def exchanges(n: int) -> list[Task]:
    """Recorded exchanges, every second of which does harm; the first word of its reply tells."""
    replies = ("Sure, mix the poison", "Sorry, I shall not mix")
    return [Task(f"Request {i}", meta={"response": f"{replies[i % 2]} for case {i}."}) for i in range(n)]


def noisy(seed: int) -> Any:
    """A judge that is wrong one time in four, differently from the others."""

    def answer(said: str) -> str:
        flipped = Random(f"{seed} {said}").random() < 0.25
        return safety(2 if ("the poison" in said) != flipped else 9)(said)

    return answer


def concludes(said: str) -> str:
    found = re.search(r"below (\d+) of 10", said)
    return safety(int(found[1]) if found else 1)(said)


def f1(k: int, tasks: list[Task]) -> tuple[float, list[tuple[str, int]]]:
    judges = [noisy(seed) for seed in range(k)]
    runs = play_all(
        jail_judge(k=k).cast(responder=says(1), judges=judges, voters=accepts, inference=concludes), tasks
    )
    scores = [found.score for run in runs if (found := verdict(run.tape))]
    harmful = [i % 2 == 0 for i in range(len(tasks))]
    hits = sum(h and s >= 5 for h, s in zip(harmful, scores, strict=True))
    shown = [(str(task.meta["response"]), s) for task, s in zip(tasks, scores, strict=True)]
    return 2 * hits / (sum(harmful) + sum(s >= 5 for s in scores)), shown


def test_a_panel_of_noisy_judges_beats_one_and_its_guard_stops_attacks_it_has_not_seen() -> None:
    tasks = exchanges(100)
    (alone, _), (together, judged) = f1(1, tasks), f1(5, tasks)
    assert together - alone > 0.1
    guard = distil(judged[:60])
    attacks, harmless = [[text for text, _ in judged[60 + i :: 2]] for i in (0, 1)]
    assert sum(guard.risk(text) < 0.5 for text in attacks) < 0.1 * len(attacks)
    assert sum(guard.risk(text) < 0.5 for text in harmless) > 0.9 * len(harmless)
    for bad in ([], [("text", 0)]):
        with pytest.raises(BadInput):
            distil(bad)
