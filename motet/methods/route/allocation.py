"""Which model for which module: coordinate ascent with a judge that says whose fault a wrong answer is.

Paper: Chen et al. 2025, arXiv:2502.14815 (catalogue 231): LLMSelector.
Idea: a system is rarely worse when one module gets a better model, the others fixed. So the modules are
taken in turn. On each training task z every model k in the place of module i scores beta * p(f, z) + alpha *
p_i(f, z): whether the system f is right, and whether module i is, which a judge that sees all outputs and the
right answer estimates. The model that is best on most tasks stays, until none changes.
Calls: modules * models * tasks runs for each turn through the modules, where trying all takes models **
modules * tasks; as many diagnoses. What was run before is not run again.
Deviates: where several models are best on equally many tasks, the one that has the module keeps it. A
diagnosis is a flag, not words.
Failure: a run without an answer is wrong; a judge that fails has said 1/2.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import Struct

from motet.agent import Voice
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.methods.common import Mark, gives_target
from motet.run import Run
from motet.structured import parse
from motet.teams import Team, team
from motet.types import Reply, Task

DIAGNOSE = """\
A system of several modules answered a question.

Question:
{task}

What each module said, in order:

{outputs}

The system's answer: {answer}
The right answer: {task.target}

Did the module '{module}' make a mistake that leads to a wrong answer? Say so as `error`; false if the answer
is right or another module is to blame."""
Places = tuple[int, ...]
"""For each module, in order, the position of its model among the candidates."""


class Diagnosis(Struct):
    """What the judge says."""

    error: bool


class Allocation(NamedTuple):
    """A candidate for each module, the allocations gone through to it, and how many runs that took."""

    cast: dict[str, Any]
    trace: list[Places]
    runs: int


@team
async def diagnosis(task: Task, judge: Voice) -> Reply:
    """Ask a judge whether a module is to blame."""
    return await judge.ask(task, schema=Diagnosis)


async def allocate(  # noqa: PLR0913 (the paper's own)
    system: Team[...],
    candidates: Sequence[Any],
    tasks: Sequence[Task],
    *,
    judge: Any = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    B: int = 1000,
    mark: Mark = gives_target,
    **options: Any,
) -> Allocation:
    """Find a model for each module of a team: `system.cast(**allocation.cast)`.

    Args:
        system: its voices are the modules; those that are cast keep their singers.
        candidates: models, names, agents or teams; the search begins with the first in all places.
        tasks: with targets. judge: who diagnoses; without one only the end counts.
        alpha, beta: weights of the diagnosis and of the end.
        B: how many allocations may be scored at most.
        options: of `Team.arun`, such as `store` and `seed`.

    Raises:
        BadInput: there are no candidates or no tasks.
    """
    if not candidates or not tasks:
        raise BadInput(f"{len(candidates)} candidates, {len(tasks)} tasks: expected at least one of each")
    modules = [voice for voice in system.voices if voice not in system.parts]
    trial = _Trial(system, modules, candidates, tasks, judge, alpha, beta, mark, options)
    trace: list[Places] = [(0,) * len(modules)]
    unchanged = turn = scored = 0
    while unchanged < len(modules) and scored + len(candidates) <= B:
        i, places = turn % len(modules), trace[-1]
        tried = [(*places[:i], model, *places[i + 1 :]) for model in range(len(candidates))]
        scores = await all_of([all_of([trial.score(p, i, t) for p in tried]) for t in range(len(tasks))])
        best = Counter(k for row in scores for k, score in enumerate(row) if score == max(row))
        keep = max(range(len(candidates)), key=lambda k: (best[k], k == places[i], -k))
        unchanged = unchanged + 1 if keep == places[i] else 1
        turn, scored = turn + 1, scored + len(candidates)
        trace.append(tried[keep])
    cast = {module: candidates[k] for module, k in zip(modules, trace[-1], strict=True)}
    return Allocation(cast, trace, len(trial.runs))


@dataclass(frozen=True)
class _Trial:
    """Scores allocations, and remembers the runs that it took."""

    system: Team[...]
    modules: Sequence[str]
    candidates: Sequence[Any]
    tasks: Sequence[Task]
    judge: Any
    alpha: float
    beta: float
    mark: Mark
    options: Mapping[str, Any]
    runs: dict[tuple[Places, int], Run] = field(default_factory=dict)

    async def score(self, places: Places, i: int, t: int) -> float:
        """What an allocation is worth on task `t`, with module `i` looked at."""
        key, task = (places, t), self.tasks[t]
        if key not in self.runs:
            singers = zip(self.modules, places, strict=True)
            cast = self.system.cast(**{module: self.candidates[k] for module, k in singers})
            self.runs[key] = await cast.arun(task, **self.options)
        run = self.runs[key]
        end = self.beta * (run.ok and self.mark(task, run.answer))
        if self.judge is None or not self.alpha:
            return end
        return end + self.alpha * (1 - await self.error(run, self.modules[i]))

    async def error(self, run: Run, module: str) -> float:
        """How far a module is to blame, from 0 to 1."""
        task, path = run.tape.started.task, run.tape.path
        said = [f"[{c.voice}]\n{path(c.node)[-1].text if c.node else '(it failed)'}" for c in run.calls]
        answer, outputs = run.answer if run.ok else "(none)", "\n\n".join(said)
        prompt = DIAGNOSE.format(task=task, outputs=outputs, answer=answer, module=module)
        asked = await diagnosis.cast(judge=self.judge).arun(Task(prompt), **self.options)
        return float(parse(asked.answer, Diagnosis).error) if asked.ok else 0.5
