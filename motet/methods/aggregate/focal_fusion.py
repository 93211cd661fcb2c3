"""A small team that fails apart, and a fusion that knows whom to believe.

Paper: Tekin et al. 2025, arXiv:2502.04492 (catalogue 173).
Idea: of a pool of models ask only those who complement each other (`train_decider`, or `fittest`, by focal
diversity and accuracy on logged answers). Where they differ, learned weights (`train_fusion`) decide.
Calls: at most n.
Deviates: the same subset is asked for all questions of a task, and its weights do not depend on the
question, where the paper's policies see a window of recent ones. Both are learned before, from a log.
Failure: a member that fails, or whose answer cannot be read, has no vote; when none has, the run fails.

    log = read_log([focal_fusion(n=6).cast(agents=pool).run(task) for task in validation])
    members = train_decider(log)
    team = focal_fusion(n=6, members=members, weights=train_fusion(log, members)).cast(agents=pool)
"""

from collections.abc import Sequence

from motet.answers import extract, instruction
from motet.combine import answered, ask_each
from motet.errors import BadInput, NoAnswer
from motet.methods.aggregate.focal_diversity import plurality
from motet.methods.common import seats
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task


@team
async def focal_fusion(
    task: Task, agents: Voices, *, n: int = 4, members: Sequence[int] = (), weights: Sequence[float] = ()
) -> Linked:
    """Ask some members of a pool of `n` and take the answer of the greatest weight.

    Args:
        members: who is asked, counted from 0; all when empty.
        weights: of the members, in their order; equal when empty.
    """
    pool = seats(agents, n)
    asked = list(members) or list(range(n))
    if not set(asked) <= set(range(n)) or len(set(asked)) < len(asked):
        raise BadInput(f"members={members!r}: expected numbers from 0 to {n - 1}, each once")
    if weights and len(weights) != len(asked):
        raise BadInput(f"weights={weights!r}: expected one for each of {len(asked)} members")
    prompt = (task, STEPS, instruction(task))
    said = await ask_each([pool[i] for i in asked], [prompt] * len(asked))
    replies = answered(said)
    row = tuple(extract(task, s.text) if isinstance(s, Reply) else None for s in said)
    best = plurality(row, range(len(asked)), weights)
    if best is None:
        raise NoAnswer(f"no answer to a {task.kind} task could be read in {len(replies)} replies")
    return Linked(best, tuple(r for r in replies if extract(task, r.text) == best))
