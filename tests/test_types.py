import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import BadInput, UnknownName
from motet.structured import json_schema, parse
from motet.tape.keys import node_key
from motet.types import Linked, Media, Message, Reply, Task, Text, ToolCall, Usage, fill


def said(text: str, call: str = "1") -> Reply:
    return Reply(message=Message.say("assistant", text), call=call)


def test_data_is_immutable() -> None:
    with pytest.raises(AttributeError):
        Message.say("user", "hi").role = "system"  # type: ignore[misc]


def test_media_is_known_by_its_content() -> None:
    a, b = Media.of(b"x", "image/png", "a.png"), Media.of(b"x", "image/png", "b.png")
    assert a.digest == b.digest
    assert a.kind == "image"
    assert Media.of(b"x", "application/pdf").kind == "file"


def test_text_of_a_message_leaves_out_media_and_tool_calls() -> None:
    parts = (Text("a"), Media.of(b"x", "audio/wav"), ToolCall("1", "f", "{}"), Text("b"))
    message = Message("assistant", parts)
    assert message.text == "a\nb"
    assert [c.name for c in message.tool_calls] == ["f"]


def test_fill_keeps_the_links_of_everything_that_goes_in() -> None:
    a, b, c = said("A", "1"), said("B", "2"), said("C", "3")
    filled = fill("{first} {rest} {n}", first=a, rest=[b, Linked("see C", (c,))], n=2)
    assert filled.text == "A [1] B\n\n[2] see C 2"
    assert filled.links == (a, b, c)


def test_fill_does_not_read_braces_in_model_text_as_fields() -> None:
    assert fill("{x}", x=said("{evil}")).text == "{evil}"


numbers = st.integers(0, 10**6)
usages = st.builds(Usage, numbers, numbers, numbers, numbers, numbers)


@given(st.lists(usages))
def test_usage_adds_up_in_any_order(items: list[Usage]) -> None:
    assert sum(items, Usage()) == sum(reversed(items), Usage())
    assert sum(items, Usage()).tokens == sum(u.tokens for u in items)


texts = st.text(max_size=20)
messages = st.builds(Message.say, st.sampled_from(["user", "assistant", "system"]), texts)


@given(texts, messages, messages)
def test_a_node_key_is_its_content(parent: str, one: Message, other: Message) -> None:
    assert (node_key(parent, one) == node_key(parent, other)) == (one == other)
    assert node_key(parent, one, (1,)) != node_key(parent, one, (2,))
    assert node_key(parent + "x", one) != node_key(parent, one)


@given(messages)
def test_messages_survive_json(message: Message) -> None:
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message


def test_unknown_names_are_answered_with_close_ones() -> None:
    error = UnknownName("method", "self_consistancy", ["debate", "self_consistency"])
    assert "did you mean self_consistency?" in str(error)
    assert error.close == ["self_consistency"]


class Point(msgspec.Struct):
    x: int
    y: int = 0


class Line(msgspec.Struct):
    ends: list[Point]


@pytest.mark.parametrize(
    "text",
    ['{"x": 1}', 'Sure!\n```json\n{"x": 1}\n```\nDone.', 'The point is {"x": 1}, I think.'],
)
def test_data_is_found_in_a_wordy_reply(text: str) -> None:
    assert parse(text, Point) == Point(1)
    assert parse(text, json_schema(Point)) == {"x": 1}


@pytest.mark.parametrize(("text", "complaint"), [("no", "no"), ('{"x": "one"}', "x"), ('{"y": 1}', "x")])
def test_data_of_another_shape_is_refused(text: str, complaint: str) -> None:
    from motet.errors import SchemaMismatch

    for shape in (Point, json_schema(Point)):
        with pytest.raises(SchemaMismatch, match=complaint):
            parse(text, shape)


def test_schemas_have_no_references_left() -> None:
    schema = json_schema(Line)
    assert "$ref" not in str(schema)
    assert schema["properties"]["ends"]["items"]["properties"]["x"] == {"type": "integer"}


def test_a_shape_without_a_schema_is_bad_input() -> None:
    with pytest.raises(BadInput, match="give a type or a dict"):
        json_schema(type(lambda: 0))


def test_a_task_is_its_prompt() -> None:
    assert str(Task("Why?")) == "Why?"
    assert Task("Why?").links == ()
