"""The report: nothing in it is markup that a model wrote, nothing is fetched, no label hides another."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motet
from motet import Store, Suite, Task
from motet.evals.bench import Outcome
from motet.evals.comparison import Comparison, Item
from motet.evals.report.charts import Box, Point, grid, scatter
from motet.evals.report.html import by_difficulty, cell, read_calls, render, thinned, worth_reading
from motet.evals.scorers import scorer
from motet.models.scripted import Line, Scripted

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7 * 7 }} ' \" &amp;"
VOID = {"meta", "br", "rect", "line", "circle", "polyline", "path", "img", "link"}


class Page(HTMLParser):
    """Checks that what is opened is closed, and keeps the tags, their attributes and the words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def count(self, tag: str, name: str) -> int:
        return sum(t == tag and a.get("class") == name for t, a in self.tags)


@motet.team
async def check(task, solver, critic):
    draft = await solver.ask(task)
    notes = await critic.ask("What is wrong?", task, draft)
    return await solver.ask("Again.", task, draft, notes)


def evil_comparison() -> Comparison:
    tasks = [Task(f"{EVIL} {i}?", target=str(i), id=f"<i>{i}", kind="number") for i in range(6)]
    lines = [
        Line(agent="critic", reply=EVIL * 300),
        Line(match=r"[04]\?", error="refused"),
        Line(match=r"[123]\?", reply=f"{EVIL} Answer: 1"),
        Line(match=".", reply="Answer: 5"),
    ]
    return motet.compare(
        [check],
        Suite(f"{EVIL}", tuple(tasks), scorer("numeric")),
        model=Scripted(lines),
        store=Store.memory(),
        seeds=2,
    )


@pytest.fixture(scope="module")
def evil() -> tuple[Comparison, str]:
    comparison = evil_comparison()
    return comparison, render(comparison)


def test_text_of_models_is_never_markup(evil: tuple[Comparison, str]) -> None:
    page = Page(evil[1])
    assert {tag for tag, _ in page.tags} & {"script", "img", "i"} == set()
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert EVIL in page.words and "more characters" in page.words


def test_nothing_is_fetched(evil: tuple[Comparison, str]) -> None:
    page = Page(evil[1])
    assert not any({"src", "href", "xlink:href", "data", "srcset"} & set(a) for _, a in page.tags)
    assert not re.search(r"url\(|@import|https?://", evil[1])


def test_every_finding_is_told_and_every_square_has_a_sign_and_a_name(evil: tuple[Comparison, str]) -> None:
    comparison, text = evil
    page = Page(text)
    for sentence in comparison.verdicts.values():
        assert sentence[1:] in page.words
    squares = [(row, item) for row in comparison.rows for item in comparison.items]
    states = [cell(item, row.method).state for row, item in squares]
    assert set(states) == {"right", "wrong", "failed"}
    for state, sign in (
        ("wrong", ("path", "cross")),
        ("failed", ("path", "hatch")),
        ("right", ("rect", "right")),
    ):
        assert page.count(*sign) == states.count(state) + 1  # and one in the key
    assert all(f"{item.id} · {row.method}: " in page.words for row, item in squares)
    assert "refused" in page.words and "motet show" in page.words


def test_the_page_is_saved_where_asked(tmp_path: Path) -> None:
    path = motet.compare(["direct"], "arithmetic", n=2, model="sim:skill=1").save_html(
        tmp_path / "new" / "r.html"
    )
    words = Page(path.read_text(encoding="utf-8")).words
    assert "2 items of arithmetic" in words and motet.__version__ in words


def outcome(value: float, failure: str | None = None) -> Outcome:
    return Outcome("run", value, str(value), failure, "", 10, 1, None, 0.0)


def item(name: str, **values: float) -> Item:
    return Item(name, "?", "1", {method: (outcome(value),) for method, value in values.items()})


def test_what_is_worth_reading() -> None:
    items = by_difficulty([item("mixed", a=1, b=0), item("bad", a=0, b=0), item("good", a=1, b=1)])
    assert [i.id for i in items] == ["good", "mixed", "bad"]
    assert [(why, i.id) for why, i in worth_reading(items)] == [
        ("The methods disagree", "mixed"), ("The best", "good"), ("The worst", "bad")
    ]  # fmt: skip
    assert len(worth_reading([item("one", a=1)])) == 1
    assert [i.id for i in thinned([item(str(n), a=1) for n in range(100)], 4)] == ["0", "25", "50", "75"]


def test_a_square_of_several_seeds() -> None:
    made = Item("x", "?", None, {"m": (outcome(1), outcome(0), outcome(0, "timeout"))})
    assert cell(made, "m").state == "part" and "failed (timeout)" in cell(made, "m").title
    assert cell(Item("x", "?", None, {"m": (outcome(0), outcome(0, "timeout"))}), "m").state == "failed"


def test_a_prompt_is_shown_once() -> None:
    def call(number: int, *said: str) -> dict:
        messages = [{"role": role, "content": text} for role, text in zip("uauau", said, strict=False)]
        usage = {"input_tokens": 1, "output_tokens": 1}
        reply = {"role": "a", "content": f"reply {number}"}
        made = {"id": str(number), "agent": "v", "model": "m", "parents": [], "messages": messages}
        return {**made, "usage": usage, "reply": reply}

    first, again, longer = read_calls([call(1, "q"), call(2, "q"), call(3, "q", "reply 1", "more")])
    assert [m.text for m in first.messages] == ["q"] and not first.earlier
    assert not again.messages and again.earlier == 1
    assert [m.text for m in longer.messages] == ["more"] and longer.earlier == 2


points = st.builds(
    lambda label, x, y, low, high, kind: Point(label, x, y, max(0, y - low), min(1, y + high), kind),
    st.text("abcdef_(=5)", min_size=3, max_size=24), st.floats(1, 1e5), st.floats(0, 1), st.floats(0, 0.2),
    st.floats(0, 0.2), st.sampled_from(["method", "baseline"]),
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(points, min_size=1, max_size=10))
def test_labels_hide_nothing(drawn: list[Point]) -> None:
    chart = scatter(drawn)
    labels = [dot.label for dot in chart.dots]
    assert all(not a.meets(b) for i, a in enumerate(labels) for b in labels[:i])
    for label in labels:
        assert label.within(chart.frame)
        assert not any(label.meets(Box(d.x - 5, d.y - 5, d.x + 5, d.y + 5)) for d in chart.dots)
        assert not any(label.meets(Box(d.x - 1, d.high, d.x + 1, d.low)) for d in chart.dots)
    for dot in chart.dots:
        assert chart.frame.left <= dot.x <= chart.frame.right
        assert chart.frame.top <= dot.high <= dot.y <= dot.low <= chart.frame.bottom


@given(st.integers(1, 12), st.integers(1, 2000))
def test_all_squares_fit(rows: int, columns: int) -> None:
    made = grid(rows, columns)
    assert made.bands * made.per_band >= columns > (made.bands - 1) * made.per_band
    assert made.left + made.per_band * made.cell <= made.width + 1e-6 and made.cell >= 7
