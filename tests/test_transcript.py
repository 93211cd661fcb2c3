"""The transcript, the live view and the replay: each text once, nothing that acts on the terminal."""

import asyncio
import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType

import motet
from motet.agent import Agent
from motet.errors import ModelError
from motet.models.scripted import Line, Scripted
from motet.tape import Delta, Ended, Store, Tape
from motet.tools import calculator
from motet.types import Media, Task
from motet.viewer.live import LiveView
from motet.viewer.replay import play, replay
from motet.viewer.transcript import transcript
from motet.viewer.words import clean, money, seconds

TASK = Task("What is 17 * 23, in words a child can follow?", target="391", kind="number")
DRAFT = "17 * 23 is 340 + 51 = 391.\nAnswer: 391"
HOSTILE = "[bold red]loud[/] \x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 \u202eback"


@motet.team
async def review(task, writer, critic, *, rounds: int = 1):
    draft = await writer.ask(task)
    for _ in range(rounds):
        try:
            notes = await critic.ask("Find what is wrong.", task, draft)
        except ModelError:
            continue
        draft = await writer.ask("Rewrite it.", task, draft, notes)
    return draft


def perform(writer, critic=(), task: Task = TASK, **knobs) -> Tape:
    cast = review.cast(writer=writer, critic=Scripted(critic, name="openai:critic", cost=0.002))
    return cast(**knobs).run(task, store=Store.memory()).tape


def drawn(picture: RenderableType, width: int = 80) -> str:
    page = io.StringIO()
    Console(file=page, width=width, highlight=False).print(picture)
    return page.getvalue()


def test_each_text_is_shown_once_and_then_named():
    shown = drawn(
        transcript(perform(Scripted([DRAFT, "Better: 391, surely."]), ["Say why it may be split."]))
    )
    answer = shown.index("answer  ←")
    assert shown.count("17 * 23 is 340 + 51 = 391.") == 1 == shown.count("Say why it may be split.")
    assert shown.count("in words a child can follow") == 1
    assert "‹task› ‹writer 1›" in shown and "← writer 1, critic 2" in shown
    assert shown[answer:].count("Better: 391, surely.") == 1 and "writer 3" in shown[answer:]


def test_a_short_reply_is_no_quotation():
    """'4' stands in 'Take 4 steps' as well; only a line of its own is the reply."""

    @motet.team
    async def again(task, writer):
        first = await writer.ask(task)
        return await writer.ask("Take 4 steps.", first)

    tape = again.cast(Scripted(["4", "ok"])).run("2+2?", store=Store.memory()).tape
    assert "Take 4 steps.\n" in (shown := drawn(transcript(tape))) and "‹writer 1›" in shown


def test_the_same_prompt_is_shown_once():
    tape = motet.methods.self_consistency(n=3).cast("sim:skill=1").run(TASK, store=Store.memory()).tape
    assert drawn(transcript(tape)).count("the prompt of 1") == 2


def test_the_bill_has_a_line_per_voice_and_a_total():
    shown = drawn(transcript(perform(Scripted([DRAFT, "ok"]), ["Hm."])))
    lines = {line.split()[0]: line.split() for line in shown.splitlines()[-4:] if line.strip()}
    assert lines["writer"][1] == "2" and lines["critic"][1] == "1" and lines["total"][1] == "3"
    assert lines["critic"][4] == lines["total"][4] == "$0.002"


def test_failures_tools_cuts_and_caches_are_shown():
    wanted = {"name": "calculator", "arguments": {"expression": "1/0"}}
    writer = Agent(Scripted([Line(tool_calls=[wanted]), DRAFT]), tools=[calculator])
    shown = drawn(transcript(perform(writer, [Line(error="timeout")])))
    assert '⚙ calculator {"expression":"1/0"}' in shown and "→ tool:" in shown
    assert "✗ timeout: the script says timeout" in shown

    store = Store.memory()
    team = motet.methods.direct.cast("sim:skill=1")
    team.run(TASK, store=store)
    assert "cached" in drawn(transcript(team.run(TASK, store=store, reuse=True).tape))


def test_a_run_without_an_answer_and_one_that_never_ended():
    tape = perform(Scripted([Line(error="rate_limit")]))
    assert "no answer" in drawn(transcript(tape)) and "rate_limit" in drawn(transcript(tape))
    unfinished = Tape(tape.run, [e for e in tape.events if not isinstance(e, Ended)], tape.nodes)
    assert "not ended" in drawn(transcript(unfinished))


def test_long_texts_are_folded_unless_asked_for():
    tape = perform(Scripted(["\n".join(f"line {i}" for i in range(100)), "ok"]), ["Hm."])
    folded, whole = drawn(transcript(tape)), drawn(transcript(tape, full=True))
    assert "line 50" not in folded and "lines folded" in folded and "line 99" in folded
    assert "line 50" in whole and "folded" not in whole


def test_words_of_models_cannot_act_on_the_terminal():
    tape = perform(Scripted([HOSTILE, HOSTILE]), [HOSTILE], Task(HOSTILE, target=HOSTILE))
    for shown in (drawn(transcript(tape)), drawn_live(tape)):
        assert "[bold red]loud[/]" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown) and "title" not in shown


def test_media_are_named_by_digest():
    @motet.team
    async def look(task, eye):
        return await eye.ask(task, Media.of(b"not really", "image/png", "cat.png"))

    tape = look.cast(Scripted(["A cat."])).run("What is it?", store=Store.memory()).tape
    digest = Media.of(b"not really", "image/png").digest
    assert f"[image cat.png {digest[:8]}]" in drawn(transcript(tape))


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=300), st.integers(40, 160))
def test_any_text_fits_any_width(text: str, width: int):
    tape = perform(Scripted([text or "x", text or "y"]), [text or "z"], Task(text or "?"))
    page = drawn(transcript(tape), width)
    assert all(len(line) <= width for line in page.split("\n") if line.isascii())
    assert "\x1b" not in page


@given(st.text())
def test_clean_leaves_nothing_that_acts_and_is_done_at_once(text: str):
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert all(c == "\n" or c.isprintable() or ord(c) > 0x9F for c in cleaned)


def test_amounts_are_readable():
    assert [money(x) for x in (None, 0.0, 0.00123, 1.5)] == ["?", "$0", "$0.0012", "$1.50"]
    assert [seconds(x) for x in (0.0123, 1.25, 600)] == ["12 ms", "1.2 s", "10 min"]


def drawn_live(tape: Tape) -> str:
    page = io.StringIO()
    play(tape, LiveView(Console(file=page, width=80, highlight=False)), sleep=lambda s: None)
    view = LiveView(Console(file=page, width=80, force_terminal=True, color_system=None, highlight=False))
    play(tape, view, sleep=lambda s: None)
    return page.getvalue()


def test_voices_that_speak_at_once_are_shown_one_after_another():
    @motet.team
    async def both(task, a, b):
        one, two = await asyncio.gather(a.ask(task), b.ask(task))
        return motet.fill("{one} {two}", one=one, two=two)

    slow, fast = (Scripted([Line(text, latency_s=s)]) for text, s in (("SLOW", 0.03), ("FAST", 0.0)))
    page = io.StringIO()
    view = LiveView(Console(file=page, width=80, force_terminal=True, color_system=None))
    both.cast(a=slow, b=fast).run("Go.", store=Store.memory(), on_event=view)
    order = [page.getvalue().index(word) for word in ("a  scripted", "SLOW", "b  scripted", "FAST")]
    assert order == sorted(order)


def test_a_replay_gives_the_events_back_in_order_and_in_time():
    tape = perform(Scripted([DRAFT, "ok"]), [Line("Hm.", latency_s=0.02)])
    shown = list(replay(tape))
    assert [event for _, event in shown if event in tape.events] == tape.events
    assert [event.text for _, event in shown if isinstance(event, Delta)] == [DRAFT, "Hm.", "ok"]
    assert [at for at, _ in shown] == sorted(at for at, _ in shown)
    pauses: list[float] = []
    play(tape, lambda event: None, speed=2, sleep=pauses.append)
    assert sum(pauses) * 2 == shown[-1][0] >= 0.02
