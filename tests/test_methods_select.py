"""Who is asked and who is believed: recruiting by skill, diversity, and ranking two by two."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import SUM, accuracy, edges, is_right, noise, play, play_all, said_to, says, sums

from motet import Agent, Budget, Store, Task, Team
from motet.errors import BadInput, ServerError
from motet.methods import (
    Log,
    best_aggregator,
    chain_of_thought,
    fittest,
    focal_diversity,
    focal_fusion,
    rank_and_fuse,
    read_log,
    run_grouped,
    self_consistency,
    skill_probe,
    skill_profiles,
    symbolic_moe,
    train_decider,
    train_fusion,
)
from motet.methods import mixture_of_agents as moa
from motet.methods.aggregate.focal_diversity import accuracy as voted
from motet.methods.aggregate.focal_diversity import fitness, focal_correlation, plurality
from motet.methods.aggregate.symbolic_moe import Skills, agreed, nearest, suitability
from motet.models.rule import Rule
from motet.models.sim import Sim
from motet.models.wrappers import Shelf
from motet.tape.context import CALL
from motet.types import FailureKind, Message, Reply, Sampling

TEACHES = "sim:skill=0,follow=1,judge=1"  # knows the right answer when it sees it
MERGES = "sim:skill=0,follow=1"  # says what most say

# Ranking two by two


def test_every_pair_is_compared_in_both_orders_and_the_best_are_fused() -> None:
    best = Rule(lambda said: '{"best": %d}' % (1 if said.index("Answer: 9") < said.index("[2]") else 2)  # noqa: UP031
                if "Answer: 9" in said else '{"best": 1}')  # fmt: skip
    proposers = [says(i) for i in (1, 2, 9)]
    run = play(rank_and_fuse(n=3, k=2).cast(proposers=proposers, ranker=best, fuser="sim:skill=1"))
    compared = [parents for voice, parents in edges(run) if voice == "ranker"]
    assert Counter(compared) == Counter([(a, b) for a in "123" for b in "123" if a != b])
    assert edges(run)[-1] == ("fuser", ("3", "1")), "three wins against two against one"
    shown = said_to(run, "ranker")[0]
    assert shown.index("[1] Answer: 1") < shown.index("[2] Answer: 2")


def test_a_ranker_that_only_likes_a_place_decides_nothing() -> None:
    for place in (1, 2):
        ranker = Rule(lambda _, place=place: f'{{"best": {place}}}')
        team = rank_and_fuse(n=3, k=0).cast(
            proposers=[says(i) for i in (4, 5, 6)], ranker=ranker, fuser=MERGES
        )
        assert play(team).answer == "Answer: 4", "all have two wins: the first stands"


def test_with_k_0_or_a_broken_fuser_the_first_of_the_ranking_is_the_answer() -> None:
    cast: dict[str, Any] = {"proposers": [says(1), says(42)], "ranker": "sim:judge=1", "fuser": "sim:fail=1"}
    for k in (0, 2):
        run = play(rank_and_fuse(n=2, k=k).cast(**cast))
        assert run.answer == "Answer: 42"
        assert run.tape.ended and run.tape.ended.parents[0] == "2"
    assert play(rank_and_fuse(n=2).cast(**(cast | {"ranker": "sim:fail=1"}))).answer == "Answer: 1"


def test_pairs_find_the_right_answer_that_a_vote_misses() -> None:
    tasks = sums(60)
    ranked = rank_and_fuse(n=4, k=1).cast(proposers="sim:skill=0.35", ranker="sim:judge=0.6", fuser=MERGES)
    one_vote = accuracy(self_consistency(n=4).cast("sim:skill=0.35"), tasks)
    assert accuracy(ranked, tasks) > one_vote + noise(0.5, len(tasks)) / 2


def test_fusing_pays_where_the_ranker_errs_and_not_where_it_knows_better_than_the_fuser() -> None:
    tasks = sums(120)

    def right(ranks: float, fuses: float) -> list[float]:
        cast = {"ranker": f"sim:judge={ranks}", "fuser": f"sim:skill=0,follow=1,judge={fuses}"}
        team = rank_and_fuse.cast(proposers="sim:skill=0.35", **cast)
        return [accuracy(team(k=k), tasks) for k in (0, 1, 3)]

    margin = noise(0.5, len(tasks))
    first, one, three = right(ranks=0.2, fuses=0.9)
    assert three > max(first, one) + margin
    first, one, three = right(ranks=0.9, fuses=0.2)
    assert three < min(first, one) - margin


# Recruiting by skill

KINDS = ("algebra", "botany", "chess")
EXPERTS = [f"sim:skill=0.2,skill.{kind}=0.9,seed={i}" for i, kind in enumerate(KINDS)]


def names_skills(_: str) -> str:
    context = CALL.get()
    assert context and context.task
    return json.dumps({"skills": [context.task.meta["skill"]]})


def questions(n: int) -> list[Task]:
    """`n` questions of each kind."""
    return [task for kind in KINDS for task in sums(n, skill=kind)]


def profiled(n: int = 12) -> list[dict[str, int]]:
    probe = skill_probe(n=3, q=2).cast(keyworder=names_skills, experts=EXPERTS)
    return skill_profiles(play_all(probe, questions(n)))


def recruiting(profiles: Sequence[dict[str, int]], **knobs: Any) -> Team[...]:
    settings = {"n": 3, "k": 2, "q": 2} | knobs
    return symbolic_moe(**settings, profiles=profiles).cast(
        keyworder=names_skills, experts=EXPERTS, aggregator=MERGES
    )


def test_profiles_count_right_less_wrong_for_each_skill() -> None:
    probe = skill_probe(n=2, q=2).cast(
        keyworder=lambda said: json.dumps({"skills": ["reading", "tens" if "1" in said else "units"]}),
        experts=["sim:skill=1", "sim:fail=1"],
    )
    profiles = skill_profiles(play_all(probe, sums(12)))
    assert profiles == [{"reading": 12, "units": 9, "tens": 3}, {"reading": -12, "units": -9, "tens": -3}]


def test_suitability_is_local_times_global() -> None:
    profiles = [{"a": 3, "b": 1}, {"a": 1, "b": 1}, {"a": -2, "b": 6}]
    assert suitability(["a"], profiles) == pytest.approx([3 * 16 / 52, 1 * 4 / 52, 0])
    assert suitability(["b"], profiles, tau=1) == pytest.approx([4 / 30, 2 / 30, 24 / 30])
    losers = [{"a": -3}, {"a": -1}]  # both below 0: shifted to 1 and 3, totals too
    assert suitability(["a"], losers) == pytest.approx([1 / 28, 27 / 28])
    assert suitability([], profiles) == suitability(["a"], [{}, {}, {}]) == [1 / 3] * 3
    assert suitability(["a"], [{"a": 1, "b": -1}, {"a": 1, "b": -1}]) == [0.5, 0.5]


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(-9, 9), max_size=3),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.sampled_from(["a", "b", "x"]), max_size=3),
    st.floats(0, exclude_min=True),
)
def test_suitability_is_always_a_distribution(
    profiles: list[dict[str, int]], skills: list[str], tau: float
) -> None:
    weights = suitability(skills, profiles, tau)
    assert abs(sum(weights) - 1) < 1e-9 and min(weights) >= 0


def test_the_smallest_tau_leaves_only_the_most_competent_of_those_who_suit() -> None:
    profiles = [{"a": 1, "b": 40}, {"a": 9}, {"a": -1, "b": 90}]
    assert suitability(["a"], profiles, tau=1e-300) == [1, 0, 0]


def test_an_unknown_skill_is_taken_for_the_one_that_looks_like_it() -> None:
    assert nearest("linear algebra", ["chess", "algebra", "botany"]) == "algebra"
    assert nearest("algebraic", ["botany", "algebra"]) == "algebra"


def test_the_right_expert_is_recruited_and_beats_random_and_every_single_one() -> None:
    tasks, profiles = questions(30), profiled()
    team = recruiting(profiles)
    runs = play_all(team, tasks)
    seats = [(f"experts_{KINDS.index(t.meta['skill']) + 1}", r) for t, r in zip(tasks, runs, strict=True)]
    drawn = [c.voice == seat for seat, r in seats for c in r.calls if c.voice.startswith("experts")]
    assert sum(drawn) / len(drawn) > 0.95
    ours = sum(map(is_right, runs)) / len(runs)
    margin = noise(0.5, len(tasks))
    assert ours > accuracy(recruiting([]), tasks) + margin
    assert all(ours > accuracy(self_consistency(n=3).cast(e), tasks) + margin for e in EXPERTS)


def test_skills_count_when_two_replies_name_them_and_sentences_do_not() -> None:
    replies = iter(
        [{"skills": ["Algebra ", "odd"]}, {"skills": ["algebra", "I need to think about numbers"]}] * 2
    )
    profiles = [{"algebra": 1}, {"odd": 9, "algebra": -9}]
    team = symbolic_moe(n=2, k=4, q=2, profiles=profiles).cast(
        keyworder=lambda _: json.dumps(next(replies)), experts=[says(1), says(2)], aggregator=MERGES
    )
    assert {voice for voice, _ in edges(play(team)) if voice.startswith("experts")} == {"experts_1"}


def test_a_word_that_one_reply_repeats_is_named_once() -> None:
    replies = [Skills(["chess", "Chess ", "botany"]), Skills(["botany"])]
    assert agreed(replies, 2) == ["botany"] and agreed(replies, 1) == ["chess", "botany"]


class Heated(Rule):
    """Names another skill each time, unless it is asked at temperature 0."""

    def __init__(self) -> None:
        super().__init__(lambda _: "", name="heated")
        self.named = count()

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        skill = f"skill {next(self.named) if sampling.temperature else 0}"
        return [Reply(message=Message.say("assistant", json.dumps({"skills": [skill]})))] * n


def test_the_keyworder_is_asked_at_the_temperature_of_the_method() -> None:
    cool = Agent(Heated(), sampling=Sampling(temperature=0))
    recruited = symbolic_moe(q=3).cast("sim:skill=1").cast(keyworder=cool)
    probed = skill_probe(q=3).cast("sim:skill=1").cast(keyworder=cool)
    for team in (recruited, probed):
        calls = play(team).calls
        heat = {c.sampling.temperature for c in calls if c.voice != "aggregator"}
        assert heat == {0.7}, "so that what two replies name is no echo of one"
        assert {c.sampling.temperature for c in play(team(temperature=0.3)).calls} <= {0.3, None}
    assert skill_profiles([play(probed(n=1))]) == [{}]
    assert skill_profiles([play(probed(n=1, temperature=0))]) == [{"skill 0": 1}]


def test_a_team_is_profiled_and_tried_like_a_model() -> None:
    teams = [chain_of_thought.cast("sim:skill=1"), self_consistency(n=2).cast("sim:skill=0")]
    runs = play_all(skill_probe(n=2, q=1).cast(keyworder=names_skills, experts=teams), sums(5, skill="chess"))
    assert skill_profiles(runs) == [{"chess": 5}, {"chess": -5}]
    crowd = Together()
    options = {"store": Store.memory()}
    assert asyncio.run(best_aggregator(runs, [MERGES, Agent(crowd)], **options)) == 1
    assert crowd.peak == len(runs), "all trials are under way together"
    assert asyncio.run(best_aggregator(runs, [MERGES, Sim(judge=1)], budget=Budget(calls=2), **options)) == 0
    with pytest.raises(BadInput, match="nobody sings solver"):
        asyncio.run(best_aggregator(runs, [MERGES, self_consistency], **options))


class Together(Sim):
    """Knows the right answer when it sees it, and counts how many ask it at once."""

    def __init__(self) -> None:
        super().__init__(skill=0, judge=1, follow=1)
        self.now = self.peak = 0

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        self.now += 1
        self.peak = max(self.peak, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return await super().sample(messages, n, sampling)


def test_profiles_that_do_not_fit_the_pool_are_refused() -> None:
    with pytest.raises(BadInput, match="2 profiles for 3 experts"):
        play(recruiting([{}, {}]))
    with pytest.raises(BadInput, match="tau=0"):
        play(recruiting([], tau=0))


def test_the_best_aggregator_tells_right_from_wrong_rationales() -> None:
    probe = skill_probe(n=2, q=1).cast(
        keyworder=names_skills, experts=["sim:skill=0.5,seed=1", "sim:skill=0.5"]
    )
    runs = play_all(probe, sums(24, skill="algebra"))
    candidates = ["sim:skill=0.5,follow=0", "sim:skill=0,judge=0.95,follow=1", MERGES]
    assert asyncio.run(best_aggregator(runs, candidates, store=Store.memory())) == 1


# One model in memory at a time


def test_a_batch_loads_every_model_once() -> None:
    tasks, loaded, inside = questions(8), [], Counter[str]()

    async def load(name: str) -> None:
        assert not inside, "another model is still in its place"
        inside[name] += 1
        loaded.append(name)

    async def unload(name: str) -> None:
        del inside[name]

    team = recruiting(profiled(3), k=2).cast(
        keyworder=Rule(names_skills, "keys"), aggregator="sim:skill=1,seed=9"
    )
    options = {"load": load, "unload": unload, "store": Store.memory()}
    runs, loads = asyncio.run(run_grouped(team, tasks, **options))
    recruits = {c.model for run in runs for c in run.calls if c.voice.startswith("experts")}
    assert loads == Counter(loaded) == Counter({c.model for run in runs for c in run.calls})
    assert len(recruits) == 3 and len(loads) == 5
    alone = play_all(team, tasks)
    assert [run.answer for run in runs] == [run.answer for run in alone], "grouping changes no answer"
    one_by_one = sum(asyncio.run(run_grouped(team, [t], store=Store.memory()))[1].total() for t in tasks)
    assert one_by_one >= 3 * len(tasks)


def test_a_model_that_cannot_be_loaded_fails_like_a_voice() -> None:
    async def load(name: str) -> None:
        if "seed=1" in name:
            raise ServerError(f"{name} does not fit")

    team = moa(n=2, layers=2).cast(proposers=["sim:skill=1,seed=1", "sim:skill=1"], aggregator=MERGES)
    runs, loads = asyncio.run(run_grouped(team, sums(4), load=load, store=Store.memory()))
    assert all(map(is_right, runs))
    assert {call.failure.kind for run in runs for call in run.calls if call.failure} == {FailureKind.SERVER}
    assert "sim:skill=1,seed=1" not in loads


def test_who_gives_up_waiting_for_a_model_holds_up_nobody() -> None:
    async def scene() -> Counter[str]:
        shelf, one, other = Shelf(linger_s=0.0), Rule(str.upper, "one"), Rule(str.lower, "other")
        ask = [Message.say("user", "Hey")]
        await shelf.hold(one).sample(ask, 1, Sampling())
        waiting = [asyncio.create_task(shelf.hold(other).sample(ask, 1, Sampling())) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        (reply,) = await waiting[1]
        assert reply.text == "hey" and waiting[0].cancelled()
        await shelf.hold(one).sample(ask, 1, Sampling())
        return shelf.loads

    assert asyncio.run(scene()) == {"one": 2, "other": 1}


# Focal diversity and fusion


def log_of(rows: Sequence[Sequence[str]], gold: str = "1") -> Log:
    return Log(tuple(tuple(row) for row in rows), (gold,) * len(rows))


def test_focal_diversity_by_hand() -> None:
    correct = [[False, True, True], [False, False, True], [True, True, False], [True, True, True]]
    # focal 0 fails with one and with two of three failing: p(1) = 3/3, p(2) = 2/6
    assert focal_correlation(correct, (0, 1, 2), 0) == pytest.approx(1 - (2 / 6) / 1)
    assert focal_correlation(correct, (0, 1, 2), 1) == pytest.approx(1 - (2 / 6) / (2 / 3))
    assert focal_correlation(correct, (0, 1, 2), 2) == 1
    assert focal_diversity(correct, (0, 1, 2)) == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    with pytest.raises(BadInput, match="two or more"):
        focal_diversity(correct, (0,))


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=12))
def test_focal_diversity_is_a_share(correct: list[list[bool]]) -> None:
    assert -1e-9 <= focal_diversity(correct, (0, 1, 2)) <= 1 + 1e-9
    together = [[row[0]] * 3 for row in correct]
    assert focal_diversity(together, (0, 1, 2)) == (1 if all(r[0] for r in correct) else pytest.approx(0))


def pool_log(n: int, seed: int) -> Log:
    """Six members: two of one mind, two of another, a good one that errs alone, and a bad one."""
    rng, rows = Random(seed), []
    for _ in range(n):
        minds = [rng.random() < 0.66 for _ in range(2)]
        lone, bad = rng.random() < 0.75, rng.random() < 0.3
        shared = [str(rng.randint(2, 5)) for _ in range(2)]
        said = ["1" if minds[i // 2] else shared[i // 2] for i in range(4)]
        rows.append([*said, "1" if lone else str(rng.randint(2, 5)), "1" if bad else str(rng.randint(2, 5))])
    return log_of(rows)


def test_complementary_subsets_rank_above_redundant_ones() -> None:
    log = pool_log(300, 0)
    assert focal_diversity(log.correct, (0, 2, 4)) > focal_diversity(log.correct, (0, 1, 4)) + 0.1
    assert focal_diversity(log.correct, (0, 1)) == pytest.approx(0)
    assert fitness(log, (0, 2, 4)) > fitness(log, (0, 1, 4)) > fitness(log, (0, 1, 5))


def test_the_decider_learns_a_small_complementary_subset() -> None:
    for seed in (10, 11, 12):
        log = pool_log(120, seed)
        chosen, best = train_decider(log, w=0.3), fittest(log, log.size, w=0.3)
        assert (
            len(chosen) == len(best) == 3 and fitness(log, chosen, w=0.3) > fitness(log, best, w=0.3) - 0.01
        )
        assert not {0, 1} <= set(chosen) and not {2, 3} <= set(chosen)
        assert train_decider(log, w=0.3) == chosen


def test_fusion_of_the_chosen_beats_the_best_member_and_the_vote_on_held_out_items() -> None:
    train, test = pool_log(300, 2), pool_log(1500, 3)
    members = (0, 2, 4)
    weights = train_fusion(train, members)
    assert weights[2] > max(weights[:2]) and weights[2] < weights[0] + weights[1], "first among near-equals"
    fused, margin = voted(test, members, weights), noise(0.2, 1500) / 2
    assert fused > max(voted(test, (i,)) for i in range(test.size)) + margin
    assert fused > voted(test, range(test.size)) + margin
    assert fused > voted(test, members) + margin / 2


def test_plurality_breaks_ties_by_order_and_ignores_what_cannot_be_read() -> None:
    row = ("7", None, "8", "8")
    assert plurality(row, (0, 2)) == "7"
    assert plurality(row, (0, 2, 3)) == "8"
    assert plurality(row, (0, 2, 3), (2.5, 1, 1)) == "7"
    assert plurality(row, (1,)) is None


def test_the_log_is_read_from_tapes_and_the_team_asks_only_the_chosen() -> None:
    pool: list[Any] = [Sim(skill=1), "sim:fail=1", "sim:skill=0", lambda _: "No idea."]
    log = read_log(play_all(focal_fusion(n=4).cast(agents=pool), sums(3)))
    assert log.gold == ("0", "2", "4")
    assert [row[1] for row in log.answers] == [row[3] for row in log.answers] == [None] * 3
    assert [row[0] for row in log.correct] == [True] * 3 and not any(row[2] for row in log.correct)
    run = play(focal_fusion(n=4, members=(2, 0), weights=(0.1, 0.9)).cast(agents=pool))
    assert [voice for voice, _ in edges(run)] == ["agents_3", "agents_1"]
    assert run.answer == "42" and run.tape.ended and run.tape.ended.parents == ("2",)
    with pytest.raises(BadInput, match="0 to 3"):
        play(focal_fusion(n=4, members=(4,)).cast(agents=pool))
    with pytest.raises(BadInput, match="one for each"):
        play(focal_fusion(n=4, members=(1, 2), weights=(1.0,)).cast(agents=pool))


def test_a_team_whose_members_say_nothing_readable_has_no_answer() -> None:
    run = play(focal_fusion(n=2).cast(agents=lambda _: "No idea."), SUM)
    assert run.error and run.error.kind is FailureKind.NO_ANSWER
