"""A comparison that is killed goes on where it was, pays for no answer twice and ends with the same table."""

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from faulty_server import Answer, FaultyServer, Request, say
from voices import Echo, review

import motet
from motet import Store, Suite, Task
from motet.evals.bench import Bench
from motet.evals.comparison import Comparison
from motet.evals.scorers import scorer
from motet.types import FailureKind

CONCURRENCY = 3
WORK = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}]
from test_resume import compare
compare(*sys.argv[1:])
"""


def compare(server: str, path: str) -> Comparison:
    """Ten sums by two methods, each against votes of equal cost."""
    tasks = tuple(Task(f"What is {i} + {i}?", target=str(2 * i), id=str(i), kind="number") for i in range(10))
    return motet.compare(
        [review(rounds=1), "chain_of_thought"],
        Suite("sums", tasks, scorer("numeric")),
        model=server,
        store=Store(path),
        concurrency=CONCURRENCY,
    )


def table(comparison: Comparison) -> Any:
    """All that must not depend on whether the work was interrupted: not run ids, times and the port."""
    model = comparison.settings.model or ""
    plain = json.loads(json.dumps(comparison.to_dict()).replace(model.partition("/v1")[0], "SERVER"))
    for row in plain["rows"]:
        del row["seconds"], row["team_id"]
    for item in plain["items"]:
        for outcome in (o for outcomes in item["outcomes"].values() for o in outcomes):
            del outcome["run"], outcome["seconds"]
    return plain


def answer(request: Request) -> Answer:
    """Right in two of three cases, by the hash of what is asked; one prompt in seven is refused."""
    luck = hashlib.sha256(request.prompt.encode()).digest()
    numbers = [int(word) for word in request.prompt.split("What is ")[1].split("?")[0].split(" + ")]
    texts = [
        f"Answer: {sum(numbers) + (luck[i % 32] % 3 == 0)}" for i in range(int(request.body.get("n") or 1))
    ]
    return say("no", status=400) if luck[31] % 7 == 0 else say(*texts)


def asked(server: FaultyServer) -> Counter[str]:
    return Counter(json.dumps(dict(r.body), sort_keys=True) for r in server.requests)


@pytest.mark.slow
def test_killed_at_several_moments_and_resumed(tmp_path: Path) -> None:
    with FaultyServer(answer, latency_s=0.004) as server:
        whole = table(compare(server.name, str(tmp_path / "whole.db")))
    expected = asked(server)
    assert len(server.requests) > 60 and any(row["failures"] for row in whole["rows"])

    path = tmp_path / "killed.db"
    blows = {9: signal.SIGKILL, 34: signal.SIGINT, 58: signal.SIGKILL}
    children: list[subprocess.Popen[str]] = []

    def deadly(request: Request) -> Answer:
        if blow := blows.get(len(server.requests)):
            os.kill(children[-1].pid, blow)
        return answer(request)

    with FaultyServer(deadly, latency_s=0.004) as server:
        for blow in blows.values():
            command = [sys.executable, "-c", WORK, server.name, str(path)]
            children.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
            words = children[-1].communicate(timeout=30)[1]
            assert children[-1].returncode == -blow
            assert (blow == signal.SIGINT) == (f"kept in {path}" in words and "goes on from there" in words)
        assert table(compare(server.name, str(path))) == whole
        again = asked(server) - expected
        assert again.total() <= CONCURRENCY * len(blows), "only calls in flight may be asked again"
        assert not expected - asked(server), "nothing is left out"
        before = len(server.requests)
        assert table(compare(server.name, str(path))) == whole
        assert len(server.requests) == before, "what is finished costs nothing"


def test_a_resumed_table_is_the_same_to_the_last_digit(tmp_path: Path) -> None:
    with FaultyServer(answer) as server:
        first = compare(server.name, str(tmp_path / "tape.db")).to_dict()
        assert compare(server.name, str(tmp_path / "tape.db")).to_dict() == first


@pytest.mark.parametrize(("cancel", "runs"), [(True, 2), (False, 1)])
def test_only_what_was_cancelled_is_run_again(cancel: bool, runs: int) -> None:
    store, model, task = Store.memory(), Echo(wait_s=0.02), Task("Say 1.", target="1", kind="number")
    bench, team = Bench(scorer("numeric"), store), review(rounds=1).cast(model)

    async def stopped() -> None:
        work = asyncio.create_task(bench.play(team, task, 0))
        await asyncio.sleep(0.03)
        if cancel:
            work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    asyncio.run(stopped())
    outcome, paid, _, made = asyncio.run(bench.play(team, task, 0))
    tapes = store.runs()
    assert made == cancel and len(tapes) == runs and outcome.run == tapes[0].run
    if cancel:
        assert tapes[1].ended and tapes[1].ended.failure
        assert tapes[1].ended.failure.kind == FailureKind.CANCELLED
        assert paid.calls == 2  # the first of three was answered before
    assert outcome.calls == 3 and (paid.calls == 0) == (not cancel)


def test_another_seed_team_budget_or_scorer_is_another_piece_of_work() -> None:
    store, task, team = Store.memory(), Task("1?", target="1"), review.cast("sim:skill=0.5")
    bench = Bench(scorer("exact"), store)
    keys = {
        bench.item_key(team, task, 0),
        bench.item_key(team, task, 1),
        bench.item_key(team(rounds=3), task, 0),
        bench.item_key(team, Task("2?", target="1"), 0),
        Bench(scorer("exact"), store, motet.Budget(calls=9)).item_key(team, task, 0),
        Bench(scorer("numeric"), store).item_key(team, task, 0),
        Bench(scorer("numeric", rel_tol=0.1), store).item_key(team, task, 0),
    }
    assert len(keys) == 7
    assert bench.item_key(review.cast("sim:skill=0.5"), task, 0) in keys
