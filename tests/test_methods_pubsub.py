"""The message pool and the task channel: who is woken by what, and what is done when."""

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from motet.methods.organise.channel import Outcome, Posted, clear
from motet.methods.organise.pool import Documents, Pool, Role
from motet.types import Content, Linked


def worker(kind: str, watches: set[str], needs: set[str], log: list[tuple[str, set[str]]]) -> Role:
    async def act(have: Documents) -> Content:
        log.append((kind, set(have)))
        return kind

    return Role(kind, frozenset(watches), frozenset(needs), act)


@given(st.permutations(range(8)), st.lists(st.integers(0, 255), min_size=8, max_size=8))
def test_each_role_acts_once_and_only_when_all_it_needs_is_there(order: list[int], masks: list[int]) -> None:
    """Role i needs some of the documents before it, and watches for those; roles stand in any order."""
    needs = [{"d0", *(f"d{j + 1}" for j in range(i) if masks[i] >> j & 1)} for i in range(8)]
    log: list[tuple[str, set[str]]] = []
    roles = [worker(f"d{i + 1}", needs[i], needs[i], log) for i in order]
    asyncio.run(Pool(roles, d0="go").work())
    assert sorted(kind for kind, _ in log) == [f"d{i + 1}" for i in range(8)]
    assert all(needs[int(kind[1:]) - 1] <= have for kind, have in log)


def test_nobody_is_woken_by_what_it_does_not_watch() -> None:
    log: list[tuple[str, set[str]]] = []
    pool = Pool([worker("b", {"a"}, {"a"}, log), worker("c", {"a"}, {"a", "b"}, log)], a="first")
    asyncio.run(pool.work())
    pool.publish("b", "changed")
    pool.publish("x", "of no interest")
    asyncio.run(pool.work())
    assert [kind for kind, _ in log] == ["b", "c"]
    pool.publish("a", "changed")
    asyncio.run(pool.work())
    assert [kind for kind, _ in log] == ["b", "c", "b", "c"]


def test_those_who_are_woken_together_act_together() -> None:
    active = peak = 0

    async def act(have: Documents) -> None:
        nonlocal active, peak
        active += 1
        peak = max(peak, active)
        await asyncio.sleep(0)
        active -= 1

    roles = [Role(str(i), frozenset({"a"}), frozenset(), act) for i in range(3)]
    asyncio.run(Pool(roles, a="first").work())
    assert peak == 3


@given(st.lists(st.tuples(st.integers(0, 63), st.booleans()), min_size=1, max_size=6))
def test_a_subtask_is_tried_when_and_only_when_all_it_waits_for_went_well(
    parts: list[tuple[int, bool]],
) -> None:
    after = [frozenset(j for j in range(i) if mask >> j & 1) for i, (mask, _) in enumerate(parts)]
    begun: list[int] = []

    async def do(posted: Posted, given: Sequence[Linked]) -> Outcome:
        i = int(str(posted.part))
        begun.append(i)
        assert [r.text for r in given] == [f"result {j}" for j in sorted(posted.after)]
        await asyncio.sleep(0)
        return Outcome(posted.part, Linked(f"result {i}"), parts[i][1])

    channel = [Posted(str(i), None, after[i]) for i in range(len(parts))]  # type: ignore[arg-type]
    outcomes = asyncio.run(clear(channel, do))
    tried = {i for i, outcome in enumerate(outcomes) if outcome}
    assert sorted(begun) == sorted(tried) == [int(str(o.part)) for o in outcomes if o]
    well = {i for i in tried if parts[i][1]}
    assert tried == {i for i in range(len(parts)) if after[i] <= well}
