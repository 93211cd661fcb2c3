"""Tree searches: how the tree grows, and what it is good for on voices of known skill."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import SUM, accuracy, edges, is_right, noise, play, play_all, said_to, says, sums

import motet
from motet import Task
from motet.methods import best_of_n, direct, mcts, mixture_of_agents, patched, self_refine, toa
from motet.methods.search.tree import NEUTRAL, Node
from motet.models.rule import Rule
from motet.tape.context import CALL
from motet.types import FailureKind, Message, Reply, Sampling

MORE = '{"notes": "Better.", "done": false}'


def scores(rule: dict[str, float]) -> Rule:
    """A judge that grades by a word in the last answer it is shown."""

    def judge(_: str) -> str:
        context = CALL.get()
        assert context
        last = context.sources[-1].text
        return '{"score": %s}' % next((s for word, s in rule.items() if word in last), 0.0)  # noqa: UP031

    return Rule(judge)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), min_size=1, max_size=30))
def test_a_node_counts_what_went_through_it(visits: list[tuple[int, float]]) -> None:
    root = Node("root")
    leaves = [Node("leaf", Node("child", root)) for _ in range(3)]
    for which, reward in visits:
        leaves[which].back_up(reward)
    assert root.visits == len(visits) == sum(child.visits for child in root.children)
    assert math.isclose(root.value, sum(reward for _, reward in visits), abs_tol=1e-9)
    for child in root.children:
        if child.visits:
            expected = child.mean + 0.7 * math.sqrt(math.log(root.visits) / child.visits)
            assert math.isclose(child.uct(0.7), expected)
        else:
            assert child.uct(0.7) == math.inf


def test_toa_tries_all_models_first_and_then_betters_the_best() -> None:
    judge = scores({"20": 1.0, "10": 0.2, "30": 0.4})
    run = play(toa(n=3, N=5, c=0.1).cast(agents=[says(i) for i in (10, 20, 30)], judge=judge))
    spoke = edges(run)
    assert spoke[:3] == [(f"agents_{i}", ()) for i in (1, 2, 3)]
    assert Counter(parents for voice, parents in spoke if voice == "judge")[("2",)] == 1
    later = [(voice, parents) for voice, parents in spoke[3:] if voice != "judge"]
    assert later == [("agents_2", ("2",)), ("agents_2", ("2", "7"))], "each answer on the way is shown"
    assert run.answer == "Answer: 20"
    assert run.tape.ended and run.tape.ended.parents[0] == "2"


def test_a_model_that_fails_is_not_built_upon_and_all_failing_ends_the_search() -> None:
    run = play(toa(n=2, N=6).cast(agents=["sim:fail=1", "sim:skill=1"], judge="sim:judge=1"))
    assert is_right(run)
    answered = {call.id for call in run.calls if call.voice == "agents_2"}
    assert all(set(call.parents) <= answered for call in run.calls if call.voice != "judge")
    one = play(toa(n=1, N=6).cast(agents=motet.models.scripted.Scripted(["Answer: 1"]), judge="sim:judge=1"))
    assert one.ok and [c.voice for c in one.calls] == ["agents_1", "judge", "agents_1"]
    none = play(toa.cast(agents="sim:fail=1", judge="sim:judge=1"))
    assert none.error and none.error.kind is FailureKind.NO_ANSWER and len(none.calls) == 3


class Improver:
    """Betters an answer that it is shown by a gain that depends on the kind of question, and on luck.

    Args:
        gains: by kind of question. seed: another seed is another improver of the same gains.
        sees: whether it builds on the best answer it is shown; on any of them otherwise.
    """

    def __init__(self, gains: dict[str, float], seed: int, sees: bool) -> None:
        self.gains, self.seed, self.sees = gains, seed, sees
        self.name = self.identity = f"improver {seed}"

    def answer(self, said: str, index: int) -> str:
        context = CALL.get()
        assert context and context.task
        luck = Random(f"{self.seed} {context.task.prompt} {said} {index}")
        shown = numbers(said) or [0.0]
        ground = max(shown) if self.sees else luck.choice(shown)
        return f"Answer: {ground + self.gains[context.task.meta['skill']] * luck.uniform(0.5, 1.5):.3f}"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        context = CALL.get()
        assert context
        drawn = [self.answer(messages[-1].text, context.index + i) for i in range(n)]
        return [Reply(message=Message.say("assistant", text), model=self.name) for text in drawn]


class Either(Improver):
    """One of some improvers, at random each time."""

    def __init__(self, improvers: Sequence[Improver]) -> None:
        self.improvers = improvers
        self.name = self.identity = "either"

    def answer(self, said: str, index: int) -> str:
        return Random(f"{said} {index}").choice(self.improvers).answer(said, index)


def numbers(said: str) -> list[float]:
    return [float(x) for x in re.findall(r"Answer: (-?[\d.]+)", said)]


def by_quality(_: str) -> str:
    context = CALL.get()
    assert context
    quality = float(context.sources[-1].text.rpartition(" ")[2])
    return f'{{"score": {min(1.0, max(0.0, quality / 8)):.4f}}}'


def pick_best(said: str) -> str:
    shown = numbers(said)
    return f'{{"best": {shown.index(max(shown)) + 1}}}'


ROUNDS = [Task(f"{kind} {i}?", target="1", meta={"skill": kind}) for kind in "ab" for i in range(10)]


def quality(team: motet.Team, calls: int) -> float:
    """The mean quality of a team's answers, which take it at most so many calls of all kinds."""
    runs = play_all(team, ROUNDS)
    assert max(len(run.calls) for run in runs) <= calls
    return sum(float(run.answer.rpartition(" ")[2]) for run in runs) / len(runs)


def pair(other: float, sees: bool) -> list[Improver]:
    """Two improvers, each good at one kind of question."""
    return [Improver({"a": 0.6, "b": other}, 1, sees), Improver({"a": other, "b": 0.6}, 2, sees)]


def searched(models: list[Improver]) -> motet.Team:
    return toa(n=2, N=9, c=0.1).cast(agents=models, judge=by_quality)


def mixed(models: list[Improver], layers: int) -> list[motet.Team]:
    """Mixtures of the two, in 2 * layers - 1 calls, under every aggregator."""
    team = mixture_of_agents(n=2, layers=layers).cast(proposers=models)
    return [team.cast(aggregator=last) for last in (*models, Either(models))]


def without_search(models: list[Improver], n: int) -> list[motet.Team]:
    """The best of `n` samples of one or either, and 9 drafts in a row with a critic between them."""
    return [
        team
        for solver in (*models, Either(models))
        for team in (
            best_of_n(n=n).cast(solver=solver, judge=pick_best),
            self_refine(r=8).cast(writer=solver, critic=lambda _: MORE),
        )
    ]


def test_toa_makes_the_most_of_as_many_generations_and_finds_who_is_good_at_what() -> None:
    """9 generations each: the 9 calls of TOA's reward model, and of rivals' judges, are not counted."""
    for models, figure in ((pair(0.1, True), 4.86), (pair(-0.3, False), 2.84)):
        ours = quality(searched(models), 18)
        assert ours == pytest.approx(figure, abs=0.005)
        assert all(ours > 1.7 * quality(rival, 9) for rival in mixed(models, 5))
        assert all(ours > 1.3 * quality(rival, 18) for rival in without_search(models, 9))
        for kind, expert in (("a", "agents_1"), ("b", "agents_2")):
            runs = play_all(searched(models), [task for task in ROUNDS if task.meta["skill"] == kind])
            asked = Counter(call.voice for run in runs for call in run.calls if call.voice != "judge")
            assert asked[expert] > 0.75 * asked.total()


def test_toa_explores_too_much_when_c_is_large_for_its_rewards() -> None:
    models = pair(0.1, True)
    assert quality(searched(models)(c=0.5), 18) == pytest.approx(2.55, abs=0.005)
    assert quality(searched(models)(c=0.5), 18) < min(quality(rival, 9) for rival in mixed(models, 5))


def test_toa_pays_for_its_judge_where_models_spoil_answers_and_not_where_they_know_the_best() -> None:
    """18 calls of all kinds each."""
    blind, seeing = pair(-0.3, False), pair(0.1, True)
    ours = quality(searched(blind), 18)
    rivals = [quality(rival, 18) for rival in (*mixed(blind, 9), *without_search(blind, 17))]
    assert ours > 1.15 * max(rivals) and max(rivals) == pytest.approx(2.36, abs=0.005)
    ours = quality(searched(seeing), 18)
    assert all(ours > 1.3 * quality(rival, 18) for rival in without_search(seeing, 17))
    deeper = [quality(rival, 18) for rival in mixed(seeing, 9)]
    assert min(deeper) > ours and max(deeper) == pytest.approx(5.08, abs=0.005)


def test_toa_beats_as_many_samples_of_the_best_model_where_models_complement_each_other() -> None:
    tasks = [*sums(40, skill="a"), *sums(40, skill="b")]
    one, other = (f"sim:skill.a={a},skill.b={0.62 - a:.2f},follow=0,fix=0.2" for a in (0.6, 0.02))
    tree = accuracy(toa(n=2, N=6).cast(agents=[one, other], judge="sim:judge=1"), tasks)
    alone = accuracy(best_of_n(n=6).cast(solver=one, judge="sim:judge=1"), tasks)
    assert tree > alone + noise(0.5, len(tasks))


TALK = {"user": lambda _: "Are you sure?"}


def test_a_simulation_plays_the_talk_on_and_the_judge_hears_all_of_it() -> None:
    run = play(
        mcts(n=2, simulations=2, depth=1).cast(solver=says(42), judge=lambda _: '{"score": 1}', **TALK)
    )
    assert [voice for voice, _ in edges(run)] == [
        *["solver", "solver", "user", "solver", "judge"],
        *["user", "solver", "solver", "user", "solver", "judge"],
    ]
    heard = said_to(run, "judge")[1]
    assert heard.count("User: ") == 2 and heard.count("Assistant: ") == 3
    assert heard.index("17 + 25") < heard.index("Are you sure?")
    first = {"1", "2"}
    assert run.tape.ended and run.tape.ended.parents[0] in first


def test_the_first_answer_that_was_visited_most_is_given() -> None:
    answers = iter([1, 2, 3] + [9] * 100)
    judge = Rule(lambda said: '{"score": %d}' % ("Assistant: Answer: 2" in said))  # noqa: UP031
    team = mcts(n=3, simulations=8, depth=0).cast(
        solver=lambda _: f"Answer: {next(answers)}", judge=judge, **TALK
    )
    assert play(team).answer == "Answer: 2"


def test_the_same_seed_gives_the_same_search_and_another_may_not() -> None:
    team = mcts(n=3, simulations=1, depth=0).cast(solver="sim:skill=0", judge="sim:judge=1", **TALK)
    first = {seed: [call.parents for call in play(team, seed=seed).calls] for seed in range(8)}
    assert first == {seed: [call.parents for call in play(team, seed=seed).calls] for seed in range(8)}
    assert len({str(calls) for calls in first.values()}) > 1


def test_tree_search_is_better_than_one_sample() -> None:
    tasks = sums(80)
    one = accuracy(direct.cast("sim:skill=0.4"), tasks)
    tree = accuracy(
        mcts(n=3, simulations=5, depth=0).cast(solver="sim:skill=0.4", judge="sim:judge=1", **TALK), tasks
    )
    assert tree > one + noise(0.5, len(tasks))


@pytest.mark.parametrize("voice", ["user", "judge"])
def test_a_talk_that_breaks_off_is_graded_as_it_is_and_no_judge_is_neutral(voice: str) -> None:
    run = play(mcts(simulations=3).cast("sim:skill=1").cast(**{voice: "sim:fail=1"}))
    assert is_right(run)
    assert NEUTRAL == 0.5


@pytest.mark.parametrize(("strategy", "calls"), [("bon", 4), ("moa", 5), ("mcts", 13)])
def test_a_patched_model_stands_where_the_model_stood(strategy: str, calls: int) -> None:
    run = play(direct.cast(patched("sim:skill=1,judge=1", strategy, n=3)), SUM)
    assert is_right(run)
    assert len(run.calls) == calls
    with pytest.raises(motet.errors.UnknownName, match="strategy"):
        patched("sim:skill=1", "mctts")


@pytest.mark.parametrize("strategy", ["bon", "moa"])
def test_a_patched_small_model_beats_one_sample_of_itself(strategy: str) -> None:
    tasks, model = sums(100), "sim:skill=0.45,judge=0.9,follow=1"
    plain = accuracy(direct.cast(model), tasks)
    assert accuracy(direct.cast(patched(model, strategy)), tasks) > plain + noise(0.5, len(tasks))


def test_the_synthesis_reads_candidates_and_critique() -> None:
    run = play(patched("sim:skill=1", "moa"))
    assert edges(run) == [
        *[("solver", ())] * 3,
        ("critic", ("1", "2", "3")),
        ("writer", ("1", "2", "3", "4")),
    ]
