"""DyLAN: who stays, when it ends, and whether the importance of the agents is what they are worth."""

import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_runs import SUM, accuracy, edges, is_right, play, play_all, says, sums

import motet
from motet import Agent
from motet.answers import extract
from motet.methods import best_agents, dylan, importance_scores
from motet.models.scripted import Line, Scripted
from motet.models.sim import right_answer, wrong_answer
from motet.tape.context import CALL
from motet.tools.tool import tool
from motet.types import Message, Reply, Sampling


class Peer:
    """An agent of known skill that rates what it reads: 5 for right and 1 for wrong answers, mostly."""

    def __init__(self, skill: float, sharp: float = 0.9) -> None:
        self.name = self.identity = f"peer-{skill}-{sharp}"
        self.skill, self.sharp = skill, sharp

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        context = CALL.get()
        assert context and context.task
        task, rng = context.task, Random(f"{self.name} {context.voice} {messages[-1].text}")
        truth = [extract(task, s.text) == right_answer(task) for s in context.sources]
        ratings = [5 if right == (rng.random() < self.sharp) else 1 for right in truth]
        wrong = wrong_answer(task, rng.randrange(50))
        answer = right_answer(task) if rng.random() < self.skill else wrong
        line = f"Ratings: {', '.join(map(str, ratings))}\n" if ratings else ""
        return [Reply(message=Message.say("assistant", f"{line}Answer: {answer}"))]


SKILLS = [0.1, 0.25, 0.4, 0.55, 0.7, 0.85]


def rank_correlation(a: list[float], b: list[float]) -> float:
    """Spearman's, for lists without ties."""
    ranks = [[sorted(x).index(v) for v in x] for x in (a, b)]
    n = len(a)
    return 1 - 6 * sum((i - j) ** 2 for i, j in zip(*ranks, strict=True)) / (n * (n * n - 1))


def test_agents_read_the_whole_round_before_and_the_ranker_keeps_the_best() -> None:
    team = dylan(n=4, T=3, k=2).cast(
        agents=[says(i) for i in (1, 2, 3, 4)], ranker=lambda _: '{"best": [4, 2]}'
    )
    run = play(team)
    names = [f"agents_{i}" for i in range(1, 5)]
    assert edges(run) == [
        *((name, ()) for name in names),
        *((name, ("1", "2", "3", "4")) for name in names),
        ("ranker", ("5", "6", "7", "8")),
        ("agents_2", ("5", "6", "7", "8")),
        ("agents_4", ("5", "6", "7", "8")),
    ]


def test_more_than_two_thirds_end_the_talk_and_two_thirds_do_not() -> None:
    calls = {
        right: len(play(dylan(n=3, T=2, k=3).cast(agents=[says(42 if i < right else i) for i in range(3)],
                                                  ranker="sim:judge=1")).calls)
        for right in (2, 3)
    }  # fmt: skip
    assert calls == {2: 6, 3: 3}


def test_a_failed_agent_still_counts_among_those_who_must_agree() -> None:
    agents = [says(42), says(42), "sim:fail=1"]
    assert len(play(dylan(n=3, T=2, k=3).cast(agents=agents, ranker="sim:judge=1")).calls) == 3 + 2


def test_importance_flows_back_along_the_ratings() -> None:
    def agent(answer: int, ratings: str) -> object:
        return lambda said: (
            f"Ratings: {ratings}\nAnswer: {answer}" if "last round" in said else says(answer)("")
        )

    agents = [agent(42, "3, 1, 0"), agent(42, "[1, 1, 2]"), agent(7, "5 5 5")]
    run = play(dylan(n=3, T=2, k=3).cast(agents=agents, ranker="sim:judge=1"))
    first, last = importance_scores(run.tape)
    assert last == {"agents_1": 0.5, "agents_2": 0.5}
    assert first == {"agents_1": 0.5 * 3 / 4 + 0.5 / 4, "agents_2": 0.5 / 4 + 0.5 / 4, "agents_3": 0.25}


def rating(answer: int, *ratings: str) -> object:
    """Gives this answer, and these ratings in each later round."""
    line = f"Ratings: {', '.join(ratings)}\n"
    return lambda said: f"{line * ('last round' in said)}Answer: {answer}"


@tool
def look(word: str) -> str:
    """Look a word up."""
    return word


def with_a_tool(answer: int, *ratings: str) -> Agent:
    """The same, after a look at something."""

    def say(said: str) -> str:
        return f"Ratings: {', '.join(ratings)}\nAnswer: {answer}"

    first = Line("", match="Question|What is", tool_calls=[{"name": "look", "arguments": {"word": "x"}}])
    return Agent(Scripted([Line(say(""), match="^x$"), first]), tools=[look])


@motet.team
async def pair(task, solver, critic):
    """A team that stands for one agent; both of it read the task."""
    draft = await solver.ask(task)
    return await critic.ask(task, draft)


def test_importance_does_not_depend_on_how_an_agent_comes_to_its_answer() -> None:
    def scores(first: object, third: object) -> list[dict[str, float]]:
        agents = [first, rating(42, "1", "1", "2"), third]
        run = play(dylan(n=3, T=2, k=3).cast(agents=agents, ranker="sim:judge=1"))
        assert run.answer == "42"
        return importance_scores(run.tape)

    plain = scores(rating(42, "3", "1", "0"), rating(7, "5", "5", "5"))
    assert plain[0] == {"agents_1": 0.5, "agents_2": 0.25, "agents_3": 0.25}
    teams = [
        pair.cast(solver=rating(1), critic=rating(*said))
        for said in ((42, "3", "1", "0"), (7, "5", "5", "5"))
    ]
    assert scores(with_a_tool(42, "3", "1", "0"), rating(7, "5", "5", "5")) == plain
    assert scores(rating(42, "3", "1", "0"), with_a_tool(7, "5", "5", "5")) == plain
    assert scores(*teams) == plain


def test_who_read_only_itself_has_two_rounds() -> None:
    once = Scripted([Line("Answer: 1", times=1), Line(error="server")])
    agents = [with_a_tool(2), once]
    run = play(dylan(n=2, T=3, k=2).cast(agents=agents, ranker="sim:judge=1"))
    assert importance_scores(run.tape) == [
        {"agents_1": 0.5, "agents_2": 0.5}, {"agents_1": 1.0}, {"agents_1": 1.0}
    ]  # fmt: skip


@pytest.mark.parametrize("endless", ["9" * 5000, "1000"])
def test_a_rating_counts_no_more_than_the_scale_allows(endless: str) -> None:
    agents = [rating(42, endless, "5", "0"), rating(42, "5", "5", "0"), rating(7)]
    run = play(dylan(n=3, T=2, k=3).cast(agents=agents, ranker="sim:judge=1"))
    assert importance_scores(run.tape)[0] == {"agents_1": 0.5, "agents_2": 0.5, "agents_3": 0.0}


def test_who_never_contributed_comes_last() -> None:
    agents = ["sim:fail=1", says(1), says(42), says(42)]
    run = play(dylan(n=4, T=1).cast(agents=agents, ranker="sim:judge=1"))
    assert best_agents([run], 4) == ["agents_3", "agents_4", "agents_1", "agents_2"]
    assert best_agents([run], 9) == best_agents([run], 4)


def test_a_run_without_an_answer_has_no_importance() -> None:
    assert importance_scores(play(dylan.cast("sim:fail=1")).tape) == []


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 5), rounds=st.integers(1, 4), k=st.integers(1, 4), fail=st.sampled_from([0, 0.3]),
       seed=st.integers(0, 99))  # fmt: skip
def test_the_scores_of_each_round_sum_to_one(n: int, rounds: int, k: int, fail: float, seed: int) -> None:
    agents = [Peer(0.4) if i % 2 else f"sim:skill=0.4,fail={fail}" for i in range(n)]
    run = play(dylan(n=n, T=rounds, k=k).cast(agents=agents, ranker=f"sim:fail={fail}"), seed=seed)
    scores = importance_scores(run.tape)
    assert bool(scores) == run.ok
    assert all(math.isclose(sum(shares.values()), 1) for shares in scores)
    assert all(name.startswith("agents_") for shares in scores for name in shares)


def test_importance_ranks_agents_by_skill_and_the_best_team_does_as_well_for_less() -> None:
    tasks, crowd = sums(40), [Peer(skill) for skill in SKILLS]
    everyone = dylan(n=6, T=3, k=6).cast(agents=crowd, ranker="sim:judge=0.8")
    runs = play_all(everyone, tasks)
    names = [f"agents_{i}" for i in range(1, 7)]
    best = best_agents(runs, 6)
    assert rank_correlation([-best.index(name) for name in names], SKILLS) > 0.8
    chosen = [crowd[names.index(name)] for name in best[:3]]
    small = play_all(dylan(n=3, T=3, k=3).cast(agents=chosen, ranker="sim:judge=0.8"), tasks)
    assert sum(map(is_right, small)) >= sum(map(is_right, runs))
    assert sum(len(run.calls) for run in small) < 0.6 * sum(len(run.calls) for run in runs)


def test_a_good_ranker_is_worth_its_call() -> None:
    tasks, crowd = sums(60), [Peer(skill) for skill in (0.2, 0.3, 0.4, 0.8)]
    kept = {judge: accuracy(dylan(n=4, T=2, k=1).cast(agents=crowd, ranker=f"sim:judge={judge}"), tasks)
            for judge in (0, 1)}  # fmt: skip
    assert kept[1] > kept[0]
    assert is_right(play(dylan.cast("sim:skill=1"), SUM))
