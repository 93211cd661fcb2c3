"""Routers and mixtures that learn: by hand figures, from any run, on a cart-pole, along a front of costs."""

import asyncio
import math
import random
from dataclasses import dataclass
from typing import Any

import pytest
from method_runs import edges, is_right, play, play_all, said_to, says, sums
from routed import everybody_debates
from test_methods_compose import CHEAP, DEAR, easy_and_hard, trained

import motet
from motet import Agent, Store
from motet.errors import BadInput
from motet.evals.stats import mean_ci
from motet.methods import direct, improper_mixture, mas_router, train_mixture
from motet.methods.route.controller import Controller, D
from motet.methods.route.features import softmax
from motet.methods.route.improper_critic import actor_critic
from motet.methods.route.improper_learning import Episode, ascend, episode_of
from motet.methods.route.mas_router import ROLES, chain, debate, vote
from motet.models.scripted import Line, Scripted
from motet.teams import Voices
from motet.tools.tool import tool

# --- the gradients, by hand


class Corridor:
    """Policy m goes to place m, and policy 1 earns 1."""

    M = 2

    def start(self, rng: random.Random) -> int:
        return 0

    def step(self, state: int, m: int, rng: random.Random) -> tuple[int, float]:
        return m, float(m)

    def phi(self, state: int) -> tuple[float, float]:
        return (float(state == 0), float(state == 1))


def test_one_step_of_each_actor_is_as_worked_out_by_hand() -> None:
    """Seed 0 draws the policies 1, 1, 0. With beta = gamma = 1/2 their errors are 1, 1 and -1/4: the first
    makes V(0) 1/2, the second makes V(1) 1/2, the third is 0 + V(0) / 2 - V(1). Their mean is 7/12."""
    world, step = Corridor(), {"steps": 1, "horizon": 3, "alpha": 1.0, "beta": 0.5, "gamma": 0.5}
    plain = [-0.25 / 3 - 0.5 * 7 / 12, 2 / 3 - 0.5 * 7 / 12]
    assert actor_critic(world, **step) == pytest.approx(plain)
    assert actor_critic(world, natural=True, **step) == pytest.approx([-0.25 - 7 / 12, 1 - 7 / 12])


def test_the_critic_keeps_what_it_has_learned() -> None:
    """It ends the first step with V = (1/2, 3/8). The second draws 0, 1, 1, whose errors are -1/4 (V(0) falls
    to 3/8), 13/16 and 13/16."""
    step = {"steps": 2, "horizon": 3, "alpha": 1.0, "beta": 0.5, "gamma": 0.5}
    mean, pi = (2 * 13 / 16 - 0.25) / 3, softmax([-0.375, 0.375])
    wanted = [-0.375 - 0.25 / 3 - pi[0] * mean, 0.375 + 2 * 13 / 16 / 3 - pi[1] * mean]
    assert actor_critic(Corridor(), **step) == pytest.approx(wanted)


def test_the_policy_gradient_compares_with_the_other_episodes_and_discounts() -> None:
    right, wrong = Episode((0,), (1.0,)), Episode((1,), (0.0,))
    assert ascend([0.0, 0.0], [right, wrong], eta=1.0) == [0.5, -0.5]
    alone = ascend([0.0, 0.0], [Episode((0, 1), (0.0, 1.0))], eta=1.0, gamma=0.5)
    assert alone == [0.25 - 0.25, 0.25 - 0.25]  # gamma ** t * G_t is 1/2 at both steps
    with pytest.raises(BadInput, match="no episodes"):
        ascend([0.0], [], eta=1.0)


# --- a cart-pole

UP = 0.21  # radians from upright at which the pole has fallen


@dataclass(frozen=True)
class CartPole:
    """Barto, Sutton and Anderson's cart and pole, steps of 0.02 s; None when it has fallen or left the track.

    Each controller pushes with a linear function of place, speed, angle and turning speed, 10 N at most: the
    first falls over its own swings, the second lets the cart run away, the third pushes the wrong way.
    """

    gains: tuple[tuple[float, ...], ...] = ((2, 6, 80, 0), (0, 0, 0, 24), (0, 0, -60, -10))
    M: int = 3

    def start(self, rng: random.Random) -> Any:
        return tuple(rng.uniform(-0.05, 0.05) for _ in range(4))

    def step(self, state: Any, m: int, rng: random.Random) -> tuple[Any, float]:
        if state is None:
            return None, 0.0
        x, v, angle, turn = state
        push = max(-10.0, min(10.0, sum(k * y for k, y in zip(self.gains[m], state, strict=True))))
        sine, cosine = math.sin(angle), math.cos(angle)
        pull = (push + 0.05 * turn * turn * sine) / 1.1
        turning = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
        going = pull - 0.05 * turning * cosine / 1.1
        after = (x + 0.02 * v, v + 0.02 * going, angle + 0.02 * turn, turn + 0.02 * turning)
        return (after, 1.0) if abs(after[0]) < 2.4 and abs(after[2]) < UP else (None, 0.0)

    def phi(self, state: Any) -> tuple[float, ...]:
        return (0.0,) * 3 if state is None else (1.0, (state[2] / UP) ** 2, (state[3] / 2) ** 2)


def balanced(pi: list[float], rng: random.Random, most: int) -> Episode:
    world, drawn, rewards = CartPole(), [], []
    state = world.start(rng)
    while state is not None and len(drawn) < most:
        m = rng.choices(range(world.M), pi)[0]
        state, reward = world.step(state, m, rng)
        drawn.append(m)
        rewards.append(reward)
    return Episode(tuple(drawn), tuple(rewards))


def stands(pi: list[float]) -> list[float]:
    """How many steps the pole stands, of 500, from 20 beginnings."""
    return [sum(balanced(pi, random.Random(seed), 500).rewards) for seed in range(20)]


@pytest.mark.parametrize("how", ["gradient", "natural actor-critic"])
def test_a_mixture_learns_to_balance_a_pole_that_each_controller_lets_fall(how: str) -> None:
    alone = max(mean_ci(stands([float(m == i) for i in range(3)])).high for m in range(3))
    begun = mean_ci(stands([1 / 3] * 3))
    stood: list[float] = []
    for seed in (0, 1):
        theta, rng = [0.0] * 3, random.Random(seed)
        if how == "gradient":
            for _ in range(20):
                some = [balanced(softmax(theta), rng, 200) for _ in range(8)]
                theta = ascend(theta, some, eta=0.006, gamma=0.98)
        else:
            theta = actor_critic(
                CartPole(), natural=True, steps=60, horizon=200, alpha=0.5, gamma=0.95, seed=seed
            )
        stood += stands(softmax(theta))
    learned = mean_ci(stood)
    assert learned.low > alone > begun.high


# --- mixtures of voices


def test_what_was_drawn_is_found_again_whoever_sings_and_whatever_fails() -> None:
    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return word

    wish = Line("", match="What is", tool_calls=[{"name": "look", "arguments": {"word": "x"}}])
    script = [Line("Answer: 42", match="^x$"), wish]
    handy, nested = Agent(Scripted(script), tools=[look]), direct.cast(says(42))
    team = improper_mixture(T=3, weights=(1, 1, 1)).cast(agents=[handy, nested, "sim:fail=1"])
    seen = set()
    for seed in range(12):
        run = play(team, seed=seed)
        episode = episode_of(run)
        voices = [call.voice.partition("/")[0] for call in run.calls]
        turns = [v for i, v in enumerate(voices) if v != "agents_1" or not _continues(run, i)]
        assert turns == [f"agents_{m + 1}" for m in episode.drawn]
        assert episode.rewards == (0.0, 0.0, float(is_right(run)))
        seen |= set(episode.drawn)
    assert seen == {0, 1, 2}


def _continues(run: motet.Run, i: int) -> bool:
    """Whether a call goes on after a tool."""
    return run.calls[i].parents == (run.calls[i - 1].id,) and "tool" in {
        message.role for message in run.tape.path(run.calls[i].prompt)
    }


def test_a_mixture_is_learned_of_any_voices_and_what_makes_no_sense_is_refused() -> None:
    team = improper_mixture(T=1).cast(agents=[direct.cast(says(0)), direct.cast("sim:skill=1")])
    weights = asyncio.run(train_mixture(team, sums(6), steps=4, store=Store.memory()))
    assert sum(weights) == pytest.approx(1) and weights[1] > 0.8
    for wrong, tasks in ((team, []), (improper_mixture, sums(1))):
        with pytest.raises(BadInput, match="agents that are cast"):
            asyncio.run(train_mixture(wrong, tasks, store=Store.memory()))
    for run in (play(direct.cast(says(1))), play(team)):
        with pytest.raises(BadInput, match="with weights"):
            episode_of(run)
    with pytest.raises(BadInput, match="weights="):
        play(team(weights=(math.inf, 1.0)))


def test_a_step_that_fails_leaves_the_draft_as_it_was() -> None:
    twice = Scripted([Line("Answer: 1", times=1), Line(error="server", times=1), Line("Answer: 2")])
    run = play(improper_mixture(T=3).cast(agents=[twice]))
    assert edges(run) == [("agents_1", ()), ("agents_1", ("1",)), ("agents_1", ("1",))]
    late = play(
        improper_mixture(T=2).cast(agents=[Scripted([Line("Answer: 1", times=1), Line(error="server")])])
    )
    assert late.answer == "Answer: 1"


# --- MasRouter


def test_a_link_of_a_chain_that_fails_leaves_the_draft_as_it_was() -> None:
    links = Scripted([Line("Answer: 1", times=1), Line(error="server", times=1), Line("Answer: 2")])
    team = mas_router(controller=everybody_debates(), gamma=3, modes=["chain"]).cast(agents=[links])
    run = play(team)
    assert edges(run) == [("agents_1", ()), ("agents_1", ("1",)), ("agents_1", ("1",))]
    assert run.answer == "Answer: 2"
    assert "Answer: 1" in said_to(run, "agents_1")[2]


def test_a_controller_of_the_wrong_shape_is_refused_before_anything_is_asked() -> None:
    good = everybody_debates()
    row = (0.0,) * D
    for level, weights in (("mode", good.mode[1:]), ("llm", good.mode), ("role", ((0.0,),) * len(good.role))):
        with pytest.raises(
            BadInput,
            match=f"{level} of a controller has .* expected {1 + D * (1 + 2 * (level != 'mode'))} rows",
        ):
            Controller(**{level: weights})
    with pytest.raises(BadInput, match="endless"):
        Controller(mode=((math.nan,) * D, *[row] * D))


HOW = {"vote": vote, "chain": chain, "debate": debate}


@motet.team
async def fixed(task, agents: Voices, *, mode: str = "vote"):
    """The same mode and models for every question."""
    return await HOW[mode](task, list(zip(agents, ROLES, strict=False)))


def point(team: Any) -> tuple[float, float]:
    """The share of right answers, and the mean cost, on new questions."""
    runs = play_all(team, easy_and_hard(80, 100))
    return sum(map(is_right, runs)) / len(runs), sum(run.cost or 0 for run in runs) / len(runs)


def test_no_fixed_team_of_any_mode_is_as_good_and_as_cheap_nor_worth_as_much() -> None:
    """For two weights of cost, on voices that gain little from talk."""
    teams = [[CHEAP], [DEAR], [CHEAP] * 2, [DEAR] * 2, [CHEAP, DEAR], [DEAR, CHEAP]]
    points = [point(fixed(mode=mode).cast(agents=agents)) for mode in HOW for agents in teams]
    for lam in (1.0, 2.0):
        right, cost = point(trained(lam))
        for other, price in points:
            assert right > other or cost < price
            assert right - lam * cost > other - lam * price
