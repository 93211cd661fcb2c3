"""SPIRAL on Kuhn poker (Liu et al. 2025, arXiv:2506.24119; catalogue 339), measured exactly.

One tabular policy plays both seats against itself; a running baseline for each (game, role) gives the credit.
What a best response could gain against it is computed over the whole game tree, before and after, and held
against three players: uniform over the legal actions, always checking and calling, and the equilibrium. The
game is worth −1/18 to the first player.

    python -m recipes.spiral_kuhn [--seeds 5] [--iterations 200] [--processes 2]
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from motet.envs.exact import Policy, expected_returns, exploitability, uniform
from motet.envs.kuhn import CARDS, TO_ACT, Hand, Kuhn
from motet.evals.stats import Interval, mean_ci
from motet.train.recipes import kuhn_selfplay


def caller(seat: str, seen: str, legal: tuple[str, ...]) -> dict[str, float]:
    """Checks, and calls every bet."""
    return {"call" if "call" in legal else "check": 1.0}


def equilibrium() -> Policy:
    """The perfect player's probabilities."""
    rules, table = Kuhn(), {}
    for history, (seat,) in TO_ACT.items():
        for card in CARDS:
            other = CARDS[CARDS.index(card) - 1]
            state = Hand((card, other) if seat == "first" else (other, card), history)
            bold = rules.boldness(state, seat)
            yes, no = ("call", "fold") if history and history[-1] == "bet" else ("bet", "check")
            table[seat, rules.text(state, seat)] = {yes: bold, no: 1 - bold}
    return lambda seat, seen, legal: table[seat, seen]


def one(seed: int, iterations: int) -> tuple[float, float]:
    """Train with one seed: exploitability, and the game's value to the first player."""
    import torch

    torch.set_num_threads(1)
    last = kuhn_selfplay(seed=seed, iterations=iterations, evaluate_every=iterations).curve[-1]
    return last["exploitability"], last["value"]


def main() -> None:
    """Train on every seed and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        found = list(pool.map(partial(one, iterations=given.iterations), range(given.seeds)))
    known: dict[str, Policy] = {"uniform": uniform, "check and call": caller, "equilibrium": equilibrium()}
    print("| player | exploitability | value to the first player |\n|---|--:|--:|")
    for name, policy in known.items():
        value = expected_returns(Kuhn(), policy)["first"]
        print(f"| {name} | {exploitability(Kuhn(), policy):.3f} | {value:+.3f} |")
    exploited, worth = (mean_ci(list(column)) for column in zip(*found, strict=True))
    print(f"| self-play, {given.seeds} seeds | {shown(exploited)} | {shown(worth)} |")
    print("seeds:", ", ".join(f"{e:.3f}" for e, _ in found))


def shown(interval: Interval) -> str:
    """A mean with its 95 % interval."""
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


if __name__ == "__main__":
    main()
