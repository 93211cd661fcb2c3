"""Steps a second of our worlds and of TextArena's, for the same games, with random legal play and no model.

A step is what a rollout does besides asking the model: look (the words are made), choose, act; beginning the
episodes is counted too. TextArena's games are made by their plain names, as its documentation does, which
gives words as ours do; the `-raw` form leaves the joining of the messages to the caller and is shown beside.
Only moves are counted: the turns of talk before each round of its prisoner's dilemma are played, but are no
moves. Both play in turns in one process, after a warm-up, so that a slow moment of the machine meets both;
the seconds are the processor's, of which other programs take none.

    python -m benchmarks.envs
"""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from random import Random
from statistics import median
from typing import Any

from motet.envs import EnvSpec, Maker

SECONDS = 0.4
REPEAT = 7
DICE = cycle(Random("dice").choices(range(2**30), k=100_003))
"""Drawn beforehand, so that what is measured is not the drawing."""
LISTED = re.compile(r"'(\[[^\[\]']+\])'")
GAMES: dict[str, tuple[str, str, int, int]] = {
    "tic-tac-toe": ("tic_tac_toe", "TicTacToe-v0", 2, 0),
    "Kuhn poker": ("kuhn", "KuhnPoker-v0", 2, 0),
    "guess my number": ("guess_number", "GuessTheNumber-v0", 1, 0),
    "prisoner's dilemma": ("prisoners_dilemma", "IteratedPrisonersDilemma-v0", 2, 1),
}
"""Ours, TextArena's, how many play, and TextArena's turns of talk before each move."""


def ours(make: Maker, seed: int, dice: Iterator[int]) -> int:
    """Play one episode at random; the number of actions taken."""
    env, actions = make(seed), 0
    while seats := env.acting():
        chosen = {}
        for seat in seats:
            legal = env.observe(seat).legal
            chosen[seat] = legal[next(dice) % len(legal)]
        env.step(chosen)
        actions += len(chosen)
    return actions


def theirs(name: str, players: int, talk: int, seed: int, dice: Iterator[int]) -> int:
    """The same with TextArena; its list of moves stands in the text of the last message."""
    import textarena

    env: Any = textarena.make(name)
    env.reset(num_players=players, seed=seed)
    turns, done = 0, False
    while not done:
        _, seen = env.get_observation()
        last = seen.rpartition("vailable")[2] if isinstance(seen, str) else seen[-1][1]
        listed = LISTED.findall(last)
        done, _ = env.step(listed[next(dice) % len(listed)] if listed else _other_move(name, dice))
        turns += 1
    return turns // (1 + talk)


def _other_move(name: str, dice: Iterator[int]) -> str:
    if name.startswith("Guess"):
        return f"[{next(dice) % 20 + 1}]"
    return ("[cooperate]", "[defect]")[next(dice) % 2]


def speed(episode: Callable[[int, Iterator[int]], int]) -> float:
    """Actions a second of the processor."""
    taken, seed, begun = 0, 0, time.process_time()
    while (spent := time.process_time() - begun) < SECONDS:
        taken += episode(seed, DICE)
        seed += 1
    return taken / spent


def measure(game: str) -> tuple[list[float], list[float], list[float]]:
    """Moves a second in each repeat: ours, TextArena's, TextArena's raw form."""
    mine, name, players, talk = GAMES[game]
    ways = [
        partial(ours, EnvSpec(mine)),
        partial(theirs, name, players, talk),
        partial(theirs, f"{name}-raw", players, talk),
    ]
    for way in ways:
        speed(way)
    rounds = [[speed(way) for way in ways] for _ in range(REPEAT)]
    first, second, third = (list(speeds) for speeds in zip(*rounds, strict=True))
    return first, second, third


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "game", "Motet, moves/s", "TextArena, moves/s", "ratio (lowest to highest)", "-raw", "ratio"
    )
    for game in GAMES:
        mine, plain, raw = measure(game)
        ratios = sorted(a / b for a, b in zip(mine, plain, strict=True))
        span = f"{median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
        against_raw = median(a / b for a, b in zip(mine, raw, strict=True))
        speeds = (f"{median(mine):,.0f}", f"{median(plain):,.0f}", span, f"{median(raw):,.0f}")
        table.add_row(game, *speeds, f"{against_raw:.1f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
