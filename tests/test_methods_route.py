"""The cascade: the strong voice is asked when the weak one disagrees with itself."""

from method_runs import accuracy, edges, is_right, play, play_all, says, sums

from motet.methods import cascade, direct, self_consistency
from motet.models.scripted import Scripted
from motet.types import FailureKind


def weak(*answers: object) -> Scripted:
    return Scripted([f"Answer: {a}" for a in answers])


def test_agreement_is_enough_and_disagreement_escalates() -> None:
    sure = play(cascade(k=4, threshold=0.75).cast(weak=weak(42, 42, 7, 42), strong=says(0)))
    assert sure.answer == "42"
    assert edges(sure) == [("weak", ())] * 4
    unsure = play(cascade(k=4, threshold=0.75).cast(weak=weak(42, 42, 7, 8), strong=says(0)))
    assert unsure.answer == "Answer: 0"
    assert len(unsure.calls) == 5


def test_samples_without_an_answer_count_against_agreement() -> None:
    mumbling = Scripted(["Answer: 42", "Answer: 42", "Well.", "Well."])
    assert play(cascade(k=4, threshold=0.75).cast(weak=mumbling, strong=says(0))).answer == "Answer: 0"


def test_what_stands_when_a_voice_fails() -> None:
    assert play(cascade.cast(weak="sim:fail=1", strong=says(42))).answer == "Answer: 42"
    assert play(cascade(k=3).cast(weak=weak(42, 42, 7), strong="sim:fail=1")).answer == "42"
    both = play(cascade.cast("sim:fail=1"))
    assert both.error and both.error.kind is FailureKind.SERVER


def test_an_answer_that_can_be_read_stands_before_one_that_cannot() -> None:
    mute = lambda _: "I cannot say."  # noqa: E731
    agreed = play(cascade(k=4, threshold=1.0).cast(weak=weak(42, 42, 42, 7), strong=mute))
    assert agreed.answer == "42" and len(agreed.calls) == 5
    assert play(cascade.cast(weak=mute, strong=mute)).answer == "I cannot say."


def test_a_weak_team_escalates_when_too_few_of_it_answer() -> None:
    shaky = direct.cast("sim:skill=1,fail=0.5")
    run = play(cascade(k=6, threshold=0.9).cast(weak=shaky, strong=says(0)))
    assert run.answer == "Answer: 0"
    assert is_right(play(cascade(k=6, threshold=0.2).cast(weak=shaky, strong=says(0))))


def test_a_cascade_is_nearly_as_right_as_the_strong_voice_for_a_part_of_its_calls() -> None:
    tasks = [*sums(80, skill="easy"), *sums(40, skill="hard")]
    cheap, dear = "sim:skill.easy=0.97,skill.hard=0.2", "sim:skill=0.95"
    runs = play_all(cascade(k=4).cast(weak=cheap, strong=dear), tasks)
    escalated = sum(any(c.voice == "strong" for c in run.calls) for run in runs) / len(tasks)
    assert 0.2 < escalated < 0.6
    alone = accuracy(self_consistency(n=4).cast(cheap), tasks)
    assert sum(map(is_right, runs)) / len(tasks) > max(alone + 0.1, 0.88)
