"""MALT, RISE, Re-ReST and Optima on scripted teams whose truth is known."""

from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_runs import SUM, play, says

import motet
from motet.errors import BadInput
from motet.models.scripted import Line, Scripted
from motet.tape import Scored
from motet.train.builders.malt import malt, malt_tree, node_values
from motet.train.builders.optima import optima
from motet.train.builders.rerest import rerest, rerest_rollout
from motet.train.builders.rise import rise, rise_rollout

RIGHT, WRONG = "Answer: 42", "Answer: 41"


def trained(built: object, voice: str) -> list[str]:
    """What is trained on, for a voice."""
    return [
        m.text
        for e in built.of(voice).sft  # type: ignore[attr-defined]
        for m, on in zip(e.messages, e.trained, strict=True)
        if on
    ]


def tree(leaves: str, n: int = 2) -> motet.Run:
    """A MALT tree whose leaves are right where there is an R; they come in the order of their parents."""
    replies = [f"{RIGHT if leaf == 'R' else WRONG} ({i})" for i, leaf in enumerate(leaves)]
    return play(
        malt_tree(n=n).cast(
            generator=Scripted([f"draft {i}" for i in range(n)]),
            verifier=Scripted([f"check {i}" for i in range(n * n)]),
            refiner=Scripted(replies),
        )
    )


# MALT


def test_malt_backs_up_the_means_of_the_children():
    run = tree("RRRWWWRW")
    values = node_values(run.tape)
    by_voice = {v: [values[c.id] for c in run.calls if c.voice == v] for v in ("generator", "verifier")}
    assert by_voice == {"generator": [0.75, 0.25], "verifier": [1.0, 0.5, 0.0, 0.5]}


def test_malt_positives_are_above_a_half_and_pairs_share_their_parent():
    built = malt([tree("RRRWWWRW").tape])
    assert trained(built, "generator") == ["draft 0"]
    assert trained(built, "verifier") == ["check 0"]  # a value of exactly a half is not positive
    assert [t[:10] for t in trained(built, "refiner")] == [RIGHT] * 4
    assert [(p.voice, p.chosen.text, p.rejected.text) for p in built.dpo] == [
        ("verifier", "check 0", "check 1"),
        ("refiner", f"{RIGHT} (2)", f"{WRONG} (3)"),
        ("refiner", f"{RIGHT} (6)", f"{WRONG} (7)"),
    ]
    assert "draft 0" in built.dpo[0].prompt[-1].text and "check 1" in built.dpo[1].prompt[-1].text
    assert {p.gap for p in built.dpo} == {0.5, 1.0}
    assert len(malt([tree("RRRWWWRW").tape], paired=("generator",)).dpo) == 1


@settings(max_examples=15, deadline=None)
@given(st.data(), st.integers(1, 3))
def test_malt_counts(data: st.DataObject, n: int):
    leaves = data.draw(st.text("RW", min_size=n**3, max_size=n**3))
    run = tree(leaves, n)
    built = malt([run.tape])
    assert len(run.calls) == n + n**2 + n**3 and built.counts["leaves"] == n**3
    assert built.counts["sft"] + built.counts["rejected"] == len(run.calls)
    assert len(trained(built, "refiner")) == leaves.count("R")
    values = node_values(run.tape)
    roots = [values[c.id] for c in run.calls if c.voice == "generator"]
    assert sum(v or 0.0 for v in roots) / n == pytest.approx(leaves.count("R") / n**3)
    for pair in built.dpo:
        assert pair.gap > 0 and pair.voice != "generator"


def test_malt_leaves_out_what_failed_and_takes_marks_from_the_tape():
    team = malt_tree(n=1).cast(
        generator=Scripted(["d"]), verifier=Scripted([Line(error="timeout")]), refiner=Scripted([])
    )
    run = play(team)
    built = malt([run.tape])
    assert not built.sft and [r.reason for r in built.rejected] == [
        "nothing below it could be marked",
        "the call failed",
    ]
    run = tree("WWWWWWWW")
    leaf = next(c.id for c in run.calls if c.voice == "refiner")
    run.tape.events.append(Scored("tests", 1.0, 0.0, call=leaf))
    assert len(malt([run.tape]).of("refiner").sft) == 1
    with pytest.raises(BadInput, match="expected one of 'malt_tree'"):
        malt([play(rerest_rollout.cast(says(42))).tape])


# RISE


def rollout(candidates: list[str], attempts: list[str], turns: int = 2, n: int = 2) -> motet.Run:
    return play(rise_rollout(turns=turns, n=n).cast(learner=Scripted(attempts), expert=Scripted(candidates)))


def test_rise_relabels_the_states_the_learner_met():
    run = rollout([WRONG, WRONG, RIGHT, "Answer: 40"], [WRONG, WRONG])
    assert len(run.calls) == 2 * (1 + 2)
    built = rise([run.tape])
    (only,) = built.sft
    assert only.voice == "learner" and only.weight == pytest.approx(exp(1 / 0.4))
    assert [m.role for m in only.messages] == ["user", "assistant", "user", "assistant"]
    assert only.messages[1].text == WRONG and only.messages[3].text == RIGHT
    assert only.trained == (False, False, False, True), "the wrong attempt is context, not a lesson"
    assert built.counts["states"] == 2 and len(built.rejected) == 3


def test_rise_keeps_what_it_is_told_to():
    run = rollout([RIGHT, "I think 42", RIGHT, WRONG], [WRONG, WRONG])
    sizes = {keep: len(rise([run.tape], keep=keep).sft) for keep in ("best", "better", "right", "all")}
    assert sizes == {"best": 2, "better": 3, "right": 3, "all": 4}
    weights = [e.weight for e in rise([run.tape], keep="all", tau=1.0).sft]
    assert weights == pytest.approx([exp(1), exp(1), exp(1), 1.0])
    with pytest.raises(BadInput, match="tau is 0"):
        rise([run.tape], tau=0)


def test_rise_stops_when_the_learner_is_right():
    run = rollout([RIGHT, WRONG], [RIGHT], turns=3)
    assert len(run.calls) == 1 * (1 + 2) and rise([run.tape]).counts["states"] == 1


# Re-ReST


def test_rerest_adds_what_the_reflector_mended_as_the_agents_own():
    run = play(
        rerest_rollout(k=3, r=2).cast(
            agent=Scripted([RIGHT, WRONG, "Answer: 40"]),
            reflector=Scripted([f"{RIGHT} now", WRONG, WRONG, WRONG]),
        )
    )
    assert len(run.calls) == 3 + 2 * 2
    built = rerest([run.tape])
    assert trained(built, "agent") == [RIGHT, f"{RIGHT} now"]
    assert trained(built, "reflector") == [f"{RIGHT} now"]
    mended = built.of("agent").sft[1]
    assert mended.stage == "mended" and mended.messages[:-1] == built.of("agent").sft[0].messages[:-1]
    assert "41 is not the right answer." in built.of("reflector").sft[0].messages[0].text
    assert "42" not in built.of("reflector").sft[0].messages[0].text.replace("17 + 25", "")
    assert [r.reason for r in built.rejected] == ["it did not pass"] * 5
    assert built.counts["agent samples"] == 3 and built.counts["reflector samples"] == 4


def test_rerest_with_a_reflector_keeps_more():
    def kept(r: int) -> int:
        tapes = [
            play(rerest_rollout(k=3, r=r).cast("sim:skill=0.4,follow=0"), seed=s).tape for s in range(20)
        ]
        return len(rerest(tapes).of("agent").sft)

    assert kept(0) < kept(1) < kept(2)


# Optima


@motet.team
async def talk(task, first, second):
    word = await first.ask(task)
    return await second.ask(task, word)


def conversation(first: str, second: str, task: motet.Task = SUM) -> motet.tape.Tape:
    return play(talk.cast(first=Scripted([first]), second=Scripted([second])), task).tape


def test_optima_prefers_right_answers_in_few_words():
    short, long = conversation("25", RIGHT), conversation("25 " * 40, RIGHT)
    wrong = conversation("17", WRONG)
    built = optima([long, wrong, short], tokens=0.5)
    assert trained(built, "first") == ["25"] and trained(built, "second") == [RIGHT]
    assert {(p.chosen.text.strip()[:5], p.rejected.text.strip()[:5]) for p in built.dpo} == {
        ("25", "17"), ("25", "25 25"), ("25 25", "17"),
    }  # fmt: skip
    assert all(p.voice == "first" and len(p.runs) == 2 for p in built.dpo), (
        "second was asked different things"
    )
    assert len(built.rejected) == 2 and built.counts["conversations"] == 3
    without = optima([long, short], tokens=0.0)
    assert not without.dpo, "without a price for tokens length makes no difference"


def test_optima_takes_the_better_part_of_the_tasks():
    other = motet.Task("What is 1 + 1?", target="2", kind="number")
    tapes = [conversation("25", RIGHT), conversation("1", "Answer: 3", other)]
    assert {e.runs for e in optima(tapes, top=0.5).sft} == {(tapes[0].run,)}
    assert len(optima(tapes, top=1, worth=-9).sft) == 4
    assert len(optima(tapes, top=1, worth=0.1).sft) == 2
    plain = optima([conversation("25", RIGHT), conversation("17", RIGHT)], gap=0.0, tokens=0)
    assert {p.gap for p in plain.dpo} == {0.0}
    spoken = optima(tapes, top=0.5, language=lambda tape: 5.0 * (tape is tapes[1]))
    assert {e.runs for e in spoken.sft} == {(tapes[1].run,)}
    with pytest.raises(BadInput, match="top is 0"):
        optima(tapes, top=0)


def test_teams_are_refused_where_a_conversation_is_branched():
    with pytest.raises(BadInput, match="cast one"):
        play(rise_rollout.cast(learner=talk.cast(says(42)), expert="sim:skill=1"))
