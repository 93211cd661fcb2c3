"""Tools: functions as tools, arguments, the contract, the calculator."""

import asyncio
import contextlib
import threading
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import ToolError
from motet.tools import FunctionTool, calculator, check_tool, parse_arguments, tool
from motet.tools.calculator import calculate
from motet.types import ToolCall, ToolSpec


class Place(msgspec.Struct):
    city: str
    country: str = "FR"


@tool
def forecast(place: Place, days: int = 1, unit: Literal["C", "F"] = "C", tags: list[str] = []) -> str:  # noqa: B006
    """Forecast the weather.

    It is often wrong.

    Args:
        place: where to look,
            and in which country.
        days (int): how many days ahead.

    Returns:
        words
    """
    tags.append("seen")
    return f"{place.city},{place.country},{days},{unit},{tags}"


def call(instrument, **arguments):
    return asyncio.run(instrument(arguments))


def test_schema_comes_from_signature_and_docstring():
    spec = forecast.spec
    assert spec.name == "forecast"
    assert spec.description == "Forecast the weather.\n\nIt is often wrong."
    properties = spec.parameters["properties"]
    assert spec.parameters["required"] == ["place"]
    assert properties["place"]["properties"]["city"] == {"type": "string"}
    assert properties["place"]["description"] == "where to look, and in which country."
    assert properties["days"] == {"type": "integer", "default": 1, "description": "how many days ahead."}
    assert properties["unit"]["enum"] == ["C", "F"]
    assert "$ref" not in str(spec.parameters)


def test_arguments_are_converted_and_defaults_are_not_shared():
    wanted = "Lyon,FR,3,F,['seen']"
    for _ in range(2):
        assert call(forecast, place={"city": "Lyon"}, days="3", unit="F") == wanted


@pytest.mark.parametrize(
    "arguments",
    [{}, {"place": "Lyon"}, {"place": {"city": "Lyon"}, "days": "soon"}, {"place": {"city": "L"}, "x": 1}],
)
def test_wrong_arguments_say_what_came_and_what_was_expected(arguments):
    with pytest.raises(ToolError) as error:
        call(forecast, **arguments)
    assert repr(arguments) in str(error.value)
    assert '"city"' in str(error.value)


def test_sync_functions_leave_the_loop_free_and_async_ones_run_in_it():
    def where() -> str:
        """Say where."""
        return threading.current_thread().name

    async def here() -> dict[str, bool]:
        """Say whether."""
        return {"main": threading.current_thread() is threading.main_thread()}

    assert call(tool(where)) != threading.current_thread().name
    assert call(tool(here)) == '{"main":true}'


def test_names_can_be_given():
    @tool(name="look_up", description="Look.")
    def _private(key: str) -> str:
        return key

    assert (_private.spec.name, _private.spec.description) == ("look_up", "Look.")


class Endless(msgspec.Struct):
    children: "list[Endless]"


def no_type(x):
    """Do."""


def splat(*names: str):
    """Do."""


def recursive(tree: Endless):
    """Do."""


@pytest.mark.parametrize("function", [no_type, splat, recursive])
def test_functions_that_cannot_be_tools_are_refused_when_made(function):
    with pytest.raises(TypeError, match=r"name: type|needs a type|contains itself"):
        tool(function)


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', '{"a": 1} and more', "null"])
def test_broken_arguments(text):
    with pytest.raises(ToolError) as error:
        parse_arguments(ToolCall("1", "forecast", text), forecast)
    assert repr(text) in str(error.value)
    assert "place" in str(error.value)


@settings(max_examples=30)
@given(st.dictionaries(st.text(), st.integers(-(2**60), 2**60) | st.text() | st.booleans()))
def test_arguments_survive_json(arguments):
    text = msgspec.json.encode(arguments).decode()
    assert parse_arguments(ToolCall("1", "f", text), forecast) == arguments


def test_no_arguments_may_be_an_empty_text():
    assert parse_arguments(ToolCall("1", "f", " "), forecast) == {}


def test_contract_accepts_good_tools():
    asyncio.run(check_tool(forecast, {"place": {"city": "Lyon"}}))
    asyncio.run(check_tool(calculator, {"expression": "1+1"}))


class Bad:
    def __init__(self, spec: ToolSpec):
        self.spec = spec

    async def __call__(self, arguments):
        return "fine"


OBJECT = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (ToolSpec("two words", "d", OBJECT), "letters"),
        (ToolSpec("t", " ", OBJECT), "description"),
        (ToolSpec("t", "d", {"type": "string"}), "object"),
        (ToolSpec("t", "d", {"type": "object"}), "properties"),
        (ToolSpec("t", "d", OBJECT | {"required": ["x"]}), "x"),
        (ToolSpec("t", "d", OBJECT | {"items": {"$ref": "#"}}), "references"),
        (ToolSpec("t", "d", OBJECT), "unknown arguments"),
    ],
)
def test_contract_finds_faults(spec, complaint):
    with pytest.raises(AssertionError, match=complaint):
        asyncio.run(check_tool(Bad(spec)))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17 * 23", 391),
        ("2^10", 1024),
        ("-2 ** 2", -4),
        ("7 // 2 + 7 % 4", 6),
        ("sqrt(16) + max(1, 2)", 6.0),
        ("factorial(20)", 2432902008176640000),
        ("2 ** 0.5", 2**0.5),
        ("(-8) ** 3", -512),
        ("1 ** 10 ** 9", 1),
    ],
)
def test_calculator(expression, value):
    assert calculate(expression) == value
    assert call(calculator, expression=expression) == str(value)


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "",
            "1 +",
            "1/0",
            "x + 1",
            "'a' * 9",
            "True + 1",
            "1j",
            "(-8) ** 0.5",
            "sqrt(-1)",
            "factorial(0.5)",
        ),
        *("9 ** 9 ** 9", "10 ** 400 * 10.0", "factorial(10 ** 9)", "2 ** 19_999 * 2 ** 19_999", "1 << 9"),
        *("__import__('os')", "().__class__", "print(1)", "sqrt(x=1)", "[1][0]", "(" * 300, "-" * 1999 + "1"),
        *("exp(1000)", "2 ** 20_001", "0 ** -1", "\0", "1" * 5000),
    ],
)
def test_calculator_refuses_quickly(expression):
    with pytest.raises(ToolError):
        calculate(expression)


@given(st.text("0123456789+-*/().^ epi,%", max_size=40))
def test_calculator_gives_a_number_or_a_tool_error(expression):
    with contextlib.suppress(ToolError):
        assert isinstance(calculate(expression), (int, float))


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_calculator_agrees_with_python(a, b, c):
    assert calculate(f"({a}) * ({b}) - {a} // {c}") == a * b - a // c


def test_repr_names_the_tool():
    assert isinstance(calculator, FunctionTool)
    assert repr(calculator) == "<tool calculator>"
