"""The loop on language models: the engine follows from the cast, and the team learns."""

from collections.abc import Mapping
from typing import Any

import pytest
from together import SmallLetters, say

import motet
from motet import Agent, Sampling, Store
from motet.errors import BadInput, UnknownName
from motet.train import Adam, train

SHORT = Sampling(max_tokens=4, temperature=1)
TINY = Agent("torch:tiny:hidden=32,layers=1,heads=2", sampling=SHORT)


@motet.team
async def pair(task, writer, critic):
    """Write, hear the critic, write again."""
    draft = await writer.ask(task)
    return await writer.ask(draft, await critic.ask(draft))


@pytest.mark.slow
def test_a_model_learns_in_the_loop_what_it_is_paid_for() -> None:
    done = train(
        say.cast(TINY),
        SmallLetters(),
        policies={"voice": "full"},
        iterations=14,
        groups=1,
        group_size=32,
        adam=Adam(lr=0.03),
    )
    rewards = [line["reward/voice"] for line in done.curve[1:]]
    assert rewards[0] < 0.3
    assert rewards[-1] > 0.9
    assert max(line["voice/mismatch_max"] for line in done.curve[1:] if "voice/mismatch_max" in line) < 1e-3
    run = done.team.run("Anything.", store=Store.memory(), seed=3)
    assert sum(c.islower() for c in str(run.answer)) >= 3, "the tuned team runs as any other"


def trained(policies: Mapping[str, str], team: motet.Team[...] = pair, **cast: Any) -> Any:
    return train(
        team.cast(**({"writer": TINY, "critic": TINY} | cast)),
        SmallLetters(),
        policies=policies,
        iterations=1,
        groups=1,
        group_size=2,
    )


def test_each_voice_gets_an_adapter_of_its_own_on_one_base() -> None:
    done = trained({"writer": "lora", "critic": "lora"})
    assert {"writer/loss", "critic/loss", "reward/writer"} <= done.curve[-1].keys()
    assert done.ledger.counts["calls"] == 6
    models = [call.model for call in done.team.run("Go.", store=Store.memory()).calls]
    assert [name.partition("#")[2] for name in models] == ["writer", "critic", "writer"]


def test_a_voice_that_is_not_named_stays_as_it_is() -> None:
    done = trained({"writer": "lora"})
    assert done.ledger.counts["untrained"] == 2
    assert "critic/loss" not in done.curve[-1]


def test_everybody_may_share_one() -> None:
    done = trained({"*": "lora"})
    assert done.curve[-1]["everybody/rows"] == 6


def test_what_cannot_be_trained_is_refused_with_the_way_out() -> None:
    with pytest.raises(BadInput, match=r"critic of pair is sung by sim:.*cast critic='torch:…'"):
        trained({"critic": "lora"}, critic="sim:skill=1")
    with pytest.raises(UnknownName, match="lora"):
        trained({"writer": "qlora"})
    with pytest.raises(BadInput, match="different weights"):
        trained({"writer": "lora", "critic": "lora"}, critic=Agent("torch:tiny:hidden=16,layers=1,heads=2"))
    with pytest.raises(BadInput, match="has to be a team"):
        train("tic_tac_toe", policies={"*": "lora"})
    with pytest.raises(UnknownName, match="voice of pair"):
        trained({"poet": "lora"})
