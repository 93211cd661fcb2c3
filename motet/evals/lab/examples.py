"""A small run of every method: what it is shown on, who sings, and with which knobs.

Most methods need nothing special: a sum, and simulated voices that are right seven times in ten. A method
that needs more (tests, a database, sources, a group of several) has its own line in `EXAMPLES`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from motet.evals.lab.actors import WORK, leader, mender, reader, stumbler
from motet.methods import EditTree
from motet.models.protocol import Model
from motet.types import Task

if TYPE_CHECKING:
    from motet.evals.lab.prepared import Training

SUM = Task("What is 17 + 25?", target="42", kind="number")
CATS = Task(
    "How many pets are a cat?",
    target="SELECT COUNT(*) FROM pet WHERE kind = 'cat'",
    kind="sql",
    meta={
        "database": "CREATE TABLE pet (name TEXT, kind TEXT, age INTEGER);\n"
        "INSERT INTO pet VALUES ('Rex', 'dog', 3), ('Tom', 'cat', 5), ('Kit', 'cat', 1);"
    },
)
KEYS = Task(
    "How many keys does Ann have?",
    target="3",
    kind="number",
    meta={"context": ["Bob has 5 keys.", "Ann has as many keys as Cyd.", "Cyd has 3 keys.", "Dan lost 2."]},
)
HOUSE = Task(
    "How many keys does Ann have?",
    target="3",
    kind="number",
    meta={
        "documents": [
            "Ann has as many keys as Cyd.",
            "Bob has 5 keys and lends them to Ann.",
            "Cyd has 3 keys.",
            "Dan lost 2 keys on the way to Ann.",
            "A key that does not turn wants oil.",
        ],
        "pages": [("Keys", "Ann got her keys from Cyd, who has 3."), ("Oil", "Oil for 9 locks.")],
        "observations": ["Ann shows me her keys: as many as Cyd's.", "Tea with Bob.", "Cyd counts 3 keys."],
    },
)
DOUBLE = Task(
    "Write double(n: int) -> int, which returns twice n.",
    target="def double(n: int) -> int:\n    return 2 * n",
    kind="code",
    tests="assert double(3) == 6",
)
MEND = Task(
    f"answer() in {WORK} should return 17 + 25, and the remark beside it should say the same.",
    target="42",
    kind="number",
    meta={
        "repository": {
            WORK: "def answer():\n    return 0\n",
            "test_work.py": "from work import answer\n\n\ndef test_answer():\n    assert answer() == 42\n",
        }
    },
)
SINGER = "sim:skill=0.7,judge=0.8"
TRIO = [SINGER, f"{SINGER},seed=1", f"{SINGER},seed=2"]
THREE = {"agents": TRIO}


@dataclass(frozen=True)
class Example:
    """How to show a method at work.

    Args:
        task: what it is asked.
        knobs: other than the defaults.
        voices: who sings, where `SINGER` will not do; a group is a list.
        acts: the form that some voices need a simulated solver in; see `motet.evals.lab.actors`.
        training: how a method that learns is made ready; see `motet.evals.lab.prepared`.
    """

    task: Task = SUM
    knobs: Mapping[str, Any] = field(default_factory=dict)
    voices: Mapping[str, Any] = field(default_factory=dict)
    acts: Mapping[str, Callable[[Model], Model]] = field(default_factory=dict)
    training: "Training | None" = None


def example(name: str) -> Example:
    """The example of a method."""
    return EXAMPLES.get(name, Example)()


def _by(name: str) -> "Training":
    """A training, by its name."""
    from motet.evals.lab import prepared

    found: Training = getattr(prepared, name)
    return found


EXAMPLES: dict[str, Callable[[], Example]] = {
    "agent_coder": lambda: Example(DOUBLE, {"sandbox": "monty"}),
    "meta_gpt": lambda: Example(DOUBLE, {"sandbox": "monty"}),
    "self_organized": lambda: Example(DOUBLE, {"sandbox": "monty"}),
    "swe_search": lambda: Example(
        MEND,
        {"iterations": 6, "tree": EditTree(w=2, D=2)},
        acts={"programmer": mender},
    ),
    "codecor": lambda: Example(DOUBLE, {"sandbox": "monty"}),
    "chase_sql": lambda: Example(CATS, acts={"generator": stumbler}),
    "e2g": lambda: Example(KEYS),
    "internet_of_agents": lambda: Example(voices=THREE, acts={"client": leader}),
    "magentic_one": lambda: Example(voices=THREE, acts={"orchestrator": leader}),
    "workforce": lambda: Example(voices={"workers": TRIO}, acts={"planner": leader, "coordinator": leader}),
    "knapsack_composer": lambda: Example(voices=THREE, acts={"composer": leader}),
    "mas_router": lambda: Example(voices=THREE, training=_by("with_controller")),
    "agent_store": lambda: Example(voices=THREE, acts={"manager": leader}, training=_by("with_tokens")),
    "improper_mixture": lambda: Example(voices=THREE, training=_by("with_weights")),
    "focal_fusion": lambda: Example(training=_by("with_fusion")),
    "free_agents": lambda: Example(training=_by("with_season")),
    "llm_selector": lambda: Example(training=_by("with_allocation")),
    "symbolic_moe": lambda: Example(acts={"keyworder": reader}, training=_by("with_profiles")),
    "agent4debate": lambda: Example(
        knobs={"documents": [("Sums", "17 + 20 is 37, and 5 more is 42."), ("Pets", "Cats are quiet.")]}
    ),
    "main_rag": lambda: Example(HOUSE, {"k": 3}),
    "ragenta": lambda: Example(HOUSE, {"k": 2}),
    "hm_rag": lambda: Example(HOUSE),
    "chain_of_agents": lambda: Example(HOUSE, {"n": 3, "k": 16}),
    "ext_agents": lambda: Example(HOUSE, {"n": 3, "w": 32}),
    "generative_agents": lambda: Example(HOUSE, {"threshold": 9.0}),
}
