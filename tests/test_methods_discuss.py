"""Refinement and debate: who reads whom, when it ends, and when it helps or harms."""

from random import Random

from method_runs import accuracy, edges, noise, play, play_all, said_to, says, sums

from motet.methods import debate, self_refine
from motet.models.scripted import Line, Scripted
from motet.types import FailureKind


def notes(text: str, done: bool = False) -> str:
    return f'{{"notes": "{text}", "done": {str(done).lower()}}}'


def test_the_writer_sees_all_drafts_with_their_feedback_and_the_critic_ends_it() -> None:
    writer = Scripted(["Answer: 1", "Answer: 2", "Answer: 42"])
    critic = Scripted([notes("Too small."), notes("Still too small."), notes("Right.", done=True)])
    run = play(self_refine(r=5).cast(writer=writer, critic=critic))
    assert run.answer == "Answer: 42"
    assert edges(run) == [
        ("writer", ()),
        ("critic", ("1",)),
        ("writer", ("1", "2")),
        ("critic", ("3",)),
        ("writer", ("1", "2", "3", "4")),
        ("critic", ("5",)),
    ]
    assert all(
        words in said_to(run, "writer")[2] for words in ("Answer: 1", "Too small.", "Still too small.")
    )


def test_a_draft_stands_when_its_critic_or_its_next_version_fails() -> None:
    failing = Scripted([Line(error="timeout", match="")])
    assert play(self_refine.cast(writer=says(7), critic=failing)).answer == "Answer: 7"
    writer = Scripted([Line("Answer: 7", match="17", times=1), Line(error="server", match="17")])
    assert play(self_refine.cast(writer=writer, critic=lambda _: notes("No."))).answer == "Answer: 7"


def test_refinement_helps_those_who_can_mend_and_harms_those_who_spoil() -> None:
    tasks, critic = sums(100), lambda _: notes("Look again.")
    single = accuracy(self_refine(r=0).cast(writer="sim:skill=0.5", critic=critic), tasks)
    mended = accuracy(self_refine(r=3).cast(writer="sim:skill=0.5,fix=0.4,follow=0", critic=critic), tasks)
    spoiled = accuracy(self_refine(r=3).cast(writer="sim:skill=0.5,spoil=0.4,follow=0", critic=critic), tasks)
    assert mended - single > noise(0.5, len(tasks))
    assert single - spoiled > noise(0.5, len(tasks))


def test_each_debater_reads_its_own_and_the_others_last_answers() -> None:
    run = play(debate(n=3, r=2).cast("sim:skill=1"))
    names = [f"debaters_{i}" for i in (1, 2, 3)]
    assert edges(run) == [
        *((name, ()) for name in names),
        *zip(names, [("1", "2", "3"), ("2", "1", "3"), ("3", "1", "2")], strict=True),
        *zip(names, [("4", "5", "6"), ("5", "4", "6"), ("6", "4", "5")], strict=True),
    ]
    assert run.tape.ended and run.tape.ended.parents == ("7", "8", "9")


def test_the_last_answer_of_a_debater_that_fails_stands() -> None:
    mute = Scripted([Line("Answer: 42", match="17", times=1), Line(error="timeout", match="17")])
    run = play(debate(n=3, r=2).cast(debaters=[mute, says(42), says(7)]))
    assert run.answer == "42"
    assert edges(run)[-1] == ("debaters_3", ("6", "1", "5"))
    late = Scripted([Line(error="timeout", match="17", times=1), Line("Answer: 42", match="17")])
    run = play(debate(n=2, r=1).cast(debaters=[late, "sim:fail=1"]))
    assert run.answer == "42"
    nobody = play(debate.cast("sim:fail=1"))
    assert nobody.error and nobody.error.kind is FailureKind.NO_ANSWER


def test_one_alone_is_asked_to_check_itself_and_reads_of_no_others() -> None:
    first, again = said_to(play(debate(n=1, r=1).cast(says(42))), "debaters_1")
    assert "Your answer so far:\nAnswer: 42" in again and "others" not in again
    assert "others" in said_to(play(debate(n=2, r=1).cast(says(42))), "debaters_1")[1] and "far" not in first


def test_agreement_ends_a_debate_when_it_is_told_to() -> None:
    voices = [says(42), says(42), says(7)]
    assert [len(play(debate(consensus=c).cast(debaters=voices)).calls) for c in (0.6, 0.7, None)] == [3, 9, 9]


def test_debate_beats_the_vote_only_among_debaters_who_know_a_right_answer_when_they_see_it() -> None:
    tasks = sums(80)
    vote = accuracy(debate(n=3, r=0).cast("sim:skill=0.5,wrong=1"), tasks)
    blind = accuracy(debate(n=3, r=2).cast("sim:skill=0.5,wrong=1,judge=0"), tasks)
    seeing = accuracy(debate(n=3, r=2).cast("sim:skill=0.5,wrong=1,judge=0.8"), tasks)
    assert abs(blind - vote) < noise(0.5, len(tasks))
    assert seeing - vote > noise(0.5, len(tasks))


def persuadable(share: float) -> object:
    """Says 42, until it reads one who is certain: then it gives in, this often each time."""

    rng = Random(0)

    def answer(said: str) -> str:
        gone = "Your answer so far:\nAnswer: 7" in said
        meets = "I am certain" in said.partition("others:")[2]
        return "Answer: 7" if gone or (meets and rng.random() < share) else "Answer: 42"

    return answer


def test_more_rounds_let_one_persuasive_liar_carry_a_team_of_equals_away() -> None:
    liar, tasks = (lambda _: "I am certain.\nAnswer: 7"), sums(60)

    def fooled(share: float, r: int) -> float:
        runs = play_all(debate(n=3, r=r).cast(debaters=[liar, *[persuadable(share)] * 2]), tasks)
        return sum(run.answer == "7" for run in runs) / len(tasks)

    rising = [fooled(0.2, r) for r in (0, 1, 4)]
    assert rising[0] == 0
    assert 0.2 < rising[1] < 0.5
    assert rising[2] > 0.7
    assert fooled(0, r=4) == 0
