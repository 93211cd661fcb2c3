"""Every preset against numbers worked out by hand."""

from math import exp, log, sqrt
from typing import Any

import pytest
from pytest import approx
from trajectories import path, rollout

from motet.credit import PRESETS, Credit, Step, Trajectory, credit
from motet.errors import BadInput, UnknownName

Z = 1 / sqrt(2)  # (1 − ½)/std of 1 and 0


def first(trajectories: list[Trajectory], name: str, **options: Any) -> list[float | None]:
    """The advantage of each trajectory's first step."""
    return [row[0] for row in credit(trajectories, name, **options).advantages]


def rows(found: Credit) -> list[Any]:
    return [approx(row) for row in found.advantages]


FOUR = [rollout(r) for r in (1.0, 0.0, 0.0, 1.0)]


def test_outcome_presets() -> None:
    std = sqrt(1 / 3)
    assert first(FOUR, "dr_grpo") == [0.5, -0.5, -0.5, 0.5]
    assert first(FOUR, "rloo") == approx([2 / 3, -2 / 3, -2 / 3, 2 / 3])
    assert first(FOUR, "grpo", eps=0) == approx([0.5 / std, -0.5 / std, -0.5 / std, 0.5 / std])
    assert first(FOUR, "grpo", eps="trl")[0] == 0.5 / (std + 1e-4)
    assert first(FOUR, "grpo", eps="openrlhf")[0] == 0.5 / (std + 1e-9)
    assert first(FOUR, "grpo")[0] == 0.5 / (std + 1e-6)
    two = [rollout(1.0, group="a"), rollout(0.0, group="a"), rollout(4.0, group="b"), rollout(0.0, group="b")]
    assert first(two, "reinforce_pp", eps=0) == approx([-0.25 / w, -1.25 / w, 2.75 / w, -1.25 / w])
    assert first(two, "grpo", scale="batch", eps=0) == approx([0.5 / v, -0.5 / v, 2 / v, -2 / v])


w = sqrt((0.25**2 + 1.25**2 + 2.75**2 + 1.25**2) / 3)
v = sqrt((0.5 + 8) / 3)


def test_running_baselines_are_subtracted_before_they_move_and_go_on() -> None:
    games = [
        rollout(r, voice=s, game="kuhn") for r, s in ((1.0, "p0"), (-1.0, "p1"), (0.0, "p0"), (1.0, "p1"))
    ]
    found = credit(games, "rae")
    assert rows(found) == [(1.0,), (-1.0,), (-0.05,), (1.05,)]
    assert found.state == approx({"kuhn/p0": 0.0475, "kuhn/p1": 0.0025})
    assert credit(games[:1], "rae", state=found.state).advantages[0] == approx((0.9525,))
    assert first(games, "reinforce", decay=0.5) == approx([1.0, -1.5, 0.25, 1.125])
    dropped = credit([rollout(0.0), rollout(1.0)], "rae", drop_zero=True)
    assert (dropped.advantages, dropped.counts["filtered"]) == (((None,), (1.0,)), 1)


def test_dapo_drops_what_teaches_nothing_and_penalises_what_is_overlong() -> None:
    flat = [rollout(1.0, group="easy"), rollout(1.0, group="easy")]
    long = [rollout(1.0, Step(tokens=n), group="hard") for n in (10, 80, 95, 200)] + [
        rollout(0.0, group="hard")
    ]
    found = credit([*flat, *long], "dapo", longest=100, cache=20, eps=0)
    assert found.advantages[:2] == ((None,), (None,))
    assert found.counts == {
        "trajectories": 7,
        "groups": 1,
        "filtered_groups": 1,
        "filtered": 2,
        "overlong": 2,
    }
    shaped = [1.0, 1.0, 0.25, 0.0, 0.0]
    assert found.advantages[2:] == credit([rollout(r) for r in shaped], "grpo", eps=0).advantages


def test_token_gae() -> None:
    one = rollout(1.0, Step(value=0.5, tokens=2), Step(value=(0.2,), tokens=1))
    found = credit([one], "ppo_token_gae", gamma=0.9, lam=0.5)
    last = 1.0 - 0.2
    second = 0.9 * 0.2 - 0.5 + 0.45 * last
    start = 0.9 * 0.5 - 0.5 + 0.45 * second
    assert found.tokens == ((approx((start, second)), approx((last,))),)
    assert found.advantages == ((approx((start + second) / 2), approx(last)),)


def test_turn_then_token_gae() -> None:
    one = rollout(1.0, Step(value=(0.1, 0.5), tokens=2), Step(value=0.2, tokens=1))
    found = credit([one], "ppo_turn_gae", gamma=1.0, lam=1.0, turn_gamma=0.5)
    second = 1.0 - 0.2
    turn = 0.5 * 0.2 - 0.5 + 0.5 * second
    assert found.advantages == (approx((turn, second)),)
    assert found.tokens == ((approx((0.5 - 0.1 + turn, turn)), approx((second,))),)
    white = credit([one], "ppo_turn_gae", whiten=True).tokens
    assert white is not None
    assert sum(x for row in white[0] for x in row or ()) == approx(0, abs=1e-9)


def test_gigpo() -> None:
    a = path(1.0, "sxs")  # returns .81, .9, 1 at γ = .9
    b = path(0.0, "sy")
    found = credit([a, b], "gigpo", scale="none", gamma=0.9, omega=2.0)
    mean = (0.81 + 1.0 + 0.0) / 3
    assert rows(found) == [(0.5 + 2 * (0.81 - mean), 0.5, 0.5 + 2 * (1 - mean)), (-0.5 - 2 * mean, -0.5)]
    assert (found.counts["anchors"], found.counts["lone_anchors"]) == (3, 2)
    near = [path(1.0, ""), path(0.0, "")]
    texts = ("you are in the kitchen, 3 apples", "you are in the kitchen, 2 apples")
    near = [rollout(r, Step(state="door"), Step(state=s)) for r, s in zip((1.0, 0.0), texts, strict=True)]
    assert credit(near, "gigpo", similar=0.95).counts["anchors"] == 2
    assert credit(near, "gigpo").counts["anchors"] == 3


def test_at_grpo_compares_samples_of_one_agent_and_turn() -> None:
    team = [
        rollout(r, Step(state="s", reward=0.5 * r), voice=v) for v in ("coder", "tester") for r in (1.0, 0.0)
    ]
    assert first(team, "at_grpo", eps=0) == approx([Z, -Z, Z, -Z])
    assert first(team, "at_grpo", scale="none", alpha=2.0) == [1.25, -1.25, 1.25, -1.25]
    assert first(team, "at_grpo", scale="none", alpha=0.0) == [0.25, -0.25, 0.25, -0.25]


def test_magrpo_trees_and_marginals() -> None:
    leaf = [(1.0, "a", "x"), (0.0, "a", "y"), (0.0, "b", "z"), (0.0, "b", "u")]
    tree = [rollout(r, Step(node=m), Step(node=n), voice=v) for v in ("w", "c") for r, m, n in leaf]
    found = credit(tree, "magrpo", gamma=0.9)
    assert rows(found)[:4] == [(0.225, 0.5), (0.225, -0.5), (-0.225, 0.0), (-0.225, 0.0)]
    assert found.advantages[:4] == found.advantages[4:]
    joint = {("w1", "c1"): 1.0, ("w1", "c2"): 0.0, ("w2", "c1"): 0.5, ("w2", "c2"): 0.1}
    cross = [
        rollout(None, voice=name[0], joint_rewards=tuple(r for pair, r in joint.items() if name in pair))
        for name in ("w1", "w2", "c1", "c2")
    ]
    assert first(cross, "magrpo", mode="cross") == approx([1 - 0.8, 0.6 - 0.8, 1.5 - 0.8, 0.1 - 0.8])
    clipped = credit(cross, "magrpo", mode="cross", clip=0.5)
    assert (clipped.advantages[2], clipped.counts["clipped"]) == ((0.5,), 2)


def test_malt_labels_nodes_by_the_mean_of_their_leaves() -> None:
    leaves = [(1.0, "a", "x"), (1.0, "a", "y"), (0.0, "a", "z"), (0.0, "b", "u")]
    tree = [rollout(r, Step(node=g), Step(node=v)) for r, g, v in leaves]
    assert credit(tree, "malt").advantages == ((1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (-1.0, -1.0))
    assert first(tree, "malt", soft=True) == approx([1 / 6, 1 / 6, 1 / 6, -0.5])


def test_dr_mas_keeps_statistics_for_each_voice() -> None:
    team = [rollout(r, voice=v) for r, v in ((1.0, "a"), (0.0, "a"), (10.0, "b"), (0.0, "b"))]
    assert first(team, "dr_mas", eps=0) == approx([Z, -Z, Z, -Z])


def test_mt_grpo() -> None:
    a = rollout(1.0, Step(reward=0.2), Step())
    b = rollout(0.0, Step(reward=0.4), Step())
    assert rows(credit([a, b], "mt_grpo", weight=0.5, eps=0)) == [(Z - 0.5 * Z, Z), (-Z + 0.5 * Z, -Z)]
    alone = rollout(0.5, Step(reward=0.1))
    found = credit([a, b, alone], "mt_grpo", eps=0)
    mean, spread = (1.2 + 0.4 + 0.6) / 3, sqrt((0.4667**2 + 0.3333**2 + 0.1333**2) / 2)
    assert found.advantages[2] == approx(((0.6 - mean) / spread,), rel=1e-3)
    assert found.counts["without_tool"] == 1


def test_igpo_normalises_then_discounts() -> None:
    known = [(0.1, 0.4), (0.1, 0.2)]
    a, b = (
        rollout(r, *(Step(answer_logp=log(p)) for p in ps)) for r, ps in zip((1.0, 0.0), known, strict=True)
    )
    pool = [0.3, 1.0, 0.1, 0.0]
    mean = sum(pool) / 4
    found = credit([a, b], "igpo", scale="none", gamma=0.5)
    assert rows(found) == [(0.3 - mean + 0.5 * (1 - mean), 1 - mean), (0.1 - mean - 0.5 * mean, -mean)]
    snapshot = credit([a, b], "igpo", scale="none", gamma=0.5, order="discount_first")
    late = (0.8 + 1.0 + 0.1 + 0.0) / 4
    assert rows(snapshot) == [(0.8 - late, 1 - late), (0.1 - late, -late)]
    apart = credit([a, b], "igpo", scale="none", pool="separate", gamma=0)
    assert rows(apart) == [(0.1, 0.5), (-0.1, -0.5)]
    logs = credit([a, b], "igpo", scale="none", pool="separate", gamma=0, log=True)
    assert logs.advantages[0][0] == approx((log(4) - log(2)) / 2)


def test_information_gain_telescopes_and_speaks_when_all_fail() -> None:
    ps = (0.1, 0.5, 0.2, 0.9)
    one = rollout(0.0, *(Step(answer_logp=log(p)) for p in ps))
    other = rollout(0.0, *(Step(answer_logp=log(p)) for p in (0.1, 0.1, 0.1, 0.1)))
    raw = credit([one], "compose", source="gain", time="turn", baseline="none").advantages[0]
    assert sum(raw[:-1]) == approx(ps[-1] - ps[0])  # type: ignore[arg-type]
    assert any(credit([one, other], "igpo").advantages[0])
    with pytest.raises(BadInput, match="logarithm"):
        credit([rollout(1.0, Step(answer_logp=0.3))], "igpo")


def test_spa_rl_rewards_progress_and_what_can_be_done() -> None:
    one = rollout(
        1.0, Step(progress=0.4, executable=True, value=0.3), Step(progress=0.6, executable=False, value=0.5)
    )
    assert rows(credit([one], "spa_rl", lam=0)) == [(0.4 + 0.5 + 0.5 - 0.3, 0.6 - 0.5)]
    assert rows(credit([one], "spa_rl", lam=1, beta=0)) == [(1.0 - 0.3, 0.6 - 0.5)]


def test_archer_takes_the_smaller_critic() -> None:
    one = rollout(1.0, Step(q=(0.7, 0.5), value=(0.4, 0.3)), Step(q=0.9, value=0.6))
    assert rows(credit([one], "archer")) == [(0.2, 0.3)]
    target = rollout(1.0, Step(value=0.3), Step(value=0.6))
    assert rows(credit([target], "archer")) == [(0.9 * 0.6 - 0.3, 0.4)]


def test_marti_shapes_by_the_past() -> None:
    one = path(1.0, "abc", (0.0, 1.0, 1.0))
    plain = {"source": "turns", "time": "turn", "baseline": "none"}
    assert credit([one], "compose", **plain).advantages == ((0.0, 1.0, 1.0),)
    other = path(1.0, "abc", (0.0, 0.0, 0.0))
    margin = credit([one, other], "marti", scale="none").advantages[0]
    assert margin == approx((0.0, (1.5 - 0.0) / 2, (1 + 0.5 * (1 - 0.5)) / 2))
    quality = credit([one, other], "marti", scale="none", form="quality").advantages[0]
    assert quality == approx((0.0, (1.0 + 0.5) / 2, (1 + 0.25 + 0.5) / 2))


def test_epo_changes_no_advantage_and_aepo_scales_it_by_entropy() -> None:
    pair = [rollout(1.0, Step(entropy=2.0)), rollout(0.0, Step(entropy=1.0))]
    assert credit(pair, "epo") == credit(pair, "grpo")
    assert first(pair, "aepo", alpha=0.1, scale="none", eps=0) == approx(
        [0.5 * (1 + 0.1 * Z), -0.5 * (1 - 0.1 * Z)]
    )
    assert first([rollout(1.0), rollout(0.0)], "aepo") == first([rollout(1.0), rollout(0.0)], "grpo")


def test_public_goods() -> None:
    runs = [
        rollout(q, Step(contribution=c), voice=v, episode=e)
        for e, q, puts in (("x", 1.5, (1.0, 0.5)), ("y", 0.5, (0.5, 0.0)))
        for v, c in zip("ab", puts, strict=True)
    ]
    x = (-1 + 1.5 * 0.75, -0.25 + 0.5 + 1.5 * 0.75)
    y = (-0.25 + 1.5 * 0.25 - 2, 1.5 * 0.25 - 2)
    found = first(runs, "public_goods", threshold=1.0)
    assert found == approx([(x[0] - y[0]) / 2, (x[1] - y[1]) / 2, (y[0] - x[0]) / 2, (y[1] - x[1]) / 2])
    critic = [rollout(1.5, Step(contribution=1.0, value=0.25))]
    assert first(critic, "public_goods", bonus=0) == approx([-1 + 2.25 - 0.25])


def test_waltz_pays_the_adviser_for_its_partners_improvement() -> None:
    talk = rollout(None, Step(reward=0.0), Step(reward=1.0), voice="conversation", episode=1)
    right = rollout(None, Step(judge=1.0, reward=1.0), voice="feedback", episode=1)
    wrong = rollout(None, Step(judge=0.0, reward=1.0), voice="feedback", episode=2)
    same = rollout(None, Step(reward=0.0), Step(reward=1.0), voice="conversation", episode=2)
    found = credit([talk, right, wrong, same], "waltz", scale="none")
    assert rows(found) == [(-0.5, 0.5), (0.325,), (-0.325,), (-0.5, 0.5)]
    lonely = credit([talk, rollout(None, Step(), voice="feedback", episode=9)], "waltz")
    assert lonely.advantages[1] == (None,)


def test_llm_critic_replaces_the_environments_reward() -> None:
    a = rollout(0.0, Step(judge=1.0), Step(judge=0.0))
    b = rollout(1.0, Step(judge=0.0), Step(judge=0.0))
    assert credit([a, b], "llm_critic").advantages == ((0.5, 0.0), (-0.5, 0.0))


def test_shared_rewards() -> None:
    def team(*rewards: float | None) -> list[Trajectory]:
        steps = (Step(value=0.2, reward=-0.1), Step(value=0.5), Step(value=0.0))
        return [rollout(r, s, voice=v) for r, s, v in zip(rewards, steps, "abc", strict=True)]

    assert rows(credit(team(0.8, 0.8, None), "mmoa_rag")) == [(0.5,), (0.3,), (0.8,)]
    with pytest.raises(BadInput, match=r"0\.1, 0\.8"):
        credit(team(0.8, 0.1, 0.8), "mmoa_rag")
    assert rows(credit(team(0.8, 0.1, 0.1), "cory")) == [(0.8,), (0.5,), (1.0,)]


def test_proposers_and_solvers() -> None:
    solved = {"p": (1.0, 0.0), "q": (1.0, 1.0)}
    team = [rollout(r, voice="solver", proposal=p) for p, rs in solved.items() for r in rs]
    team += [rollout(None, voice="proposer", proposal=p) for p in ("p", "q", "nobody tried")]
    found = first(team, "hierarchical")
    assert found == [0.5, -0.5, 0.0, 0.0, 0.5, -0.5, None]  # 4p(1−p) = 1 and 0
    played = first(team, "search_selfplay", eps=0)
    assert played == [approx(Z), approx(-Z), 0.0, 0.0, 0.5, 0.0, None]
    band = first(team, "socratic", proposer="proposer")
    assert band[4:] == [1.0, approx(exp(-0.25 / 0.08)), None]
    invalid = [rollout(1.0, voice="solver", proposal=1), rollout(0.0, voice="proposer", proposal=1)]
    assert first(invalid, "search_selfplay") == [0.0, 0.0]


def test_counterfactual_presets() -> None:
    table = {"": 0.0, "a": 0.2, "b": 0.1, "a+b": 0.9}
    run = [rollout(0.9, voice="a", without=0.1, coalitions=table), rollout(0.9, voice="b", without=0.2)]
    assert first(run, "difference") == approx([0.8, 0.7])
    assert first(run, "leave_one_out") == approx([0.8, 0.7])
    assert first(run, "shapley") == approx([0.5, 0.4])
    assert first(run, "shapley", method="sampled", samples=2) == approx([0.5, 0.4])
    assert first([run[0], rollout(0.9, voice="a", without=0.5)], "difference", baseline="mean") == approx(
        [0.2, -0.2]
    )


def test_compose_reaches_any_point_of_the_product() -> None:
    two = [path(1.0, "ab", (0.5, 0.5)), path(0.0, "ab", (0.0, 0.0))]
    assert credit(two, "compose").advantages == credit(two, "dr_grpo").advantages
    steps = credit(two, "compose", key="turn", source="steps", time="return", gamma=0.5)
    assert rows(steps) == [(0.375, 0.25), (-0.375, -0.25)]
    alone = [rollout(1.0, Step(value=0.25))]
    assert credit(alone, "compose", source="steps", time="return", baseline="value").advantages == ((0.75,),)


def test_names_and_options_are_checked() -> None:
    with pytest.raises(UnknownName, match="did you mean gigpo"):
        credit(FOUR, "gipo")
    with pytest.raises(UnknownName, match="omega"):
        credit(FOUR, "gigpo", omega_=1)
    for bad in ({"gamma": 1.5}, {"gamma": "much"}, {"omega": "nan"}, {"scale": "l2"}):
        with pytest.raises(BadInput, match=next(iter(bad))):
            credit(FOUR, "gigpo", **bad)
    assert credit(FOUR, "gigpo", omega="0", gamma=".9") == credit(FOUR, "grpo")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_say_where_they_come_from_and_take_nothing(name: str) -> None:
    preset = PRESETS[name]
    assert preset.paper
    assert preset.formula
    assert credit([], name).advantages == ()


@pytest.mark.parametrize("name", ["ppo_token_gae", "ppo_turn_gae", "archer", "spa_rl", "mmoa_rag", "cory"])
def test_critics_need_values(name: str) -> None:
    with pytest.raises(BadInput, match="value"):
        credit([rollout(1.0, Step(reward=1.0))], name)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("difference", {}, "without"),
        ("shapley", {}, "coalitions"),
        ("magrpo", {"mode": "cross"}, "joint_rewards"),
        ("waltz", {}, "feedback"),
        ("hierarchical", {}, "proposer"),
    ],
)
def test_what_is_lacking_is_named(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        credit(FOUR, name, **options)
