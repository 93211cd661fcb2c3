"""A training run as one HTML page. While the run goes on, the page loads itself again every few seconds."""

from collections.abc import Iterable, Mapping, Sequence

from motet.train.report.charts import Chart, chart
from motet.train.report.markdown import COUNTS, PLUMBING, Dialogue
from motet.train.rows import Ledger
from motet.viewer.page import templates

Line = Mapping[str, float]

SMALL = (246.0, 110.0)


def render(
    name: str,
    curve: Sequence[Line],
    samples: tuple[Sequence[Dialogue], Sequence[Dialogue]],
    ledger: Ledger,
    *,
    of: int,
    stopped: str = "",
    running: bool = False,
) -> str:
    """The page.

    Args:
        name: what was trained on.
        curve: lines of numbers by name, one an iteration.
        samples: dialogues from before and from after.
        of: how many iterations were planned.
        running: the page is to load itself again.
    """
    done = int(curve[-1]["iteration"]) if curve else 0
    results, policies = panels(curve)
    return (
        templates("motet.train.report")
        .get_template("report.html.j2")
        .render(
            name=name,
            done=done,
            of=of,
            stopped=stopped,
            running=running,
            seconds=sum(line.get("seconds", 0.0) for line in curve),
            rows=sum(line.get("rows", 0.0) for line in curve),
            rollouts=sum(line.get("rollouts", 0.0) for line in curve),
            results=results,
            policies=policies,
            samples=[(t, said) for t, said in zip(("Before", "After"), samples, strict=True) if said],
            ledger=ledger,
        )
    )


def panels(curve: Sequence[Line]) -> tuple[list[Chart], dict[str, list[Chart]]]:
    """What is drawn: the results, each alone or with its like, and each policy's inner life."""
    values = series(curve)
    results = []
    for title, start in (
        ("Reward on held-out work, by voice", "test/reward/"),
        ("Reward while training, by voice", "reward/"),
    ):
        like = {n.removeprefix(start): v for n, v in values.items() if n.startswith(start) and len(v) > 1}
        like = {n if n != "*" else "team": v for n, v in like.items()}
        results += [chart(title, like)] if like else []
    alone = [n for n, v in values.items() if "/" not in n and n not in COUNTS and len(v) > 1]
    if any(n.startswith("test/reward/") for n in values):
        alone = [n for n in alone if n != "score"]
    results = [chart(n.capitalize(), {n: values[n]}) for n in sorted(alone)] + results
    return results, _by_policy(values)


def _by_policy(values: Mapping[str, list[tuple[float, float]]]) -> dict[str, list[Chart]]:
    groups: dict[str, list[Chart]] = {}
    for name in sorted(values):
        group, slash, what = name.partition("/")
        moves = len({y for _, y in values[name]}) > 1
        if slash and moves and group not in ("reward", "test") and not name.endswith(PLUMBING):
            groups.setdefault(group, []).append(chart(what.replace("_", " "), {what: values[name]}, *SMALL))
    return groups


def series(curve: Iterable[Line]) -> dict[str, list[tuple[float, float]]]:
    """Each quantity's points (iteration, value)."""
    found: dict[str, list[tuple[float, float]]] = {}
    for line in curve:
        for name, value in line.items():
            found.setdefault(name, []).append((line["iteration"], value))
    return found
