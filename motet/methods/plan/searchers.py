"""Three searches for a plan, each guided by a verifier's reward: best of n, Tree of Thoughts, REBASE.

Papers: Cobbe et al. 2021, arXiv:2110.14168; Yao et al. 2023, arXiv:2305.10601; Wu et al. 2024,
arXiv:2408.00724; as PlanGEN (Parmar et al. 2025, arXiv:2502.16111) uses them. Each returns the finished
plans it found.
Calls: best of n 2 * n; the others at most 2 * n * D.
"""

from collections.abc import Awaitable, Callable, Sequence
from math import exp

from motet.concurrency import all_of
from motet.methods.plan.growth import Plan, Search


async def best_of_n(search: Search) -> list[Plan]:
    """`n` whole plans, each verified."""
    return await search.verify(await search.grow(Plan(), search.n, last=True))


async def tree_of_thoughts(search: Search) -> list[Plan]:
    """`n` next steps for the best path, each verified, until its best step concludes."""
    path, done = Plan(), []
    for depth in range(1, search.D + 1):
        steps = await search.verify(await search.grow(path, search.n, last=depth == search.D))
        done += [plan for plan in steps if plan.done or depth == search.D]
        if not steps or (path := max(steps, key=lambda plan: plan.reward)).done:
            break
    return done


async def rebase(search: Search) -> list[Plan]:
    """All open paths grow at once, the better ones by more steps; a plan that is done leaves the budget."""
    open_paths, done = [Plan()], list[Plan]()
    for depth in range(1, search.D + 1):
        counts = shares([p.reward / 100 for p in open_paths], search.n - len(done), search.T_b)
        grown = await all_of(
            [
                search.grow(path, count, last=depth == search.D)
                for path, count in zip(open_paths, counts, strict=True)
                if count
            ]
        )
        steps = await search.verify([plan for plans in grown for plan in plans])
        done += [plan for plan in steps if plan.done or depth == search.D]
        open_paths = [plan for plan in steps if not plan.done]
        if not open_paths or len(done) >= search.n:
            break
    return done


def shares(rewards: Sequence[float], B: int, T_b: float) -> list[int]:
    """How many of `B` samples each path gets: B * softmax(reward / T_b), rounded so that they sum to B."""
    top = max(rewards)
    weights = [exp((reward - top) / T_b) for reward in rewards]
    exact = [B * weight / sum(weights) for weight in weights]
    counts = [int(share) for share in exact]
    rest = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in rest[: B - sum(counts)]:
        counts[i] += 1
    return counts


SEARCHES: dict[str, Callable[[Search], Awaitable[list[Plan]]]] = {
    "best_of_n": best_of_n,
    "tree_of_thoughts": tree_of_thoughts,
    "rebase": rebase,
}
