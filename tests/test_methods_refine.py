"""Stopping when the vote is certain, answering from evidence, and refining within a hierarchy."""

import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import accuracy, edges, noise, play, play_all, said_to, says, sums

from motet import Task
from motet.errors import BadInput, UnknownName
from motet.methods import adaptive_consistency, chain_of_thought, e2g, self_consistency, talkhier
from motet.methods.aggregate.adaptive_consistency import beta_certainty, dirichlet_certainty
from motet.models.scripted import Line, Scripted
from motet.types import FailureKind

# ---- Adaptive-Consistency


def test_the_certainty_of_a_vote_is_the_upper_half_of_a_beta() -> None:
    assert [beta_certainty([v]) for v in (1, 2, 3, 4)] == [0.75, 0.875, 0.9375, 0.96875]
    assert beta_certainty([3, 3]) == 0.5 == beta_certainty([])
    assert beta_certainty([4, 1]) == pytest.approx(57 / 64)  # P(at most 4 heads in 6 flips)


@given(st.lists(st.integers(0, 12), min_size=2, max_size=5))
def test_the_dirichlet_rule_agrees_with_drawing_and_doubts_more_the_more_rivals_there_are(
    votes: list[int],
) -> None:
    certainty = dirichlet_certainty(votes)
    top = sorted(votes, reverse=True)
    assert dirichlet_certainty(top[:2]) == pytest.approx(beta_certainty(votes), abs=1e-5)
    assert certainty <= beta_certainty(votes) + 1e-5
    rng, drawn = Random(0), 600
    shares = [[rng.gammavariate(v + 1, 1) for v in top] for _ in range(drawn)]
    assert abs(certainty - sum(s[0] == max(s) for s in shares) / drawn) < 0.1


def test_four_of_one_mind_are_enough_and_a_dissenter_costs_three_more() -> None:
    assert len(play(adaptive_consistency.cast(says(42))).calls) == 4
    wavering = Scripted(["Answer: 7", *["Answer: 42"] * 9])
    run = play(adaptive_consistency.cast(wavering))
    assert (run.answer, len(run.calls)) == ("42", 1 + 6)
    assert run.tape.ended and run.tape.ended.parents == tuple("234567")
    several = Scripted(["Answer: 7", "Answer: 8", *["Answer: 42"] * 9])
    assert len(play(adaptive_consistency(rule="dirichlet").cast(several)).calls) > 2 + 6


def test_samples_are_drawn_one_by_one_and_those_that_fail_have_no_vote() -> None:
    broken = Scripted([Line("", error="timeout", match="17", times=2), Line("Answer: 42", match="17")])
    assert len(play(adaptive_consistency.cast(broken)).calls) == 2 + 4
    mumbling = play(adaptive_consistency(n=3).cast(lambda _: "I do not know."))
    assert mumbling.error and mumbling.error.kind is FailureKind.NO_ANSWER
    dead = play(adaptive_consistency(n=3).cast("sim:fail=1"))
    assert dead.error and dead.error.kind is FailureKind.NO_ANSWER and len(dead.calls) == 3
    with pytest.raises(UnknownName, match="beta"):
        play(adaptive_consistency(rule="gamma").cast("sim:skill=1"))


def test_it_is_as_right_as_self_consistency_for_far_fewer_calls_and_spends_them_on_what_is_hard() -> None:
    tasks = [Task(t.prompt, t.target, kind=t.kind, meta={"skill": s}) for t in sums(60) for s in ("a", "b")]
    voice = "sim:skill.a=0.95,skill.b=0.6"
    runs = play_all(adaptive_consistency(n=20).cast(voice), tasks)
    easy, hard = (sum(len(run.calls) for run in runs[start::2]) / (len(runs) / 2) for start in (0, 1))
    assert easy < 6 < hard < 15
    adaptive = accuracy(adaptive_consistency(n=20).cast(voice), tasks)
    fixed = accuracy(self_consistency(n=20).cast(voice), tasks)
    assert fixed - adaptive < 0.05


# ---- Evidence to Generate

WHO = ["ann", "bob", "cyd", "dan", "eve", "fay"]
COLOURS = ["red", "old", "big", "odd", "new", "tin"]


def stories(n: int) -> list[Task]:
    """Who has the key? One sentence says it, five speak of other keys."""
    tasks = []
    for i in range(n):
        rng = Random(i)
        names = rng.sample(WHO, 6)
        lines = [f"{name} has the {colour} key." for name, colour in zip(names, COLOURS, strict=True)]
        context = rng.sample(lines, 6)
        tasks.append(
            Task("Who has the red key?", target=names[0], meta={"context": context, "gold": lines[0]})
        )
    return tasks


def reader(said: str) -> str:
    """Answers from any sentence about a key that it sees; in evidence it can find the red one."""
    shown = re.findall(r"(\w+) has the (\w+) key\.", said)
    pick = Random(said).choice(shown)
    if "Generate the answer with evidence" in said:
        red = next(f"{name} has the red key." for name, colour in shown if colour == "red")
        return f"Evidence:\n{red}\nAnswer: {pick[0]}"
    return f"Answer: {pick[0]}"


def test_two_calls_the_second_sees_the_evidence_and_not_the_context() -> None:
    (task,) = stories(1)
    run = play(e2g.cast(reader), task)
    assert edges(run) == [("solver", ()), ("solver", ("1",))]
    first, second = said_to(run, "solver")
    assert all(line in first for line in task.meta["context"])
    assert [line for line in task.meta["context"] if line in second] == [task.meta["gold"]]
    assert run.answer == f"Answer: {task.target}"
    (_, both) = said_to(play(e2g(both=True).cast(reader), task), "solver")
    assert all(line in both for line in task.meta["context"])


@pytest.mark.parametrize(
    "said",
    [
        "evidence: {}\nFinal answer: 42",
        "Evidence: {} \\boxed{{42}}",
        "## Evidence\n{}\n\nTherefore, the answer is 42.",
        "**Evidence:** {} Answer: 42",
        "Evidence and explanation:\n{}\n__Final Answer__: 42\nExplanation: it is 42.",
        "Answer: 42\nEVIDENCE: {}",
        "<think>Evidence: 42?</think>{}\n#### 42",
    ],
)
def test_the_first_answer_is_cut_off_the_evidence_however_it_is_marked(said: str) -> None:
    fact = "Ann has three keys, as the answering machine says."
    run = play(e2g.cast(lambda _: said.format(fact)), Task("How many keys?", target="3", kind="number"))
    second = said_to(run, "solver")[1]
    assert f"Evidence:\n{fact}\n\nQuestion:" in second and "42" not in second


def test_evidence_frees_an_answer_from_what_distracts() -> None:
    tasks = stories(60)
    alone = [Task("\n".join([*t.meta["context"], t.prompt]), t.target) for t in tasks]
    assert accuracy(e2g.cast(reader), tasks) == 1.0
    assert accuracy(chain_of_thought.cast(reader), alone) < 1 / 6 + noise(1 / 6, 60)


def test_a_first_answer_stands_when_the_second_call_fails_and_contexts_must_be_text() -> None:
    once = Scripted([Line("Evidence: x\nAnswer: 42", match="Generate"), Line(error="server", match="")])
    assert play(e2g.cast(once)).answer.endswith("Answer: 42")
    (task,) = stories(1)
    _, shown_again = said_to(play(e2g.cast(lambda _: "Answer: dan"), task), "solver")
    assert all(line in shown_again for line in task.meta["context"]), "no evidence: the context once more"
    assert "Answer: dan" not in shown_again and "(none was given)" in shown_again
    torn = Scripted([Line("Evidence: x\nAnswer: 42", match="Generate"), Line("I do not know.", match="")])
    assert play(e2g.cast(torn)).answer.endswith("Answer: 42"), "what can be read stands"
    with pytest.raises(BadInput, match=r"task.meta\['context'\]"):
        play(e2g.cast(reader), Task("Who?", meta={"context": 7}))


# ---- TalkHier

PARTS = ("north", "south", "west")


def letter(message: str) -> str:
    return json.dumps({"message": message, "background": "A house.", "intermediate_output": "so far"})


def relay(said: str) -> str:
    """A supervisor: passes on which parts it hears are wrong."""
    return letter(
        "Mend: " + " ".join(sorted(set(re.findall(r"wrong: (\w+)", said)))) if "wrong:" in said else "Go."
    )


def lead(said: str) -> str:
    if "Your evaluators say" not in said:
        return letter("Look closely.")
    wrong = sorted(set(re.findall(r"wrong: (\w+)", said)))
    return json.dumps(
        {"feedback": " ".join(f"wrong: {w}" for w in wrong) or "fine", "score": 1 - len(wrong) / 3}
    )


def builder(said: str) -> str:
    """Gets everything wrong; mends what its orders name."""
    mended = re.findall(r"Message: Mend: ([\w ]+)", said)
    good = set(mended[-1].split()) if mended else set()
    return "Answer: " + " ".join(part if part in good else "-" for part in PARTS)


def looker(part: str) -> object:
    """An evaluator with an eye for one part only."""

    def evaluate(said: str) -> str:
        wrong = part not in said.rpartition("\nAnswer:\n")[2]
        return json.dumps({"feedback": f"wrong: {part}" if wrong else "fine", "score": float(not wrong)})

    return evaluate


HOUSE = Task("Name the sides.", target="north south west")
CAST = {
    "supervisor": relay, "writer": builder, "lead": lead, "evaluators": [looker(part) for part in PARTS],
}  # fmt: skip


def test_evaluators_speak_to_the_lead_alone_and_the_writer_hears_the_supervisor_alone() -> None:
    run = play(talkhier(T=2).cast(**CAST), HOUSE)
    assert run.answer == "Answer: north south west"
    speakers = {call.id: call.voice for call in run.calls}
    heard: dict[str, set[str]] = {}
    for call in run.calls:
        heard.setdefault(call.voice, set()).update(speakers[p] for p in call.parents)
    crowd = {f"evaluators_{i}" for i in (1, 2, 3)}
    assert heard["writer"] - {"writer"} == {"supervisor"}
    assert heard["supervisor"] - {"supervisor"} == {"writer", "lead"}
    assert heard["lead"] - {"lead"} == {"supervisor", "writer", *crowd}
    assert all(heard[e] - {e} == {"lead", "writer"} for e in crowd)


def test_it_ends_at_the_threshold_and_each_field_of_a_message_counts() -> None:
    assert len(play(talkhier(T=5).cast(**CAST), HOUSE).calls) == 2 + (6 + 2) + 6
    easy = play(talkhier(T=5, threshold=0.0).cast(**CAST), HOUSE)
    assert (easy.answer, len(easy.calls)) == ("Answer: - - -", 2 + 6)
    mute = play(talkhier(T=2, fields="BI").cast(**CAST), HOUSE)
    assert mute.answer == "Answer: - - -" and "Background: A house." in said_to(mute, "writer")[0]
    with pytest.raises(BadInput, match="MBI"):
        play(talkhier(fields="X").cast(**CAST), HOUSE)


def test_what_stands_when_somebody_in_the_hierarchy_fails() -> None:
    dead = "sim:fail=1"
    for voice in ("supervisor", "lead", "evaluators"):
        run = play(talkhier.cast(**{**CAST, voice: dead}), HOUSE)
        assert run.ok and run.answer == "Answer: - - -", voice
    some = [looker("north"), dead, looker("west")]
    assert play(talkhier(T=1).cast(**{**CAST, "evaluators": some}), HOUSE).answer == "Answer: north - west"
    garbled = play(talkhier.cast(**{**CAST, "lead": lambda _: "Good work!"}), HOUSE)
    assert garbled.answer == "Answer: - - -"
    first = play(talkhier.cast(**{**CAST, "writer": dead}), HOUSE)
    assert first.error and first.error.kind is FailureKind.SERVER
