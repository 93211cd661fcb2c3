"""Losses against finite differences, closed forms and the invariances that public trainers have broken."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from motet import losses
from motet.losses.shapes import inside

B, T = 4, 6
MASK = torch.tensor(
    [[0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1], [0, 1, 1, 1, 1, 0]], dtype=torch.bool
)


def numbers(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


LOGP = -numbers(1, B, T).abs() - 0.1
OLD = LOGP + 0.3 * numbers(2, B, T)
REF = LOGP + 0.3 * numbers(3, B, T)
ADVANTAGE = numbers(4, B, T)
ROW_ADVANTAGE = numbers(5, B)[:, None].expand(B, T)
REWARD = numbers(6, B)
Loss = Callable[[Tensor], Tensor]

SMOOTH: dict[str, Loss] = {
    "reinforce": lambda p: losses.reinforce(p, ADVANTAGE, MASK),
    "ppo": lambda p: losses.ppo(p, OLD, ADVANTAGE, MASK),
    "ppo dual": lambda p: losses.ppo(p, OLD, ADVANTAGE, MASK, low=0.1, high=0.3, dual=1.05),
    "gspo": lambda p: losses.gspo(p, OLD, ADVANTAGE, MASK, low=0.1, high=0.1),
    "k1": lambda p: losses.kl(p, REF, MASK, "k1"),
    "k2": lambda p: losses.kl(p, REF, MASK, "k2"),
    "k3": lambda p: losses.kl(p, REF, MASK, "k3"),
    "sft": lambda p: losses.sft(p, MASK, ADVANTAGE.abs()),
    "rwr": lambda p: losses.rwr(p, REWARD, MASK),
    "entropy smoothing": lambda p: losses.smoothing(-p, MASK, history=1.0, low=0.5, high=1.2, alpha=0.7),
    "dpo": lambda p: losses.dpo(*losses.log_ratio(p, REF, MASK).view(2, 2), beta=0.3, smoothing=0.1),
    "kto": lambda p: losses.kto(losses.log_ratio(p, REF, MASK), REWARD, 0.2, beta=0.3, undesirable=0.5),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    logp = LOGP.clone().requires_grad_()
    weights = numbers(7, *SMOOTH[name](LOGP).shape)
    (SMOOTH[name](logp) * weights).sum().backward()
    assert logp.grad is not None
    assert logp.grad.abs().sum() > 0
    step = 1e-6
    for b in range(B):
        for t in range(T):
            moved = [LOGP.clone(), LOGP.clone()]
            moved[0][b, t] += step
            moved[1][b, t] -= step
            up, down = ((SMOOTH[name](m) * weights).sum() for m in moved)
            assert logp.grad[b, t].item() == pytest.approx(((up - down) / (2 * step)).item(), abs=1e-6)


def gradient(loss: Loss) -> Tensor:
    logp = LOGP.clone().requires_grad_()
    loss(logp).sum().backward()
    assert logp.grad is not None
    return logp.grad


def test_losses_that_stop_gradients_have_their_closed_forms() -> None:
    ratio = losses.ratio(LOGP, OLD, MASK)
    (advantage,) = inside(MASK, ADVANTAGE)
    cispo = gradient(lambda p: losses.cispo(p, OLD, ADVANTAGE, MASK, low=0.1, high=0.2))
    torch.testing.assert_close(cispo, -ratio.clamp(0.9, 1.2) * advantage)
    aepo = gradient(lambda p: losses.aepo(p, OLD, ADVANTAGE, MASK, low=0.1, high=0.2))
    high, low = (ratio > 1.2) & (advantage > 0), (ratio < 0.9) & (advantage < 0)
    kept = ratio.where(~high, 1.2).where(~low, 0.9)
    assert (high | low).any(), "some token is clipped, or this shows nothing"
    torch.testing.assert_close(aepo, -kept * advantage)
    torch.testing.assert_close(
        losses.aepo(LOGP, OLD, ADVANTAGE, MASK, low=0.1, high=0.2),
        losses.ppo(LOGP, OLD, ADVANTAGE, MASK, low=0.1, high=0.2),
    )


def test_ppo_gives_clipped_tokens_no_gradient_and_dual_clip_bounds_the_loss() -> None:
    logp = torch.tensor([[0.5, -0.5, 2.0]], dtype=torch.float64)
    old, on = torch.zeros_like(logp), torch.ones(1, 3, dtype=torch.bool)
    advantage = torch.tensor([[1.0, -1.0, -1.0]], dtype=torch.float64)
    plain = losses.ppo(logp, old, advantage, on)
    assert plain[0].tolist() == pytest.approx([-1.2, 0.8, math.exp(2.0)])
    assert losses.ppo(logp, old, advantage, on, dual=3.0)[0].tolist() == pytest.approx([-1.2, 0.8, 3.0])


def test_gspo_by_tokens_has_the_gradient_of_gspo_by_rows() -> None:
    weight = losses.token_weights(MASK, "sequence")
    found = [
        gradient(lambda p, f=f: f(p, OLD, ROW_ADVANTAGE, MASK, low=0.1, high=0.1) * weight)
        for f in (losses.gspo, losses.gspo_token)
    ]
    torch.testing.assert_close(*found)
    assert found[0].abs().sum() > 0


def test_kl_estimates_agree_with_the_kl_of_a_categorical() -> None:
    p, q = numbers(8, 5).softmax(0), numbers(9, 5).softmax(0)
    exact = (p * (p.log() - q.log())).sum()
    every = torch.ones(1, 5, dtype=torch.bool)
    for form in ("k1", "k3"):
        estimate = losses.kl(p.log()[None], q.log()[None], every, form)[0]
        torch.testing.assert_close((p * estimate).sum(), exact)
        assert form == "k1" or (estimate >= 0).all()


@given(st.floats(-30, 0), st.floats(-30, 0))
def test_k3_is_never_negative(one: float, other: float) -> None:
    values = [torch.tensor([[x]], dtype=torch.float64) for x in (one, other)]
    assert losses.kl(*values, torch.tensor([[True]]), "k3").item() >= 0


def test_entropy_is_right_where_words_are_impossible() -> None:
    logits = torch.tensor([[0.0, 0.0, -torch.inf], [0.0, 0.0, 0.0]], requires_grad=True)
    found = losses.entropy(logits)
    assert found.tolist() == pytest.approx([math.log(2), math.log(3)])
    found.sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_the_papers_constant_has_no_gradient_and_the_hinge_has() -> None:
    entropy = torch.tensor([[3.0, 1.0]], requires_grad=True, dtype=torch.float64)
    on = torch.ones(1, 2, dtype=torch.bool)
    constant = losses.smoothing(entropy, on, history=1.0, alpha=0.1, paper_constant=True)
    assert constant.tolist() == [[0.1, 0.0]]
    assert not constant.requires_grad
    losses.smoothing(entropy, on, history=1.0).sum().backward()
    assert entropy.grad is not None
    assert entropy.grad.tolist() == [[1.0, 0.0]]


PER_TOKEN: dict[str, Loss] = {name: loss for name, loss in SMOOTH.items() if name not in ("dpo", "kto")} | {
    "gspo token": lambda p: losses.gspo_token(p, OLD, ADVANTAGE, MASK),
    "cispo": lambda p: losses.cispo(p, OLD, ADVANTAGE, MASK),
    "aepo": lambda p: losses.aepo(p, OLD, ADVANTAGE, MASK),
}


@pytest.mark.parametrize("junk", [float("nan"), float("inf"), -float("inf"), 1e30])
def test_what_is_masked_changes_nothing_and_gets_no_gradient(
    junk: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(values: Tensor) -> Tensor:
        return values.masked_fill(~MASK, junk)

    clean = {name: loss(LOGP) for name, loss in (SMOOTH | PER_TOKEN).items()}
    for name in ("OLD", "REF", "ADVANTAGE"):
        monkeypatch.setitem(globals(), name, spoilt(globals()[name]))
    for name, loss in (SMOOTH | PER_TOKEN).items():
        logp = spoilt(LOGP).requires_grad_()
        found = loss(logp)
        torch.testing.assert_close(found, clean[name], msg=name)
        found.sum().backward()
        assert logp.grad is not None
        assert (logp.grad[~MASK] == 0).all(), name
    importance = losses.importance(spoilt(LOGP), spoilt(OLD), MASK)
    assert torch.equal(importance, losses.importance(LOGP, OLD, MASK))


def test_inserted_masked_tokens_padding_and_order_change_nothing() -> None:
    def wider(values: Tensor) -> Tensor:
        pieces = [values[:, :3], values.new_zeros(B, 2), values[:, 3:], values.new_zeros(B, 3)]
        return torch.cat(pieces, 1)[[2, 0, 3, 1]]

    for function in (losses.ppo, losses.gspo, losses.gspo_token, losses.cispo, losses.aepo):
        for reduction in ("token", "sequence", "constant"):
            plain = function(LOGP, OLD, ADVANTAGE, MASK) * losses.token_weights(MASK, reduction, length=9)
            moved = [wider(x) for x in (LOGP, OLD, ADVANTAGE, MASK)]
            other = function(*moved) * losses.token_weights(moved[3], reduction, length=9)
            torch.testing.assert_close(plain.sum(), other.sum())


@given(st.integers(0, 2**16 - 1), st.sampled_from(["token", "sequence", "constant", "rollout"]))
@settings(max_examples=50)
def test_weights_add_up_to_what_the_reduction_says(bits: int, reduction: str) -> None:
    mask = torch.tensor([[bits >> (4 * b + t) & 1 for t in range(4)] for b in range(4)], dtype=torch.bool)
    rollout = torch.tensor([0, 7, 7, 3])
    weight = losses.token_weights(mask, reduction, length=8, rollout_B=rollout)  # type: ignore[arg-type]
    assert (weight[~mask] == 0).all()
    live = mask.any(-1)
    if not live.any():
        assert weight.sum() == 0
    elif reduction == "constant":
        assert weight.sum().item() == pytest.approx(mask.sum().item() / (8 * live.sum().item()))
    else:
        assert weight.sum().item() == pytest.approx(1.0)
    if reduction == "rollout" and live.any():
        shares = [weight[rollout == r].sum().item() for r in (0, 7, 3) if mask[rollout == r].any()]
        assert shares == pytest.approx([1 / len(shares)] * len(shares))


def test_a_reduction_that_lacks_something_says_so() -> None:
    with pytest.raises(ValueError, match="give `length`"):
        losses.token_weights(MASK, "constant")
    with pytest.raises(ValueError, match="give `rollout_B`"):
        losses.token_weights(MASK, "rollout")
    with pytest.raises(ValueError, match="token, sequence, constant, rollout"):
        losses.token_weights(MASK, "mean")  # type: ignore[arg-type]


def test_the_guard_truncates_drops_and_measures() -> None:
    logp, sampler = torch.tensor([[0.0, 0.0, 0.0]]), torch.tensor([[0.0, -1.0, 0.5]])
    on = torch.tensor([[True, True, True]])
    assert losses.importance(logp, sampler, on, cap=2.0)[0].tolist() == pytest.approx([1, 2, math.exp(-0.5)])
    assert losses.importance(logp, sampler, on, cap=2.0, drop=True)[0, 1] == 0
    whole = losses.importance(logp, sampler, on, cap=9.0, level="sequence")[0].tolist()
    assert whole == pytest.approx([math.exp(0.5)] * 3)
    found = losses.mismatch(logp, sampler, on)
    assert found["mismatch_mean"] == pytest.approx(0.5)
    assert found["mismatch_capped"] == pytest.approx(1 / 3)
    assert found["mismatch_kl"] > 0
    assert losses.mismatch(logp, logp, on)["mismatch_ess"] == pytest.approx(1.0)


def test_spans_partition_and_wrong_steps_are_context_only() -> None:
    reason = torch.tensor([[True, True, False, False]])
    act = torch.tensor([[False, False, True, False]])
    assert losses.span_weights(reason, act, reason=0.5, act=2.0).tolist() == [[0.5, 0.5, 2.0, 0.0]]
    with pytest.raises(ValueError, match="overlap"):
        losses.span_weights(reason, reason)
    mask = torch.tensor([[False, True, True, True]])
    step = torch.tensor([[-7, 0, 1, 1]])
    kept = losses.partial_mask(mask, step, torch.tensor([[True, False]]))
    assert kept.tolist() == [[False, True, False, False]]


def test_preferences_push_the_right_way_and_observations_get_nothing() -> None:
    logp = REF.clone().requires_grad_()
    losses.dpo(*losses.log_ratio(logp, REF, MASK).view(2, 2)).sum().backward()
    assert logp.grad is not None
    assert (logp.grad[:2][MASK[:2]] < 0).all()
    assert (logp.grad[2:][MASK[2:]] > 0).all()
    assert (logp.grad[~MASK] == 0).all()
    assert losses.dpo(torch.zeros(1), torch.zeros(1)).item() == pytest.approx(math.log(2))
    assert losses.kto(torch.zeros(2), torch.tensor([1.0, -1.0]), 0.0).tolist() == [0.5, 0.5]


def test_rewards_weigh_by_their_exponential() -> None:
    assert losses.rwr_weights(torch.tensor([0.0, 0.4])).tolist() == pytest.approx([1.0, math.e])
    assert losses.rwr_weights(torch.tensor([4.0]), most=5.0).item() == 5.0
