"""Training runs by name, small enough for two cores. `motet train NAME` runs one; so does a file of your own
that holds a function `train(*, out, resume, **plan)` which returns what `motet.train.train` returns."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from motet.envs.exact import expected_returns, exploitability
from motet.envs.kuhn import SEATS, Kuhn
from motet.teams import team
from motet.train.engine import Adam, Engine
from motet.train.loop import Trained, train
from motet.train.objective import Loss
from motet.train.selfplay import exact_strategy
from motet.train.tabular import tabular_engine
from motet.types import Reply, Task

ACTIONS = ("check/fold", "bet/call")
"""The two words of the policy; the environment reads in each the one action that is legal now."""


def kuhn_selfplay(*, out: str | Path | None = None, resume: bool = False, **plan: Any) -> Trained:
    """Kuhn poker against oneself, with a running baseline for each (game, role).

    SPIRAL's setting (Liu et al. 2025, arXiv:2506.24119; catalogue 339) with a table for a policy. The curve
    holds what a best response could gain (`exploitability`) and what the first player earns (`value`; −1/18
    in equilibrium), both exact.
    """
    settings = {
        "iterations": 200,
        "groups": 128,
        "group_size": 1,
        "credit": "rae",
        "loss": Loss("ppo", entropy=0.1),
        # Momentum drives self-play round in circles; with a large eps Adam is plain gradient descent.
        "adam": Adam(lr=20.0, beta1=0.0, eps=1.0, clip=None),
        "final": 0.02,
        "checkpoint_every": 50,
        "keep_tapes": False,
    }
    return train(
        "kuhn",
        engine=tabular_engine(ACTIONS, ("player", "past")),
        policies={"*": "player"},
        evaluate=kuhn_exactly,
        out=out,
        resume=resume,
        **{**settings, **plan},
    )


def kuhn_exactly(engine: Engine) -> dict[str, float]:
    """How far the engine's `player` can be exploited in Kuhn poker, and what the first player earns."""
    strategy = exact_strategy(engine, dict.fromkeys(SEATS, "player"), "kuhn", ACTIONS)
    rules = Kuhn()
    return {
        "exploitability": exploitability(rules, strategy),
        "value": expected_returns(rules, strategy)["first"],
    }


class Marked(Struct, frozen=True):
    """A mark."""

    value: float


@dataclass(frozen=True)
class Arms:
    """A bandit as a suite: each arm pays what it pays."""

    pay: dict[str, float]
    name: str = "bandit"

    @property
    def tasks(self) -> tuple[Task, ...]:
        return (Task("Which arm: " + " or ".join(self.pay) + "?", id="arms"),)

    @property
    def scorer(self) -> "Arms":
        return self

    async def __call__(self, task: Task, answer: str) -> Marked:
        return Marked(self.pay.get(answer, 0.0))


@team
async def pull(task: Task, gambler: Any) -> Reply:
    """Pull one arm."""
    reply: Reply = await gambler.ask(task)
    return reply


def bandit(*, out: str | Path | None = None, resume: bool = False, **plan: Any) -> Trained:
    """Two arms, of which one pays: the smallest run there is, done in seconds."""
    settings = {"iterations": 20, "groups": 4, "group_size": 8, "adam": Adam(lr=0.3)}
    arms = Arms({"left": 0.0, "right": 1.0})
    return train(
        pull,
        arms,
        engine=tabular_engine(tuple(arms.pay)),
        policies={"gambler": "policy"},
        evaluate=arms,
        out=out,
        resume=resume,
        **{**settings, **plan},
    )


RECIPES: dict[str, Callable[..., Trained]] = {"bandit": bandit, "kuhn_selfplay": kuhn_selfplay}
"""The built-in recipes by name."""
