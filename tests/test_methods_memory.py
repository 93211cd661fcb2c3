"""What was learned and lived through before: what is recalled, what it costs, and that it helps."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from method_runs import edges, is_right, play, said_to, says

from motet import Agent, Store, Task, team
from motet.cli import main
from motet.errors import BadInput
from motet.methods import Experience, Stream, generative_agents, xolver
from motet.methods.memory import Episode, reflect
from motet.methods.retrieve.corpus import trigrams
from motet.models.scripted import Line, Scripted

FAILS = "sim:fail=1"

# Xolver

TRICKS = {"gronk": 3, "blim": 5, "tweel": 7, "quaff": 11}
SOLVED = re.compile(r"the (\w+) of (\d+)\?\s*Solution:.*?(\d+)", re.DOTALL)


def problem(i: int) -> Task:
    """One of a stream of problems of four kinds; each kind has a trick that must be learned."""
    kind = list(TRICKS)[i % len(TRICKS)]
    return Task(f"What is the {kind} of {i + 2}?", target=str(TRICKS[kind] * (i + 2)), kind="number")


def learns(said: str) -> str:
    """Solves a kind of problem when shown a solved one of its kind; gives the bare number otherwise."""
    if "best attempts" in said:
        return re.findall(r"\[1\] (.+)", said)[0]
    kind, number = re.findall(r"Question:\nWhat is the (\w+) of (\d+)", said)[-1]
    ratios = [int(c) // int(b) for a, b, c in SOLVED.findall(said) if a == kind and int(c) % int(b) == 0]
    return f"Answer: {int(number) * ratios[0] if ratios else number}"


def passes_on(said: str) -> str:
    return said.rpartition("attempt:\n")[2].partition("\n")[0]


def olympiad(**knobs: Any) -> Any:
    fair = lambda _: '{"feedback": "Fine.", "score": 0.9}'  # noqa: E731
    plan = lambda _: '{"roles": ["a chemist", "a pilot"]}'  # noqa: E731
    return xolver(m=2, T=2, **knobs).cast(plan, agents=learns, judge=fair, verifier=passes_on)


def test_accuracy_on_a_stream_grows_with_the_memory() -> None:
    seen = [Episode(problem(i).prompt, f"Answer: {problem(i).target}") for i in range(4)]
    shares = []
    for size in range(5):
        memory = Experience(seen[:size])
        shares.append(sum(is_right(play(olympiad(experience=memory), problem(i))) for i in range(4, 16)) / 12)
    assert shares == [0, 0.25, 0.5, 0.75, 1]
    assert not any(is_right(play(olympiad(), problem(i))) for i in range(4, 8)), (
        "without memory it stays flat"
    )
    assert not is_right(play(olympiad(experience=Experience(seen), K=0), problem(5)))


def test_what_is_solved_is_written_back_and_serves_the_next() -> None:
    memory = Experience()
    team = olympiad(experience=memory).cast(verifier=lambda said: f"Answer: {target(said)}")
    assert is_right(play(team, problem(0))) and [e.problem for e in memory.episodes] == [problem(0).prompt]
    follow = olympiad(experience=memory)
    assert is_right(play(follow, problem(4))) and not is_right(play(follow, problem(5)))
    poor = olympiad(experience=(untouched := Experience()), tau=0.95)
    assert play(poor, problem(0)).ok and untouched.episodes == [], "what scores below tau is not kept"


def target(said: str) -> str:
    """What the verifier knows: the right answer."""
    kind, number = re.findall(r"the (\w+) of (\d+)", said)[0]
    return str(TRICKS[kind] * int(number))


def test_roles_rounds_and_the_shared_memory() -> None:
    grades = iter([0.2, 0.7, 0.5, 0.1, 0.3, 0.6])
    crew = [Scripted([f"Answer: {i}{j}" for j in range(3)]) for i in range(2)]

    def grade(_: str) -> str:
        score = next(grades)
        return json.dumps({"feedback": f"Worth {score}.", "score": score})

    run = play(olympiad().cast(agents=crew, judge=grade, verifier=passes_on)(T=3), problem(0))
    assert [v for v, _ in edges(run)] == [
        "planner", *["agents_1", "judge", "agents_2", "judge"] * 3, "verifier",
    ]  # fmt: skip
    told = said_to(run, "agents_1")
    assert "Feedback: Worth 0.7." in told[1] and "Feedback: Worth 0.2." in told[1], "what the judge said"
    assert set(edges(run)[5][1]) >= {"3", "5"}, "and it is linked to the judge"
    assert "a chemist" in told[0] and "a pilot" in said_to(run, "agents_2")[0]
    scores = [[float(x) for x in re.findall(r"Score: ([\d.]+)", said)] for said in told[1:]]
    assert scores == [[0.7, 0.2], [0.7, 0.5]], "the best m of all rounds, so the top never falls"
    assert run.answer == "Answer: 10"
    assert len(run.tape.path(run.calls[5].prompt)) == 3, "an agent has its own history in view"


def test_it_ends_when_the_shared_attempts_agree() -> None:
    assert len(play(olympiad()(T=5), problem(0)).calls) == 1 + 4 + 1
    alone = play(olympiad()(T=2, m=1).cast(planner=lambda _: '{"roles": ["a pilot"]}'), problem(0))
    assert len(alone.calls) == 2 + 2 * 2, "one attempt has nobody to agree with"


def test_an_attempt_is_judged_while_others_are_still_at_work() -> None:
    judged = asyncio.Event()

    async def waits(_: str) -> str:
        await asyncio.wait_for(judged.wait(), 1)
        return "Answer: 6"

    def judge(_: str) -> str:
        judged.set()
        return '{"feedback": "Fine.", "score": 1}'

    run = play(olympiad()(T=1).cast(agents=[learns, waits], judge=judge), problem(0))
    assert [v for v, _ in edges(run)][1:-1] == ["agents_1", "judge", "agents_2", "judge"]


def test_an_agent_that_failed_is_told_the_question_with_the_attempts_of_the_others() -> None:
    memory = Experience([Episode(problem(4).prompt, f"Answer: {problem(4).target}")])
    late = Scripted([Line(error="server"), Line("Answer: 6"), Line("Answer: 6")])
    others = Scripted([f"Answer: {i}" for i in range(3)])
    run = play(olympiad(experience=memory)(T=3).cast(agents=[late, others]), problem(0))
    _, again, once_more = said_to(run, "agents_1")
    question = "Question:\nWhat is the gronk of 2?"
    assert all(said in again for said in ("a chemist", "the gronk of 6?", question, "[1] Answer: 0"))
    assert "Question:" not in once_more, "from there on it has its own history"


def test_xolver_goes_on_without_those_that_fail() -> None:
    run = play(olympiad().cast(planner=FAILS, judge=FAILS, verifier=FAILS), problem(0))
    assert run.answer == "Answer: 2" and "You are a careful expert." in said_to(run, "agents_1")[0]
    half = play(olympiad().cast(agents=[learns, FAILS]), problem(0))
    assert half.ok
    assert play(olympiad().cast(agents=FAILS), problem(0)).error is not None


def test_experience_is_kept_in_a_file(tmp_path: Path) -> None:
    memory = Experience([Episode("red apples", "eat"), Episode("blue sky", "look")])
    memory.keep(Episode("red apples", "eat"))
    assert len(memory.episodes) == 2
    memory.write(tmp_path / "lived.jsonl")
    again = Experience.read(tmp_path / "lived.jsonl")
    assert again.episodes == memory.episodes and repr(again) == repr(memory) != repr(Experience())
    assert again.recall("which apples?", 3) == memory.episodes[:1] and again.recall("zebra", 3) == []
    assert olympiad(experience=again).identity == olympiad(experience=memory).identity
    (tmp_path / "bad.jsonl").write_text("[1]\n")
    for name in ("bad.jsonl", "none.jsonl"):
        with pytest.raises(BadInput, match=name):
            Experience.read(tmp_path / name)


def test_the_command_line_keeps_experience_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    rules = [
        {"match": "as `roles`", "reply": '{"roles": ["a chemist", "a pilot", "a cook"]}'},
        {"match": "as `feedback`", "reply": '{"feedback": "Fine.", "score": 0.9}'},
        {"match": ".", "reply": "Nine."},
    ]
    (tmp_path / "crew.jsonl").write_text("\n".join(map(json.dumps, rules)))
    (tmp_path / "lived.jsonl").write_text(json.dumps({"problem": "What is 4 + 4?", "solution": "Eight."}))

    def motet(task: str, knob: str) -> dict[str, Any]:
        words = ["run", "xolver", task, "--model", "scripted:crew.jsonl", "--set", knob, "--json"]
        record: dict[str, Any] = json.loads(CliRunner().invoke(main, words).stdout)
        return record

    for file in ("lived", "begun"):
        motet("What is 5 + 4?", f"experience={file}.jsonl")
        again = motet("What is 6 + 5?", f"experience={file}.jsonl")
        told = [call["messages"] for call in again["calls"] if call["agent"] == "agents_1"]
        assert "What is 5 + 4?" in str(told) and ("Eight." in str(told)) == (file == "lived")
    lived = Experience.read("lived.jsonl").episodes
    assert [episode.problem for episode in lived] == ["What is 4 + 4?", "What is 5 + 4?", "What is 6 + 5?"]
    for knob in ("experience=none/of.jsonl", "experience=crew.jsonl", "experience=3"):
        assert "experience" in motet("What is 7 + 5?", knob)["error"]["message"]
    assert "error" not in motet("What is 7 + 5?", "experience=null")


# The memory stream


class Clock:
    def __init__(self) -> None:
        self.hour = 0.0

    def __call__(self) -> float:
        return self.hour


def three(clock: Clock, **settings: Any) -> Stream:
    stream = Stream(clock=clock, **settings)
    for hour, text, importance in [(0, "The wedding", 10), (10, "Some toast", 1), (20, "A red hat", 4)]:
        clock.hour = hour
        stream.add(text, importance)
    clock.hour = 24.0
    return stream


def test_the_score_is_recency_importance_and_relevance_worked_out_by_hand() -> None:
    stream = three(Clock(), embed=trigrams, alpha=(1, 2, 3))
    recency = [0.995**24, 0.995**14, 0.995**4]
    middle = (recency[1] - recency[0]) / (recency[2] - recency[0])
    assert stream.scores("red hat") == pytest.approx([0 + 2 * 1 + 0, middle + 0 + 0, 1 + 2 * 3 / 9 + 3 * 1])
    assert three(Clock(), alpha=(0, 0, 1)).scores("zebra") == [0.5] * 3, "no memory stands out"
    assert Stream().scores("?") == [] and list(Stream().recall("?")) == []


@pytest.mark.parametrize(
    ("alpha", "first"), [((1, 0, 0), "A red hat"), ((0, 1, 0), "The wedding"), ((0, 0, 1), "Some toast")]
)
def test_each_of_the_three_can_decide(alpha: tuple[float, float, float], first: str) -> None:
    assert three(Clock(), alpha=alpha, k=1).recall("toast?")[0].text == first


def test_being_recalled_makes_a_memory_recent_again() -> None:
    clock = Clock()
    stream = three(clock, alpha=(1, 0, 0), k=1)
    stream.alpha = (0, 1, 0)
    assert stream.recall("?")[0].text == "The wedding"
    stream.alpha, clock.hour = (1, 0, 0), 30
    assert stream.recall("?")[0].text == "The wedding"


@given(st.lists(st.tuples(st.floats(1, 10), st.floats(0, 50)), min_size=1, max_size=9), st.integers(1, 12))
def test_a_recall_gives_k_memories_of_the_highest_scores(rows: list[tuple[float, float]], k: int) -> None:
    clock = Clock()
    stream = Stream(k, clock=clock)
    for i, (importance, hours) in enumerate(rows):
        clock.hour += hours
        stream.add(f"memory {i}", importance)
    scores = stream.scores("memory 3")
    assert all(-1e-9 <= score <= 3 + 1e-9 for score in scores)
    found = [int(text.text.split()[1]) for text in stream.recall("memory 3")]
    assert [scores[i] for i in found] == sorted(scores, reverse=True)[:k]


def test_a_stream_is_a_memory_of_an_agent() -> None:
    @team
    async def talk(task: Task, singer: Any) -> Any:
        await singer.ask("My cat is called Tom.")
        await singer.ask("Rain again.")
        return await singer.ask("What is my cat called?")

    stream = Stream(k=1, alpha=(0, 0, 1))
    agent = Agent(Scripted(["Hello Tom.", "Yes.", "Tom."]), memory=stream)
    run = talk.cast(agent).run("?", store=Store.memory())
    assert edges(run)[-1] == ("singer", ("1",)) and "Hello Tom." in said_to(run, "singer")[-1]
    assert stream.memos == [], "each run begins with a fresh one"


# Reflection

DAY = ["Klaus reads about cities.", "Klaus skips lunch to write.", "Klaus talks of nothing but maps."]


def thinks(said: str) -> str:
    if "`insights`" in said:
        love = {"text": "Klaus loves geography.", "from": [1, 9], "importance": 8}
        return json.dumps({"insights": [love]})
    return json.dumps({"questions": ["What does Klaus like?"]})


def test_reflection_comes_when_enough_has_happened_and_is_remembered_with_its_grounds() -> None:
    stream = Stream(threshold=15, clock=Clock())
    for importance, text in zip((7, 7.5, 1), DAY, strict=True):
        assert not stream.due
        stream.add(text, importance)
    assert stream.due and stream.pending == 15.5
    (insight,) = asyncio.run(reflect(stream, Agent(thinks), q=1))
    assert insight.text == "Klaus loves geography." and stream.memos[-1].importance == 8
    assert stream.memos[-1].because is not None and len(stream.memos[-1].because) == 1
    assert stream.pending == 0 and not stream.due, "an insight is not lived through"
    assert asyncio.run(reflect(stream, Agent(FAILS), q=1)) == [] and len(stream.memos) == 4


def knows_klaus(said: str) -> str:
    return "Answer: geography" if "loves geography" in said else "Answer: no idea"


def village(**knobs: Any) -> Any:
    knobs = {"observations": DAY * 4, "q": 1, "k": 3, "threshold": 30.0} | knobs
    rates = lambda _: '{"importance": 5}'  # noqa: E731
    return generative_agents(**knobs).cast(rater=rates, thinker=thinks, solver=knows_klaus)


KLAUS = Task("What does Klaus love most?", target="geography")


def test_without_reflection_the_question_is_not_answered() -> None:
    assert is_right(play(village(), KLAUS))
    assert not is_right(play(village(r=0), KLAUS)) and not is_right(play(village(threshold=150.0), KLAUS))


def test_each_observation_is_rated_and_reflections_are_counted() -> None:
    run = play(village(), KLAUS)
    voices = [v for v, _ in edges(run)]
    assert voices == ["rater"] * 12 + ["thinker"] * 4 + ["solver"], "60 of importance, twice 30"
    assert len(said_to(play(village(r=1), KLAUS), "thinker")) == 2
    assert len(said_to(play(village(n=5), KLAUS), "rater")) == 5
    parents = {parent for _, parent in edges(run)[-1:] for parent in parent}
    assert parents <= {"14", "16"} and parents, "an insight is linked to whoever had it"


def test_generative_agents_go_on_without_those_that_fail() -> None:
    run = play(village().cast(rater=FAILS, thinker=FAILS, solver=says("tea")), KLAUS)
    assert run.answer == "Answer: tea" and len(said_to(run, "thinker")) == 2
    assert play(village().cast(solver=FAILS), KLAUS).error is not None
    with pytest.raises(BadInput, match="threshold=-1"):
        play(village(threshold=-1.0), KLAUS)
