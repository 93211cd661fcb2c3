"""Steps a second of our worlds and of TextArena's, for the same games, with random legal play and no model.

A step is what a rollout does besides asking the model: look, choose, act; beginning the episodes is counted
too. TextArena is measured as it is (its raw games, without wrappers, which is its fastest form). Both play in
turns in one process, so that a slow moment of the machine meets both.

    python -m benchmarks.envs
"""

import re
import time
from collections.abc import Callable
from functools import partial
from random import Random
from statistics import median
from typing import Any

from motet.envs import EnvSpec, Maker

SECONDS = 0.4
REPEAT = 7
LISTED = re.compile(r"'(\[[^\[\]']+\])'")
GAMES: dict[str, tuple[str, str, int]] = {
    "tic-tac-toe": ("tic_tac_toe", "TicTacToe-v0", 2),
    "Kuhn poker": ("kuhn", "KuhnPoker-v0", 2),
    "guess my number": ("guess_number", "GuessTheNumber-v0", 1),
    "prisoner's dilemma": ("prisoners_dilemma", "IteratedPrisonersDilemma-v0", 2),
}
"""Ours, TextArena's, and how many play."""


def ours(make: Maker, seed: int, rng: Random) -> int:
    """Play one episode at random; the number of actions taken."""
    env, actions = make(seed), 0
    while seats := env.acting():
        chosen = {}
        for seat in seats:
            legal = env.observe(seat).legal
            chosen[seat] = rng.choice(legal) if legal else env.sample(seat, rng)
        env.step(chosen)
        actions += len(chosen)
    return actions


def theirs(name: str, players: int, seed: int, rng: Random) -> int:
    """The same with TextArena; its list of moves stands in the text of the last message."""
    import textarena

    env: Any = textarena.make(name)
    env.reset(num_players=players, seed=seed)
    actions, done = 0, False
    while not done:
        _, seen = env.get_observation()
        listed = LISTED.findall(seen.rpartition("vailable")[2])
        move = rng.choice(listed) if listed else _other_move(name, rng)
        done, _ = env.step(move)
        actions += 1
    return actions


def _other_move(name: str, rng: Random) -> str:
    if name.startswith("Guess"):
        return f"[{rng.randint(1, 20)}]"
    return rng.choice(("[cooperate]", "[defect]"))


def speed(episode: Callable[[int, Random], int]) -> float:
    """Actions a second."""
    rng = Random("players")
    taken, seed, begun = 0, 0, time.perf_counter()
    while (spent := time.perf_counter() - begun) < SECONDS:
        taken += episode(seed, rng)
        seed += 1
    return taken / spent


def measure() -> list[tuple[str, float, float, float, float]]:
    """Per game: our speed, theirs, the median ratio, and the spread of the ratio."""
    rows = []
    for game, (mine, other, players) in GAMES.items():
        spec = EnvSpec(mine)
        theirs(other, players, 0, Random(0))  # imports
        pairs = [
            (speed(partial(ours, spec)), speed(partial(theirs, other, players)))
            for _ in range(REPEAT)
        ]
        ratios = [a / b for a, b in pairs]
        spread = (max(ratios) - min(ratios)) / median(ratios)
        rows.append((game, median(a for a, _ in pairs), median(b for _, b in pairs), median(ratios), spread))
    return rows


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("game", "Motet, actions/s", "TextArena, actions/s", "ratio", "spread of the ratio")
    for game, mine, other, ratio, spread in measure():
        table.add_row(game, f"{mine:,.0f}", f"{other:,.0f}", f"{ratio:.1f}", f"{spread:.0%}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
