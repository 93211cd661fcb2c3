"""The answer must equal the target as mathematics: '1/2', '0.5' and '\\frac{2}{4}' are one.

By Math-Verify (Kydlíček, 2025, https://github.com/huggingface/Math-Verify), in a process that can be
stopped: sympy may take for ever on one short formula.
"""

from dataclasses import dataclass
from importlib.util import find_spec

from motet.answers import canonical, extract
from motet.errors import MissingExtra
from motet.evals.scorers.exact import gold
from motet.evals.scorers.protocol import NO_ANSWER, Score
from motet.evals.worker import WORKER, JobFailed
from motet.types import Task


@dataclass(frozen=True)
class Math:
    """Marks 1 when answer and target are equal; one that takes more than `timeout_s` seconds is wrong."""

    timeout_s: float = 20.0
    name: str = "math"

    async def __call__(self, task: Task, answer: str) -> Score:
        wanted, got = canonical(task, gold(task)), extract(task, answer)
        if got is None:
            return NO_ANSWER
        if got == wanted:
            return Score(1.0, f"{got}, as expected", got)
        if find_spec("math_verify") is None:
            raise MissingExtra("math-verify", "suites")
        try:
            equal = await WORKER.ado("math.agree", wanted, got, timeout_s=self.timeout_s)
        except JobFailed as error:
            return Score(0.0, str(error), got)
        return Score(float(equal), f"{got}, expected {wanted}", got)


def agree(wanted: str, got: str) -> bool:
    """Compare two formulas. Runs in the worker: it needs the main thread for its own alarms."""
    from math_verify import parse, verify  # type: ignore[import-untyped]

    return bool(verify(parse(f"${wanted}$"), parse(f"${got}$")))
