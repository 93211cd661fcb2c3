"""What must hold of credit whatever the numbers: invariances, reductions to a parent, unbiasedness."""

from itertools import product
from math import exp, fsum, isnan, nan
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from trajectories import path, rollout

from motet.credit import Step, Trajectory, credit
from motet.errors import BadInput

STEP = st.builds(
    Step,
    state=st.sampled_from("abc"),
    reward=st.sampled_from((None, -0.1, 0.0, 0.3)),
    value=st.floats(-1, 1),
    tokens=st.integers(1, 4),
    entropy=st.floats(0, 2),
)
TRAJECTORY = st.builds(
    Trajectory,
    group=st.sampled_from("gh"),
    voice=st.sampled_from("vw"),
    reward=st.sampled_from((None, nan, 0.0, 0.1, 0.7, 1.0)),
    steps=st.lists(STEP, min_size=1, max_size=4).map(tuple),
    start=st.just("door"),
)
BATCH = st.lists(TRAJECTORY, max_size=8)
BY_GROUP = ["rloo", "grpo", "dr_grpo", "dapo", "dr_mas", "gigpo", "igpo", "mt_grpo", "llm_critic", "marti"]
NO_GROUP = ["ppo_token_gae", "ppo_turn_gae", "archer", "spa_rl"]


@settings(max_examples=40)
@given(BATCH, st.randoms(use_true_random=False))
def test_the_order_of_trajectories_changes_no_bit(batch: list[Trajectory], random: Random) -> None:
    order = random.sample(range(len(batch)), len(batch))
    for name in (*BY_GROUP, *NO_GROUP):
        whole, mixed = credit(batch, name), credit([batch[i] for i in order], name)
        assert mixed.advantages == tuple(whole.advantages[i] for i in order), name
        assert mixed.counts == whole.counts


@settings(max_examples=40)
@given(BATCH)
def test_groups_may_be_credited_apart(batch: list[Trajectory]) -> None:
    for name in (*BY_GROUP, *NO_GROUP):
        whole = credit(batch, name).advantages
        for group in "gh":
            mine = [t for t in batch if t.group == group]
            apart = credit(mine, name).advantages
            assert apart == tuple(row for t, row in zip(batch, whole, strict=True) if t.group == group), name


@settings(max_examples=40)
@given(BATCH, st.integers(0, 4))
def test_masked_steps_change_nothing(batch: list[Trajectory], place: int) -> None:
    def padded(t: Trajectory) -> Trajectory:
        mask = Step(state="tool", reward=9.0, value=9.0, tokens=7, masked=True)
        steps = (*t.steps[:place], mask, *t.steps[place:])
        return rollout(t.reward, *steps, group=t.group, voice=t.voice, start=t.start)

    for name in (*BY_GROUP, *NO_GROUP, "rae", "aepo"):
        plain, masked = credit(batch, name), credit([padded(t) for t in batch], name)
        assert masked.counts == plain.counts
        for before, after in zip(plain.advantages, masked.advantages, strict=True):
            where = min(place, len(before))
            assert after[where] is None
            assert (*after[:where], *after[where + 1 :]) == before, name


@settings(max_examples=40)
@given(BATCH, st.integers(0, 8))
def test_running_baselines_do_not_feel_where_a_batch_was_cut(batch: list[Trajectory], cut: int) -> None:
    whole = credit(batch, "rae")
    head = credit(batch[:cut], "rae")
    tail = credit(batch[cut:], "rae", state=head.state)
    assert head.advantages + tail.advantages == whole.advantages
    assert tail.state == whole.state


@settings(max_examples=40)
@given(BATCH)
def test_reduces_to_its_parent_when_the_extra_term_is_off(batch: list[Trajectory]) -> None:
    grpo = credit(batch, "grpo").advantages
    assert credit(batch, "gigpo", omega=0).advantages == grpo  # to the last bit
    assert credit(batch, "aepo", alpha=0).advantages == grpo
    assert credit(batch, "dapo", keep=True).advantages == grpo
    assert credit(batch, "grpo", scale="none").advantages == credit(batch, "dr_grpo").advantages
    assert credit(batch, "compose", scale="std").advantages == grpo
    turns = [row[:-1] for row in credit(batch, "mt_grpo", weight=0, eps="verl").advantages]
    used = [row[:-1] for row in grpo]
    assert turns == used
    assert credit(batch, "grpo", key="task_voice").advantages == credit(batch, "dr_mas").advantages
    progress = credit(batch, "spa_rl", beta=0).advantages
    for t, row in zip(batch, progress, strict=True):
        if None not in row and not isnan(t.outcome):
            turn = credit([t], "ppo_turn_gae", turn_gamma=1, outcome="none").advantages[0]
            assert turn == approx(row)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=9))
def test_group_advantages_sum_to_nothing_and_rloo_is_a_multiple_of_the_mean(rewards: list[float]) -> None:
    batch = [rollout(r) for r in rewards]
    mean = [row[0] or 0.0 for row in credit(batch, "dr_grpo").advantages]
    loo = [row[0] for row in credit(batch, "rloo").advantages]
    n = len(rewards)
    assert fsum(mean) == approx(0, abs=1e-12)
    assert loo == approx([n / (n - 1) * x for x in mean], abs=1e-12)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.floats(-1, 1))
def test_gae_with_lambda_1_is_the_return_less_the_value(rewards: list[float], value: float) -> None:
    steps = [Step(reward=r, value=value, tokens=2) for r in rewards]
    one = rollout(fsum(rewards), *steps)
    expected = approx([fsum(rewards[i:]) - value for i in range(len(rewards))], abs=1e-9)
    for name in ("ppo_token_gae", "ppo_turn_gae"):
        options = {"turn_gamma": 1} if name == "ppo_turn_gae" else {}
        found = credit([one], name, lam=1, **options)
        assert list(found.advantages[0]) == expected
        assert found.tokens is not None
        assert [row[0] for row in found.tokens[0] if row] == expected


def test_rloo_gradient_is_unbiased_on_a_two_step_bandit_by_enumeration() -> None:
    """E[Σ_i A_i ∇log π(τ_i)]/n over all pairs of rollouts is ∇J, for a softmax of its own in each state."""
    logits = {"": (0.3, -0.2), "0": (0.1, 0.9), "1": (-0.5, 0.4)}
    pay = {"00": 1.0, "01": 0.2, "10": 0.0, "11": 0.7}

    def chance(state: str, action: int) -> float:
        return exp(logits[state][action]) / fsum(map(exp, logits[state]))

    def likely(play: str) -> float:
        return chance("", int(play[0])) * chance(play[0], int(play[1]))

    def score(play: str) -> dict[tuple[str, int], float]:
        states = (("", int(play[0])), (play[0], int(play[1])))
        return {(s, a): (a == taken) - chance(s, a) for s, taken in states for a in (0, 1)}

    value = fsum(likely(p) * pay[p] for p in pay)
    keys = [(s, a) for s in logits for a in (0, 1)]
    truth = {k: fsum(likely(p) * (pay[p] - value) * score(p).get(k, 0.0) for p in pay) for k in keys}
    found = dict.fromkeys(keys, 0.0)
    biased = dict.fromkeys(keys, 0.0)
    for group in product(pay, repeat=2):
        batch = [rollout(pay[p], Step(), Step()) for p in group]
        for total, name in ((found, "rloo"), (biased, "dr_grpo")):
            for p, row in zip(group, credit(batch, name).advantages, strict=True):
                for k, slope in score(p).items():
                    total[k] += likely(group[0]) * likely(group[1]) * (row[0] or 0.0) * slope / 2
    assert found == approx(truth, abs=1e-12)
    assert biased == approx({k: x / 2 for k, x in truth.items()}, abs=1e-12)  # (n − 1)/n of it


@pytest.mark.parametrize("name", ["rloo", "grpo", "dr_grpo", "dapo", "dr_mas", "gigpo"])
def test_a_group_of_one_is_compared_with_nobody(name: str) -> None:
    """Defect 5: verl gives a lone rollout its raw reward."""
    options = {"keep": True} if name == "dapo" else {}
    found = credit([path(7.0, "ab")], name, **options)
    assert found.advantages == ((0.0, 0.0),)
    assert found.counts["singletons"] == 1


def test_a_long_episode_does_not_outweigh_a_short_one() -> None:
    """Defect 2: verl-agent takes mean and std over steps."""
    long = [path(1.0, "s" * 50), path(0.0, "s")]
    assert credit(long, "dr_grpo").advantages[1] == (-0.5,)
    assert credit(long, "gigpo", omega=0, scale="none").advantages[1] == (-0.5,)


def test_a_turn_without_reward_is_a_turn() -> None:
    """Defect 4: RAGEN finds turn ends where the reward is not 0."""
    one = rollout(1.0, Step(reward=0.0, value=0.5, tokens=2), Step(reward=1.0, value=0.5, tokens=2))
    found = credit([one], "ppo_turn_gae", lam=0, turn_gamma=0.5)
    assert found.advantages == ((0.5 * 0.5 - 0.5, 0.5),)


def test_every_output_of_an_episode_shares_one_place_in_its_group() -> None:
    """Defect 5: verl counts each output of a session as a member of the group of its own."""
    batch = [path(1.0, "sab"), path(0.0, "s"), path(0.0, "s")]
    assert credit(batch, "rloo").advantages == ((1.0, 1.0, 1.0), (-0.5,), (-0.5,))


def test_predicted_progress_is_not_overwritten_by_the_outcome() -> None:
    """Defect 6: SPA-RL's code writes the centred final reward over the estimator's values."""
    won, lost = (rollout(r, Step(progress=0.7, value=0.1)) for r in (1.0, 0.0))
    assert credit([won, lost], "spa_rl").advantages[0] == credit([won, lost], "spa_rl").advantages[1]


def test_baselines_are_kept_for_each_game_and_role() -> None:
    """Defect 7: SPIRAL's code keys them by the role only."""
    batch = [rollout(1.0, voice="p0", game="kuhn"), rollout(0.0, voice="p0", game="ttt")]
    found = credit(batch, "rae")
    assert found.advantages == ((1.0,), (0.0,))
    assert list(found.state) == ["kuhn/p0", "ttt/p0"]


@pytest.mark.parametrize("missing", [None, nan, float("inf")])
def test_what_nobody_scored_leaves_the_baseline_and_is_no_zero(missing: float | None) -> None:
    scored = [path(1.0, "s", (1.0,)), path(0.0, "s", (0.0,))]
    for name in (*BY_GROUP, "rae", "reinforce", "at_grpo", "magrpo", "malt"):
        options = {"source": "outcome"} if name == "compose" else {}
        plain, found = (credit(batch, name, **options) for batch in (scored, [*scored, path(missing, "s")]))
        assert found.advantages == (*plain.advantages, (None,)), name
        assert found.counts["unscored"] == 1, name


def test_rollouts_that_started_apart_are_refused_by_name() -> None:
    apart = [path(1.0, "ab"), path(0.0, "cb")]
    for name in ("grpo", "rloo", "gigpo", "dapo", "mt_grpo", "igpo", "at_grpo", "magrpo"):
        with pytest.raises(BadInput, match=r"group 'g'.*'a' and 'c'"):
            credit(apart, name)
    hashed = [rollout(1.0, start="5f2e"), rollout(0.0, start="a1b0")]
    with pytest.raises(BadInput, match="'5f2e' and 'a1b0'"):
        credit(hashed, "grpo")
    assert credit(apart, "reinforce").advantages[0] == (1.0, 1.0)  # nothing is compared
    assert credit([path(1.0, "a", voice="x"), path(0.0, "b", voice="y")], "grpo").counts["groups"] == 1
    later = [path(1.0, "ab"), path(0.0, "ac")]
    with pytest.raises(BadInput, match=r"turn 1.*'b' and 'c'"):
        credit(later, "at_grpo")
