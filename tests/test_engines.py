"""Engines: the contract, exact answers from tables, and what must not change a gradient."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import product
from math import log, nan
from pathlib import Path

import pytest
import torch

import motet
from motet.errors import BadInput, MotetError
from motet.models import model
from motet.models.trainable.adapters import Lora
from motet.models.trainable.checkpoint import open_policy, save_module
from motet.models.trainable.weights import Base, load_base
from motet.train import (
    REFERENCE,
    Adam,
    Engine,
    Ledger,
    Loss,
    Row,
    check_engine,
    rows_of,
    tabular_engine,
    torch_engine,
)
from motet.train.engine import same
from motet.train.gradient import GradientEngine
from motet.train.network import Network
from motet.types import Message, Sampling

torch.set_num_threads(2)
TINY = "tiny:hidden=32,layers=2,heads=2,context=128"
SMALL = Lora(r=2, alpha=4.0)
ENGINES: dict[str, Callable[[], Engine]] = {
    "tables": lambda: tabular_engine(["a", "b", "c"], ("one", "two")),
    "adapters": lambda: torch_engine(TINY, {"one": SMALL, "two": SMALL}),
    "one whole": lambda: torch_engine(TINY, {"one": None, "two": SMALL}),
    "both whole": lambda: torch_engine(TINY, {"one": None, "two": None}),
}


@pytest.mark.parametrize("name", ENGINES)
def test_engines_keep_the_contract(name: str, tmp_path: Path) -> None:
    check_engine(ENGINES[name], tmp_path)


def row(ids: Sequence[int], prompt: int = 2, advantage: float = 1.0, **more: object) -> Row:
    size = len(ids) - prompt
    return Row(
        ids=tuple(ids),
        mask=(False,) * prompt + (True,) * size,
        logprobs=(nan,) * prompt + (-1.0,) * size,
        advantages=(nan,) * prompt + (advantage,) * size,
    ).but(**more)


ROWS = [row([1, 2, 3]), row([1, 2, 3, 4, 5], advantage=-0.5), row([7, 8, 9, 10, 11, 12], 4, 2.0, run="r")]
OBJECTIVES = [
    Loss("reinforce", cap=None),
    Loss("ppo", reduction="sequence"),
    Loss("gspo_token", {"low": 0.1, "high": 0.1}),
    Loss("cispo", reduction="constant", length=7),
    Loss("aepo", reduction="rollout"),
    Loss("sft", entropy=0.1, smoothing={"history": 1.0, "high": 1.5}),
]


def network(micro_tokens: int = 4096) -> GradientEngine:
    return torch_engine(TINY, {"p": SMALL}, micro_tokens=micro_tokens)


def gradient(engine: GradientEngine, rows: Sequence[Row], loss: Loss) -> list[torch.Tensor]:
    body = engine._body
    for parameter in body.parameters("p").values():
        parameter.grad = None
        if parameter.abs().sum() == 0:  # half of a new adapter is 0, and the other half then has no gradient
            torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(5))
    engine.forward_backward("p", rows, loss)
    return [p.grad.clone() for p in body.parameters("p").values() if p.grad is not None]


def near(one: list[torch.Tensor], other: list[torch.Tensor]) -> None:
    assert sum(g.abs().sum() for g in one) > 0
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("loss", OBJECTIVES, ids=lambda loss: loss.name)
def test_micro_batches_order_and_masked_values_change_no_gradient(loss: Loss) -> None:
    engine, split = network(), network(micro_tokens=1)
    whole = gradient(engine, ROWS, loss)
    near(whole, gradient(split, ROWS, loss))
    near(whole, gradient(engine, ROWS[::-1], loss))
    spoilt = [
        r.but(advantages=tuple(x if on else float("inf") for x, on in zip(r.advantages, r.mask, strict=True)))
        for r in ROWS
    ]
    near(whole, gradient(engine, spoilt, loss))


def test_a_row_that_is_all_mask_changes_nothing() -> None:
    engine = network()
    silent = row([5, 6, 7]).but(mask=(False,) * 3)
    near(gradient(engine, ROWS, Loss("ppo")), gradient(engine, [*ROWS, silent], Loss("ppo")))
    with pytest.raises(BadInput, match="none of the 1 rows has a token"):
        engine.forward_backward("p", [silent], Loss("ppo"))


def pair(chosen: Sequence[int], rejected: Sequence[int], engine: Engine, name: str) -> list[Row]:
    rows = [row(chosen, label=1.0, pair=name), row(rejected, label=-1.0, pair=name)]
    reference = engine.logprobs(REFERENCE, rows)
    return [r.but(reference=ref) for r, ref in zip(rows, reference, strict=True)]


@pytest.mark.parametrize("name", ["dpo", "kto"])
def test_preferences_are_learned_and_split_as_one_likes(name: str) -> None:
    engine, split = network(), network(micro_tokens=1)
    rows = [*pair([1, 2, 3], [1, 2, 4, 5], engine, "x"), *pair([6, 7, 8, 9, 9], [6, 7, 9], engine, "y")]
    mixed = [rows[i] for i in (3, 0, 2, 1)]
    near(gradient(engine, rows, Loss(name)), gradient(split, mixed, Loss(name)))
    fresh = network()
    first = fresh.forward_backward("p", rows, Loss(name))["loss"]
    assert first == pytest.approx(log(2) if name == "dpo" else 0.5)
    fresh.optim_step("p", Adam(lr=1e-2))
    assert fresh.forward_backward("p", rows, Loss(name))["loss"] < first
    with pytest.raises(BadInput, match="expected one row above 0 and one below"):
        engine.forward_backward("p", rows[:3], Loss("dpo"))


def test_kl_pulls_back_to_the_reference_and_not_before_the_policy_has_left_it() -> None:
    engine = tabular_engine(["a", "b"], ("p",))
    table = engine._body
    (line,) = engine.logprobs(REFERENCE, [row([9, 9, 0])])
    far = row([9, 9, 0], advantage=0.0, reference=line, logprobs=line)

    def pull() -> float:
        engine.forward_backward("p", [far], Loss("ppo", kl=1.0))
        (parameter,) = table.parameters("p").values()
        assert parameter.grad is not None
        found, parameter.grad = parameter.grad[0].item(), None
        return found

    assert pull() == pytest.approx(0.0)
    table.parameters("p")["9,9"].data[0] = 1.0
    assert pull() > 0.01


def test_the_guard_weighs_tokens_by_how_far_the_sampler_was_off() -> None:
    engine = tabular_engine(["a", "b"], ("p",))

    def pull(sampler: float, cap: float | None) -> float:
        table = engine._body.parameters("p")
        for parameter in table.values():
            parameter.grad = None
        engine.forward_backward(
            "p", [row([9, 9, 0], logprobs=(nan, nan, sampler))], Loss("reinforce", cap=cap)
        )
        return engine._body.parameters("p")["9,9"].grad[0].item()  # type: ignore[index]

    plain = pull(log(0.5), 2.0)
    assert plain == pytest.approx(-0.5)
    assert pull(log(0.9), 2.0) == pytest.approx(plain * 0.5 / 0.9)
    assert pull(log(0.01), 2.0) == pytest.approx(plain * 2)
    assert pull(log(0.01), None) == pytest.approx(plain)


def test_reinforce_on_a_two_step_bandit_is_the_gradient_of_the_expected_reward() -> None:
    reward = {(0, 0): 1.0, (0, 1): 0.0, (1, 0): 0.25, (1, 1): 0.5}
    engine = tabular_engine(["a", "b"], ("p",))
    rows = [row([9, i, j], 1) for i, j in product((0, 1), repeat=2)]
    logits = {"9": [0.3, -0.2], "9,0": [0.1, 0.4], "9,1": [-0.5, 0.2]}
    engine.forward_backward("p", rows, Loss("sft"))  # the contexts come into being
    table = engine._body.parameters("p")
    for name, values in logits.items():
        table[name].data = torch.tensor(values, dtype=torch.float64)
        table[name].grad = None
    exact = {
        name: torch.tensor(values, dtype=torch.float64, requires_grad=True) for name, values in logits.items()
    }
    expected = sum(
        exact["9"].softmax(0)[i] * exact[f"9,{i}"].softmax(0)[j] * r for (i, j), r in reward.items()
    )
    expected.backward()  # type: ignore[union-attr]
    # Every outcome once, weighed by its probability: the expectation of REINFORCE without sampling.
    scored = engine.logprobs("p", rows)
    weighed = []
    for r, line in zip(rows, scored, strict=True):
        chance = float(torch.tensor(line[1:]).sum().exp())
        weighed.append(r.but(advantages=(nan, *[chance * reward[r.ids[1:]]] * 2), logprobs=line))
    engine.forward_backward("p", weighed, Loss("reinforce", reduction="constant", length=1))
    for name, values in exact.items():
        torch.testing.assert_close(-table[name].grad * len(rows), values.grad, msg=name)  # type: ignore[operator]


def test_a_gradient_that_is_not_finite_is_refused_and_nothing_moves() -> None:
    engine = tabular_engine(["a", "b"], ("p",))
    good = row([9, 9, 0])
    engine.forward_backward("p", [good], Loss("reinforce"))
    before = engine.logprobs("p", [good])
    engine._body.parameters("p")["9,9"].grad[0] = nan  # type: ignore[index]
    with pytest.raises(MotetError, match="not finite"):
        engine.optim_step("p", Adam())
    assert same(before, engine.logprobs("p", [good]))
    assert engine.step("p") == 0
    with pytest.raises(BadInput, match="row 0 has no advantages"):
        engine.forward_backward("p", [good.but(advantages=(nan, nan, nan))], Loss("reinforce"))


def test_options_that_a_loss_does_not_take_are_named() -> None:
    engine = tabular_engine(["a", "b"], ("p",))
    with pytest.raises(BadInput, match="no option of loss 'ppo' is called 'hgih'; did you mean high"):
        engine.forward_backward("p", [row([9, 9, 0])], Loss("ppo", {"hgih": 0.3}))
    with pytest.raises(BadInput, match="give `length`"):
        engine.forward_backward("p", [row([9, 9, 0])], Loss("ppo", reduction="constant"))


@motet.team
async def toss(task, one, two):
    return await two.ask("Then?", await one.ask(task))


def test_a_team_trains_as_it_runs_two_policies_at_once() -> None:
    engine = tabular_engine(["heads", "tails"], ("left", "right"))
    team = toss.cast(one=engine.model("left"), two=engine.model("right"))
    for step in range(30):
        runs = [team.run("Toss.", seed=8 * step + i, store=motet.Store.memory()) for i in range(8)]
        rows = rows_of([run.tape for run in runs], {"one": "left", "two": "right"}, ledger=Ledger())
        said = {
            f"{run.tape.run}/{call.id}": run.tape.path(call.node)[-1].text
            for run in runs
            for call in run.tape.calls
        }
        wanted = {"left": "heads", "right": "tails"}
        for policy in ("left", "right"):
            mine = [r for r in rows if r.policy == policy]
            assert all(span.version == f"{policy}@{step}" for r in mine for span in r.spans)
            credited = [
                r.credited({s.call: (1.0 if said[s.call] == wanted[policy] else -1.0) for s in r.spans})
                for r in mine
            ]
            engine.forward_backward(policy, credited, Loss("ppo"))
            engine.optim_step(policy, Adam(lr=0.3))
    last = team.run("Toss.", seed=999, store=motet.Store.memory())
    assert [last.tape.path(call.node)[-1].text for call in last.tape.calls] == ["heads", "tails"]


def test_checkpoints_are_models_by_name_and_refuse_other_bases(tmp_path: Path) -> None:
    engine, rows = network(), ROWS
    engine.forward_backward("p", rows, Loss("sft"))
    engine.optim_step("p", Adam(lr=1e-1))
    file = tmp_path / "deep" / "p.safetensors"
    engine.save("p", file)
    opened = model(f"torch:{file}")
    ask = [Message.say("user", "hello")]
    sampling = Sampling(max_tokens=6, seed=3)
    ours, theirs = (asyncio.run(m.sample(ask, 1, sampling))[0] for m in (engine.model("p"), opened))
    assert ours.tokens == theirs.tokens
    assert theirs.version == "p@1"
    other = torch_engine(f"{TINY},seed=1", {"p": SMALL})
    before = other.logprobs("p", rows)
    with pytest.raises(BadInput, match="belongs to the base"):
        other.load("p", file)
    wider = torch_engine(TINY, {"p": Lora(r=4)})
    with pytest.raises(BadInput, match="same adapter"):
        wider.load("p", file)
    with pytest.raises(BadInput, match="a whole model"):
        torch_engine(TINY, {"p": None}).load("p", file)
    with pytest.raises(BadInput):
        tabular_engine(["a"], ("p",)).load("p", file)
    assert same(before, other.logprobs("p", rows), 0.0)
    assert [f.name for f in file.parent.iterdir()] == ["p.safetensors"]


def test_merged_weights_are_a_model_of_their_own(tmp_path: Path) -> None:
    engine = network()
    engine.forward_backward("p", ROWS, Loss("sft"))
    engine.optim_step("p", Adam(lr=1e-1))
    file = tmp_path / "p.safetensors"
    engine.save("p", file)
    save_module(open_policy(str(file)), tmp_path / "merged")
    plain = torch_engine(str(tmp_path / "merged"), {"q": SMALL})
    assert same(engine.logprobs("p", ROWS), plain.logprobs("q", ROWS), 1e-4)
    assert not same(engine.logprobs(REFERENCE, ROWS), plain.logprobs("q", ROWS), 1e-2)
    assert isinstance(load_base(str(tmp_path / "merged")), Base)


def test_only_the_logits_of_trained_tokens_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = network()
    body = engine._body
    assert isinstance(body, Network)
    seen: list[int] = []
    head = body.base.module.get_output_embeddings()
    handle = head.register_forward_hook(lambda m, args, out: seen.append(out.shape[:-1].numel()))
    engine.forward_backward("p", ROWS, Loss("ppo"))
    handle.remove()
    assert sum(seen) == sum(sum(r.mask) for r in ROWS)


def test_rows_that_begin_alike_are_computed_as_one_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    start = [9, 8, 7, 6, 5, 4, 3, 2]
    rows = [row([*start, *end], 6, 0.5 + len(end)) for end in ([1, 1], [1, 2, 3], [], [1, 2, 4, 4], [1, 1])]
    engine = network()
    seen: list[int] = []
    module = engine._body.base.module  # type: ignore[attr-defined]
    handle = module.model.register_forward_pre_hook(
        lambda m, args, given: seen.append(given["input_ids"].numel()), with_kwargs=True
    )
    tree = gradient(engine, rows, Loss("reinforce", entropy=0.1))
    scored = engine.logprobs("p", rows)
    handle.remove()
    assert seen == [11, 11], "the last token of a row scores nothing"
    monkeypatch.setattr("motet.train.network.fits", lambda config: False)
    near(tree, gradient(engine, rows, Loss("reinforce", entropy=0.1)))
    assert same(scored, engine.logprobs("p", rows))
