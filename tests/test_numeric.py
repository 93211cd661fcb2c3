"""Small networks behind the port of language models: the contract, a world of known optimum, critics."""

import asyncio
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

import pytest
import torch

import motet
from motet.agent import Agent
from motet.envs.play import seat_players
from motet.envs.registry import make
from motet.errors import BadInput, UnknownName
from motet.models.arrays import FLOATS, array_part, floats_of, ids_of
from motet.train import (
    Adam,
    Critic,
    Engine,
    Episodes,
    Loss,
    Row,
    Trained,
    check_engine,
    numeric_engine,
    rows_of,
    train,
)
from motet.train.around import checked
from motet.train.batch import minibatches
from motet.train.heads import Gaussian, Head
from motet.types import Media, Sampling

WORLD = "pettingzoo:numeric_world"
SMALL: dict[str, Any] = {"hidden": (16,)}


def engine_for(wide: int, seed: int = 0, actions: int | Head = 2) -> Engine:
    return numeric_engine(2, actions, ("agent",), {"critic": wide}, seed=seed, **SMALL)


def learn(sees: str = "own", *, out: Path | None = None, resume: bool = False, **plan: Any) -> Trained:
    options = {"words": False, **plan.pop("world", {})}
    engine = plan.pop("engine", None) or engine_for(4 if sees == "all" else 2)
    settings: dict[str, Any] = {
        "credit": "ppo_turn_gae",
        "options": {"turn_gamma": 0.9, "whiten": True},
        "critic": Critic({"agent": "critic"}, sees, gamma=0.9, adam=Adam(lr=0.02, clip=None), epochs=8),  # type: ignore[arg-type]
        "adam": Adam(lr=0.02),
        "loss": Loss("ppo"),
        "epochs": 4,
        "groups": 32,
        "group_size": 1,
        "at_once": 32,
        "iterations": 12,
        **plan,
    }
    return train(
        Episodes(WORLD, options), engine=engine, policies={"*": "agent"}, out=out, resume=resume, **settings
    )


@pytest.mark.parametrize("actions", [4, Gaussian(2)])
def test_it_keeps_the_contract_of_engines(tmp_path: Path, actions: int | Head) -> None:
    def make_engine() -> Engine:
        return numeric_engine(3, actions, ("one", "two"), {"critic": 3}, **SMALL)

    prompt = ids_of(array_part([0.5, -1.0, 2.0]).data or b"")
    check_engine(make_engine, tmp_path, prompt)


def test_numbers_survive_as_ids_to_the_bit() -> None:
    given = [0.1, -3.4e38, float("inf"), -0.0, 1e-45]
    part = array_part({"b": given[2:], "a": [given[:2]]})
    assert part.media_type == FLOATS
    assert floats_of(ids_of(part.data or b"")) == torch.tensor(given).tolist()


def test_independent_ppo_learns_the_optimum_and_plays_like_any_voice() -> None:
    done = learn(evaluate=Episodes(WORLD, {"words": False}, first=10**6), tests=16)
    assert done.curve[0]["score"] < 0.8
    assert done.curve[-1]["reward/left"] > 0.9
    assert done.ledger.counts["tokens"] == done.ledger.counts["calls"] == 12 * 32 * 2
    engine = engine_for(2)
    team = seat_players(
        WORLD, dict.fromkeys(("left", "right"), Agent(engine.model("agent"))), words=False, steps=3
    )
    store = motet.Store.memory()
    run = team.run("Play.", store=store)
    assert run.ok
    assert len(run.calls) == 6
    row = rows_of([run.tape], {"left": "agent"})[0]
    (seen,) = (p for p in run.tape.path(run.calls[0].prompt)[0].parts if isinstance(p, Media))
    assert floats_of(row.ids[:2]) == [*make(WORLD, 0, words=False).observe("left").array]
    assert seen.data is None, "the bytes lie in the store"
    assert floats_of(ids_of(store.blob(seen.digest))) == floats_of(row.ids[:2])
    assert rows_of([store.load(run.id)], {"left": "agent"})[0] == row


def test_vectors_are_learned_like_choices() -> None:
    engine = engine_for(2, actions=Gaussian(1))
    done = learn(engine=engine, world={"continuous": True}, iterations=15)
    assert done.curve[-1]["reward/left"] > 0.85
    (reply,) = asyncio.run(
        engine.model("agent").sample(
            [motet.Message("user", (array_part([0.9, 0]),))], 1, Sampling(temperature=0.0)
        )
    )
    assert 0 < reply.data[0] <= 1
    assert make(WORLD, 0, words=False, continuous=True).read_action("left", reply.text) == reply.data


def test_log_probabilities_of_vectors_are_those_of_normal_distributions() -> None:
    head, out = Gaussian(2), torch.tensor([[0.3, -2.0, 0.5, -1.0]])
    said = torch.tensor([ids_of(array_part([0.1, 0.7]).data or b"")])
    normal = torch.distributions.Normal(out[:, :2].double(), out[:, 2:].double().exp())
    logp, entropy = head.score(out, said)
    assert torch.allclose(logp, normal.log_prob(torch.tensor([[0.1, 0.7]]).double()), atol=1e-6)
    assert torch.allclose(entropy, normal.entropy(), atol=1e-6)


def views_of(sees: str) -> tuple[list[Row], Trained]:
    """What the critic was taught, and the run."""
    engine = engine_for(4 if sees == "all" else 2)
    taught: list[Row] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(engine, name)

        def forward_backward(self, policy: str, rows: Sequence[Row], loss: Loss) -> dict[str, float]:
            taught.extend(rows if policy == "critic" else ())
            return engine.forward_backward(policy, rows, loss)

    done = learn(sees, engine=Watched(), iterations=1, world={"steps": 3})
    return taught, done


def test_a_central_critic_differs_from_an_independent_one_by_its_input_alone() -> None:
    (own, _), (every, _) = views_of("own"), views_of("all")
    assert [row.voice for row in own] == [row.voice for row in every]
    assert [row.ids[-1] for row in own[:6]] == [row.ids[-1] for row in every[:6]]
    for mine, all_seen in zip(own[:192], every[:192], strict=True):
        assert all_seen.ids[:2] == mine.ids[:2]
        assert (len(mine.ids), len(all_seen.ids)) == (3, 5)
    beside = {row.ids[:2] for row in own[:192]}
    assert all(row.ids[2:4] in beside and row.ids[2:4] != row.ids[:2] for row in every)


def test_a_central_critic_explains_what_only_others_see() -> None:
    world = {"luck": 3.0}
    adam = Adam(lr=1e-6)  # the policy stays as it is; only the critic learns
    alone = learn("own", world=world, adam=adam, iterations=8).curve[-1]["critic/explained"]
    together = learn("all", world=world, adam=adam, iterations=8).curve[-1]["critic/explained"]
    assert alone < 0.3
    assert together > 0.7


def test_minibatches_are_parts_that_every_epoch_goes_through() -> None:
    rows = [Row(ids=(i, 0), mask=(False, True)) for i in range(7)]
    assert [*minibatches(rows, 1, 2, "a")] == [rows, rows]
    first, second, *again = minibatches(rows, 2, 2, "a")
    assert again == [first, second]
    assert (len(first), len(second)) == (4, 3)
    assert sorted(row.ids[0] for row in first + second) == [*range(7)]
    assert first != rows[::2]
    assert [*minibatches(rows, 2, 2, "a")] == [first, second, first, second]
    assert [*minibatches(rows, 2, 1, "b")] != [first, second]
    assert len([*minibatches(rows, 9, 1, "a")]) == 7


def test_a_step_is_taken_on_each_minibatch(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(rows: Sequence[Row], *more: Any) -> Any:
        read.append(len(rows))
        return checked(rows, *more)

    monkeypatch.setattr("motet.train.gradient.checked", counted)
    engine = engine_for(2)
    critic = Critic({"agent": "critic"}, epochs=2, minibatches=4)
    learn(engine=engine, critic=critic, iterations=2, groups=8, epochs=3, minibatches=2)
    assert engine.step("agent") == 2 * 3 * 2
    assert engine.step("critic") == 2 * 2 * 4
    assert read == 2 * [*4 * [4], *2 * [8]], "a part is made into tensors once, not in every epoch"
    with pytest.raises(BadInput, match="minibatches is 0"):
        learn(minibatches=0)


def test_a_killed_run_goes_on_with_its_critic(tmp_path: Path) -> None:
    whole = learn(iterations=4, checkpoint_every=2).curve
    learn(iterations=2, checkpoint_every=2, out=tmp_path)
    resumed = learn(iterations=4, checkpoint_every=2, out=tmp_path, resume=True, engine=engine_for(2, seed=5))
    assert resumed.curve[-1]["critic/loss"] == pytest.approx(whole[-1]["critic/loss"], rel=1e-4)
    assert resumed.curve[-1]["agent/loss"] == pytest.approx(whole[-1]["agent/loss"], abs=1e-5)


def test_samples_do_not_depend_on_company_and_repeat() -> None:
    model = engine_for(2).model("agent")
    asks = [(motet.Message("user", (array_part([i / 9, 0.5]),)), Sampling(seed=i)) for i in range(9)]

    async def together() -> list[int]:
        found = await asyncio.gather(*(model.sample([m], 1, s) for m, s in asks))
        return [reply.data for (reply,) in found]

    alone = [asyncio.run(model.sample([m], 1, s))[0].data for m, s in asks]
    assert asyncio.run(together()) == alone
    assert set(alone) == {0, 1}
    greedy = asyncio.run(model.sample([asks[0][0]], 5, Sampling(temperature=0.0)))
    assert len({reply.data for reply in greedy}) == 1


def test_what_cannot_be_learned_is_refused() -> None:
    engine = engine_for(2)
    with pytest.raises(BadInput, match="is a critic and cannot act"):
        engine.model("critic")
    with pytest.raises(BadInput, match="words alone"):
        asyncio.run(engine.model("agent").sample([motet.Message.say("user", "Go.")], 1, Sampling()))
    with pytest.raises(BadInput, match="takes 2 numbers and was shown 3"):
        asyncio.run(
            engine.model("agent").sample([motet.Message("user", (array_part([1, 2, 3]),))], 1, Sampling())
        )
    with pytest.raises(BadInput, match="takes 2 numbers, and then 1 to train on"):
        engine.logprobs("agent", [Row(ids=(1, 2, 3, 4), mask=(False, False, False, True))])
    with pytest.raises(BadInput, match="has no returns"):
        engine.forward_backward(
            "critic", [Row(ids=(1, 2, 0), mask=(False, False, True), returns=(nan,) * 3)], Loss("value")
        )
    with pytest.raises(BadInput, match="nobody judges policy 'agent'"):
        learn(critic=Critic({}))
    with pytest.raises(UnknownName, match="no critic of this engine is called 'other'"):
        learn(critic=Critic({"agent": "other"}))
    with pytest.raises(BadInput, match="takes 4 numbers"):
        learn("own", engine=engine_for(4), iterations=1)
