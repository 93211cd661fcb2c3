"""Arithmetic, worked out by walking the expression's tree. Nothing is ever evaluated as code."""

import ast
import math
import operator
from collections.abc import Callable

from motet.errors import ToolError
from motet.tools.tool import tool

Number = int | float
MOST_CHARACTERS = 2_000
MOST_BITS = 20_000  # about 6,000 digits

CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}
UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def _power(base: Number, exponent: Number) -> Number:
    bits = base.bit_length() if isinstance(base, int) else 1
    if isinstance(exponent, int) and bits * abs(exponent) > MOST_BITS and abs(base) > 1:
        raise OverflowError(f"{base} ** {exponent} has too many digits")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError(f"{base} ** {exponent} is not a real number")
    return result


def _factorial(number: Number) -> int:
    if number > 1_000:
        raise OverflowError(f"factorial({number}) has too many digits")
    return math.factorial(int(number)) if number == int(number) else math.factorial(number)  # type: ignore[arg-type]


BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
FUNCTIONS: dict[str, Callable[..., Number]] = {
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan")},
    **{name: getattr(math, name) for name in ("asin", "acos", "atan", "atan2", "floor", "ceil", "hypot")},
    **{"gcd": math.gcd, "factorial": _factorial, "degrees": math.degrees, "radians": math.radians},
    **{"abs": abs, "min": min, "max": max, "round": round},
}


def calculate(expression: str) -> Number:
    """Work out an arithmetic expression.

    >>> calculate("2 * (3 + 4) ** 2")
    98

    Raises:
        ToolError: it is not arithmetic, has no real value, or is too large.
    """
    text = expression.strip().replace("^", "**").replace("×", "*").replace("÷", "/").replace("−", "-")
    if len(text) > MOST_CHARACTERS:
        raise ToolError(f"the expression has {len(text)} characters; at most {MOST_CHARACTERS} are read")
    try:
        return _bounded(_value(ast.parse(text, mode="eval").body))
    except SyntaxError as error:
        raise ToolError(
            f"{expression!r} is not an expression: {error.msg}; expected e.g. 2*(3+4)**2"
        ) from error
    except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ToolError(f"{expression!r} has no value: {error}") from error


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in UNARY:
            return UNARY[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in BINARY:
            return _bounded(BINARY[type(sign)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return _bounded(FUNCTIONS[name](*map(_value, args)))
    known = ", ".join([*CONSTANTS, *FUNCTIONS])
    raise ToolError(
        f"{ast.unparse(node)!r} is not arithmetic; expected numbers, + - * / // % **, and {known}"
    )


def _bounded(number: Number) -> Number:
    if isinstance(number, int) and number.bit_length() > MOST_BITS:
        raise OverflowError("the result has too many digits")
    return number


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression exactly, such as `17 * 23` or `sqrt(2) / 3`.

    Args:
        expression: numbers, + - * / // % **, brackets, pi, e, sqrt, log, sin, factorial, gcd, min, max.
    """
    return str(calculate(expression))
