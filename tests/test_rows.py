"""Rows from tapes: exact prefixes merge, everything else forks, and the ledger counts it all."""

import asyncio
from collections.abc import Sequence
from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

import motet
from motet.errors import BadInput
from motet.models.scripted import Scripted
from motet.tape import Called, Recorder, Started, Tape
from motet.tape.keys import without_bytes
from motet.train import Ledger, Row, rows_of
from motet.types import Failure, FailureKind, Message, Reply, Sampling, Task, Tokens

P, R = (1, 2, 3), (4, 5)


class Spoken:
    """A model that says what it is told to, as ids: one (prompt ids, reply ids) a call."""

    name = identity = "spoken"

    def __init__(self, *lines: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
        self._lines = list(lines)

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        found = []
        for _ in range(n):
            prompt, ids = self._lines.pop(0)
            tokens = Tokens("words", prompt, ids, tuple(-0.1 * i for i in ids))
            said = Message.say("assistant", " ".join(map(str, ids)))
            found.append(Reply(message=said, version="writer@3", tokens=tokens))
        return found


@motet.team
async def chat(task, writer, *, turns: int = 2):
    talk = writer.chat()
    for _ in range(turns):
        reply = await talk.ask("go on")
    return reply


@motet.team
async def ask_often(task, writer, *, n: int = 2):
    replies = await writer.ask_many(task, n=n)
    return replies[0]


def tape_of(team: motet.Team, model: object, task: str = "t", **knobs: object) -> Tape:
    return team.cast(writer=model)(**knobs).run(task, store=motet.Store.memory()).tape


def test_a_conversation_whose_ids_go_on_is_one_row() -> None:
    second = (*P, *R, 6)
    tape = tape_of(chat, Spoken((P, R), (second, (7, 8))))
    ledger = Ledger()
    (row,) = rows_of([tape], {"writer": "writer"}, ledger=ledger)
    assert row.ids == (1, 2, 3, 4, 5, 6, 7, 8)
    assert [i for i, on in zip(row.ids, row.mask, strict=True) if on] == [4, 5, 7, 8]
    assert [x for x in row.logprobs if not isnan(x)] == pytest.approx([-0.4, -0.5, -0.7, -0.8])
    assert [(s.start, s.stop, s.turn, s.version) for s in row.spans] == [
        (3, 5, 0, "writer@3"),
        (6, 8, 1, "writer@3"),
    ]
    assert (row.voice, row.policy, row.run) == ("writer", "writer", tape.run)
    assert (ledger.counts["merged"], ledger.counts["forked"], ledger.counts["tokens"]) == (1, 0, 4)


def test_a_conversation_whose_ids_drifted_forks_and_is_counted() -> None:
    tape = tape_of(chat, Spoken((P, R), ((1, 2, 3, 4, 9, 6), (7,))))
    ledger = Ledger()
    rows = rows_of([tape], {"writer": "p"}, ledger=ledger)
    assert [row.ids for row in rows] == [(*P, *R), (1, 2, 3, 4, 9, 6, 7)]
    assert sum(sum(row.mask) for row in rows) == 3
    assert (ledger.counts["merged"], ledger.counts["forked"]) == (0, 1)
    assert str(ledger) == "drift ledger: 2 calls, 2 rows, 3 tokens, 1 forked"


def test_equal_samples_of_one_prompt_are_rows_of_their_own() -> None:
    rows = rows_of([tape_of(ask_often, Spoken((P, R), (P, R)))], {"*": "p"})
    assert [row.ids for row in rows] == [(*P, *R)] * 2
    assert len({row.group for row in rows}) == 1


@motet.team
async def branch(task, writer):
    talk = writer.chat()
    await talk.ask("first")
    replies = await writer.ask_many("second", n=2)
    return replies[0]


def test_a_reply_on_two_paths_is_trained_on_once() -> None:
    second = (*P, *R, 6)
    ledger = Ledger()
    rows = rows_of(
        [tape_of(branch, Spoken((P, R), (second, (7,)), (second, (8,))))], {"writer": "p"}, ledger=ledger
    )
    assert [row.ids[-1] for row in rows] == [7, 8]
    assert [sum(row.mask) for row in rows] == [3, 1]
    assert ledger.counts["shared"] == 1


def test_a_voice_without_ids_is_refused_and_one_without_a_policy_left_out() -> None:
    tape = tape_of(ask_often, Scripted(["a", "b"]))
    with pytest.raises(BadInput, match=r"'writer' is to be trained, but its model .* gives no token ids"):
        rows_of([tape], {"writer": "p"})
    ledger = Ledger()
    assert rows_of([tape], {"reader": "p"}, ledger=ledger) == []
    assert ledger.counts["untrained"] == 2


def test_a_failed_call_is_rejected_with_its_reason() -> None:
    tape = tape_of(ask_often, Spoken((P, R)), n=1)
    lost = Failure(FailureKind.TIMEOUT, "too late")
    tape.events.insert(1, Called("9", "k", "writer", "m", "", 0.0, failure=lost))
    ledger = Ledger()
    assert len(rows_of([tape], {"writer": "p"}, ledger=ledger)) == 1
    assert "1 rejected: the call failed (timeout)" in str(ledger)


def test_groups_are_tasks_unless_told_otherwise() -> None:
    tapes = [tape_of(ask_often, Spoken((P, R)), task=task, n=1) for task in ("a", "a", "b")]
    one, two, three = (row.group for row in rows_of(tapes, {"*": "p"}))
    assert one == two != three
    named = rows_of(tapes, {"*": "p"}, group={tapes[2].run: "mine"})
    assert named[2].group == "mine"


def test_ledgers_add_up() -> None:
    one, two = Ledger(), Ledger()
    rows_of([tape_of(ask_often, Spoken((P, R), (P, R)))], {"*": "p"}, ledger=one)
    rows_of([tape_of(chat, Spoken((P, R), ((9,), R)))], {"*": "p"}, ledger=two)
    assert (one + two).counts["calls"] == 4
    assert (one + two).counts["forked"] == 1


def test_samples_of_a_changed_distribution_are_counted() -> None:
    warm = motet.Agent(Spoken((P, R)), sampling=Sampling(temperature=0.7))
    ledger = Ledger()
    rows_of([tape_of(ask_often, warm, n=1)], {"*": "p"}, ledger=ledger)
    assert ledger.counts["tempered"] == 1


def test_advantages_go_to_the_tokens_of_their_call() -> None:
    tape = tape_of(chat, Spoken((P, R), ((*P, *R, 6), (7, 8))))
    (row,) = rows_of([tape], {"writer": "p"})
    first, second = (span.call for span in row.spans)
    credited = row.credited({first: 0.5, second: [1.0, nan]})
    assert credited.advantages == (0, 0, 0, 0.5, 0.5, 0, 1.0, 0)
    assert [i for i, on in zip(row.ids, credited.mask, strict=True) if on] == [4, 5, 7]
    assert sum(row.credited({first: None}).mask) == 0
    with pytest.raises(BadInput, match="sampled 2 tokens and got 3 advantages"):
        row.credited({first: [1.0, 2.0, 3.0]})


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 2), max_size=4), st.lists(st.integers(0, 2), min_size=1, max_size=2)
        )
    )
)
def test_every_sampled_token_is_trained_exactly_once(lines: list[tuple[list[int], list[int]]]) -> None:
    tape = Tape("run")
    recorder = Recorder(tape, Task("t"))
    recorder.record(Started("run", "team", "id", Task("t"), {}, {}, {}, 0, 0.0))
    for number, (before, ids) in enumerate(lines):
        prompt_ids = (9, *before)
        prompt = recorder.add("", Message.say("user", str(prompt_ids)))
        message = Message.say("assistant", str(ids))
        assert without_bytes(message.parts) == message.parts
        node = recorder.add(prompt, message, ids)
        recorder.add_tokens(prompt, node, Tokens("w", prompt_ids, tuple(ids), (-1.0,) * len(ids)))
        recorder.record(Called(str(number), "k", "writer", "m", prompt, 0.0, node=node))
    rows = rows_of([tape], {"writer": "p"})
    assert sum(sum(row.mask) for row in rows) == sum(len(ids) for _, ids in lines)
    calls = [span.call for row in rows for span in row.spans]
    assert sorted(calls) == sorted(f"run/{n}" for n in range(len(lines)))
    for row in rows:
        assert all(row.ids[s.start : s.stop] == tuple(lines[int(s.call[4:])][1]) for s in row.spans)
        assert row.ids[0] == 9
        assert not row.mask[0]


def test_rows_are_immutable_and_change_by_copy() -> None:
    row = Row(ids=(1,), mask=(False,))
    assert row.but(reward=1.0).reward == 1.0
    with pytest.raises(AttributeError):
        row.reward = 2.0  # type: ignore[misc]


def test_async_runs_give_the_same_rows() -> None:
    team = chat.cast(writer=Spoken((P, R), ((*P, *R, 6), (7,))))
    run = asyncio.run(team.arun("t", store=motet.Store.memory()))
    assert len(rows_of([run.tape], {"writer": "p"})) == 1
