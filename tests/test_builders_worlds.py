"""Builders that walk through environments, and lessons that lift a frozen team."""

import asyncio
import json
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import SUM, accuracy, play, sums

import motet
from motet.agent import Agent
from motet.envs import make
from motet.envs.play import seat_players
from motet.envs.players import PLAYERS
from motet.errors import BadInput
from motet.models.scripted import Line, Scripted
from motet.tape import CALL, Scored
from motet.train.builders.agent_r import REVISE, agent_r
from motet.train.builders.agent_r_search import agent_r_search
from motet.train.builders.early_experience import early_experience, early_experience_rollout
from motet.train.builders.lessons import Edit, compare_group, edited, with_lessons
from motet.train.builders.masking import partial_masking, reflected_play
from motet.train.builders.training_free import Course, Library, training_free
from motet.types import Message, Reply, Sampling

TARGET = 5


def number_world(high: int = 9) -> int:
    """A seed whose number is 5."""
    for seed in range(100):
        env = make("guess_number", seed, high=high)
        if env.step({"player": str(TARGET)}).done and sum(env.returns().values()) > 0:
            return seed
    raise AssertionError("no seed has this number")


SEED, SMALL = number_world(), {"high": 9}

# STeP


def reflected() -> motet.Run:
    """The student wastes its second guess; the teacher reflects and corrects."""
    student = Scripted(["Action: 3", "Action: 2", "Action: 5"])
    verdicts = [json.dumps({"wrong": wrong}) for wrong in (False, True, False)]
    teacher = Scripted(
        [verdicts[0], verdicts[1], "2 was below 3, which was too low.\nAction: 6", verdicts[2]]
    )
    return play(reflected_play(env="guess_number", seed=SEED, options=SMALL).cast(student, teacher=teacher))


def test_wrong_steps_are_context_and_reflections_are_trained():
    run = reflected()
    assert run.ok, run.error
    (only,) = partial_masking([run.tape]).sft
    said = [(m.text, on) for m, on in zip(only.messages, only.trained, strict=True) if m.role == "assistant"]
    assert said == [
        ("Action: 3", True),
        ("Action: 2", False),
        ("2 was below 3, which was too low.\nAction: 6", True),
        ("Action: 5", True),
    ]
    assert not any(on for m, on in zip(only.messages, only.trained, strict=True) if m.role != "assistant")
    assert len(run.calls) == 2 * 3 + 1, "2 s + w"


def test_masking_reads_marks_and_refused_actions_of_any_run():
    team = seat_players("guess_number", {"player": Scripted(["Action: 99", "Action: 5"])}, high=9)
    run = play(team.configured(seed=SEED))
    built = partial_masking([run.tape])
    assert [e.trained[-1] for e in built.sft] == [False, True] and built.counts["wrong steps"] == 1
    run.tape.events.append(Scored("return", 0.0, 0.0))
    assert partial_masking([run.tape]).rejected[0].reason == "mark 0 is too low"


# Early Experience


def test_early_experience_learns_from_what_its_own_actions_lead_to():
    expert = Scripted(["Action: 4", "Action: 5"])
    agent = Scripted(
        ["Action: 4", "Action: 7", "It narrows less.", "Action: 6", "Action: 6", "6 overshoots."],
        name="agent",
    )
    team = early_experience_rollout(env="guess_number", seed=SEED, options=SMALL, k=2)
    run = play(team.cast(expert=expert, agent=agent))
    assert run.ok, run.error
    steps, different = 2, 2
    assert len(run.calls) == steps * (1 + 2) + different
    assert len(run.tape.steps) == steps, "the agent's own actions were taken in copies of the episode"
    built = early_experience([run.tape])
    assert {k: built.counts[k] for k in ("world_model", "imitation", "reflection")} == {
        "world_model": 2, "imitation": 2, "reflection": 2,
    }  # fmt: skip
    worlds = [e for e in built.sft if e.stage == "world_model"]
    assert [e.messages[-3].text for e in worlds] == ["Action: 7", "Action: 6"]
    env = make("guess_number", SEED, high=9)
    env.step({"player": "7"})
    assert worlds[0].messages[-1].text == env.observe("player").text
    thoughts = [e.messages[-1].text for e in built.sft if e.stage == "reflection"]
    assert thoughts == ["It narrows less.\n\nAction: 4", "6 overshoots.\n\nAction: 5"]
    assert all(e.trained[-1] and not any(e.trained[:-1]) and e.voice == "agent" for e in built.sft)
    assert len(built.rejected) == 2


def test_a_perfect_player_can_be_the_expert():
    agent = Scripted([Line("Action: 1", match="Legal|Guesses"), Line("It is far off.", match="Think aloud")])
    team = early_experience_rollout(env="guess_number", seed=SEED, options=SMALL, k=1)
    run = play(team.cast(expert=PLAYERS["perfect"], agent=agent))
    assert run.ok and float(run.answer) > 0
    assert early_experience([run.tape]).counts["imitation"] == len(run.tape.steps)


def test_seats_that_act_at_once_are_refused():
    team = reflected_play(env="matching_pennies")
    with pytest.raises(BadInput, match="one at a time"):
        play(team.cast("sim:skill=1"))


# Agent-R


class Guesser:
    """Guesses at random, and knows a bad guess of its own when `honest`."""

    name = identity = "guesser"

    def __init__(self, honest: bool = True) -> None:
        self.honest = honest

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        context, said = CALL.get(), messages[-1].text
        assert context is not None
        if sampling.schema:
            bad = self.honest and f"Action: {TARGET}" not in said
            texts = [json.dumps({"step": "bad" if bad else "good"})] * n
        else:
            told = [m.text for m in messages]
            rngs = [Random(f"{told}/{context.seed}/{context.index + i}") for i in range(n)]
            texts = [f"Action: {rng.randint(4, 6)}" for rng in rngs]
        return [Reply(message=Message.say("assistant", text)) for text in texts]


def searched(honest: bool = True, seed: int = 0) -> motet.Run:
    team = agent_r_search(env="guess_number", seed=SEED, options=SMALL | {"guesses": 3}, simulations=12)
    return play(team.cast(Guesser(honest)), seed=seed)


def test_spliced_trajectories_cut_at_the_first_bad_step_and_end_in_success():
    run = searched()
    built = agent_r([run.tape])
    revisions = [e for e in built.sft if e.stage == "revision"]
    assert revisions and built.counts["pairs"] == len(revisions) and not built.rejected
    for example in revisions:
        texts = [m.text for m in example.messages]
        cut = texts.index(REVISE)
        assert example.trained[cut] and not any(example.trained[:cut])
        assert texts[cut - 2] != f"Action: {TARGET}" and example.messages[cut - 2].role == "assistant"
        roles = [m.role for m in example.messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2)
        env = make("guess_number", SEED, high=9, guesses=3)
        good = [m.text for m, on in zip(example.messages, example.trained, strict=True) if on][1:]
        shared = [t for t in texts[: cut - 2] if t.startswith("Action")]
        for action in shared + good:
            env.step({"player": env.read_action("player", action)})
        assert env.returns() == {"player": 1.0}, "the good path goes on from the shared parent"
    assert all(e.trained[-1] for e in built.sft) and {e.stage for e in built.sft} == {"good", "revision"}


def test_calls_of_the_search():
    run = searched(seed=3)
    verdicts = [s for s in run.tape.scores if s.scorer == "actor"]
    moves = [c for c in run.calls if c.sampling.schema is None]
    assert len(run.calls) == len(moves) + len(verdicts) and len(moves) <= 12 * 3
    assert not run.tape.steps, "branches are not steps of one episode"


def test_an_actor_that_sees_no_error_teaches_no_revision():
    built = agent_r([searched(honest=False).tape])
    assert {e.stage for e in built.sft} == {"good"}
    assert {r.reason for r in built.rejected} == {"the actor found no bad step in it"}


def test_trajectories_without_a_better_one_are_kept_with_the_reason():
    tape = searched().tape
    returns = [s for s in tape.scores if s.scorer == "return"]
    tape.events[:] = [e for e in tape.events if not (e in returns and e.value > 0.5)]
    built = agent_r([tape])
    assert not built.sft and len(built.rejected) == sum(s.value <= 0.5 for s in returns) > 0
    assert {r.reason for r in built.rejected} == {"no trajectory is so much better"}


# Training-free GRPO


class Pupil:
    """A solver of skill 0.3, and of 0.95 once its prompt says to carry the ten. Its weights never change."""

    name = identity = "pupil"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        context = CALL.get()
        assert context and context.task
        knows = any("carry the ten" in message.text for message in messages)
        replies = []
        for i in range(n):
            rng = Random(f"{context.task.prompt}/{context.seed}/{context.index + i}")
            right = rng.random() < (0.95 if knows else 0.3)
            said = f"Answer: {context.task.target if right else 0}"
            replies.append(Reply(message=Message.say("assistant", said)))
        return replies


@motet.team
async def solo(task, solver):
    return await solver.ask(task)


PUPIL = solo.cast(Agent(Pupil(), "You add."))
ADD = {"edits": [{"do": "add", "text": "carry the ten"}]}


def teacher(**said: object) -> Agent:
    lines = {
        "Sum up": "It added.",
        "Compare the good": json.dumps({"lessons": ["carry the ten"]}),
        "bring the known ones": json.dumps(ADD),
    } | said
    return Agent(Scripted([Line(str(reply), match=match) for match, reply in lines.items()]))


def learn(tasks: list[motet.Task], plan: Course, band: motet.Team = PUPIL, **said: object) -> Library:
    store = motet.Store.memory()
    return asyncio.run(training_free(band, tasks, teacher(**said), plan, store=store))


def test_lessons_lift_a_frozen_team():
    library = learn(sums(4), Course(epochs=2, group=4, batch=4))
    assert library.lessons == ("carry the ten",) and library.history == (library.lessons,) * 2
    tested = sums(100)[50:]
    before, after = accuracy(PUPIL, tested), accuracy(with_lessons(PUPIL, library.lessons), tested)
    assert before < 0.5 and after > 0.85


def test_calls_of_training_free():
    store = motet.Store.memory()
    plan = Course(epochs=1, group=4, batch=3)
    library = asyncio.run(training_free(PUPIL, sums(6), teacher(), plan, store=store))
    calls = sum(len(store.load(run).calls) for run in library.runs)
    mixed = library.counts["groups"] - library.counts.get("even groups", 0)
    assert library.counts["groups"] == 6 and mixed > 0
    merges = sum(store.load(run).started.team == "merge_lessons" for run in library.runs)
    assert calls == 6 * 4 + mixed * (4 + 1) + merges and 0 < merges <= 2


def test_groups_of_one_mark_teach_nothing():
    always = solo.cast("sim:skill=1")
    library = learn(sums(3), Course(epochs=1, group=2), always)
    assert library.lessons == () and library.counts["even groups"] == 3
    assert len(library.runs) == 3 * 2, "the teacher was not asked"
    with pytest.raises(BadInput, match="a group of 2 or more"):
        Course(group=1)


def test_a_teacher_that_fails_costs_its_group_only():
    library = learn(sums(4), Course(epochs=1, group=4), **{"Compare the good": "no JSON"})
    assert library.counts["failed lessons"] > 0 and library.lessons == ()


def test_the_comparison_is_linked_to_the_runs_it_compares():
    store = motet.Store.memory()
    library = asyncio.run(training_free(PUPIL, sums(6), teacher(), Course(1, 4), store=store))
    compared = [t for r in library.runs if (t := store.load(r)).started.team == compare_group.name]
    first = compared[0].calls[0]
    assert first.parents and all(
        "/" in parent and parent.split("/")[0] in library.runs for parent in first.parents
    )


@given(
    st.lists(
        st.builds(Edit, st.sampled_from(["add", "update", "delete"]), st.integers(-1, 5), st.just("new"))
    )
)
def test_edits_never_lose_what_they_do_not_name(edits: list[Edit]):
    lessons = ("a", "b", "c")
    after, lost = edited(lessons, edits)
    named = {e.number for e in edits if e.do != "add"}
    assert all(lesson in after for i, lesson in enumerate(lessons, 1) if i not in named)
    assert 0 <= lost <= len(edits) and len(set(after)) == len(after)


def test_edits_go_by_the_numbers_from_before():
    after = edited(
        ["a", "b"], [Edit("delete", 1), Edit("update", 2, "B"), Edit("add", text="c"), Edit("delete", 9)]
    )
    assert after == (("B", "c"), 1)
    nested = solo.cast(PUPIL)
    inner = with_lessons(nested, ["x"]).parts["solver"][0].parts["solver"][0]  # type: ignore[union-attr]
    assert inner.instructions.startswith("You add.") and "[1] x" in inner.instructions  # type: ignore[union-attr]
    assert play(nested, SUM).ok
