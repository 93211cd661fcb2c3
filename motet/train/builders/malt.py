"""MALT: a tree of generations, verifications and refinements, with values backed up to every role.

Paper: Motwani et al. 2024, arXiv:2412.01928 (catalogue 62).
Idea: sample n generations, n verifications of each, n refinements of each of those; mark the n³ leaves. A
node is worth the mean of its children, and is positive when that is above a half. Each role is tuned on its
positive replies, and by preferences between positive and negative replies that share their parent.
Calls: n + n² + n³ a task.
Deviates: the prompts are ours; a call that failed is left out of its parent's mean; every positive reply is
paired with every negative one of the same parent. That the generator has no pairs and the threshold of one
half were not checked against the paper.
Failure: when no generator answers, the run fails. A reply below which nothing could be marked is rejected.
"""

from collections.abc import Sequence
from itertools import product

from motet.agent import Voice
from motet.answers import instruction
from motet.concurrency import all_of
from motet.errors import BadInput, NoAnswer
from motet.tape import Called, Tape
from motet.teams import team
from motet.train.builders.data import Built
from motet.train.builders.reading import Maker, Mark, children, mean, of_team, of_voice, or_none, outcome
from motet.types import Content, Linked, Reply, Task, fill

GENERATE = "{task}\n\n{form}"
VERIFY = """Question:
{task}

Answer:
{draft}

Check each step of this answer. Say what is wrong, if anything."""
REFINE = """Question:
{task}

Answer:
{draft}

What a checker says of it:
{notes}

Write the final answer. Keep what is right. {form}"""
ROLES = ("generator", "verifier", "refiner")


@team
async def malt_tree(task: Task, generator: Voice, verifier: Voice, refiner: Voice, *, n: int = 3) -> Linked:
    """Sample the whole tree; the answer of the run is the first leaf."""
    if n < 1:
        raise BadInput(f"n is {n!r}; expected 1 or more")
    form = instruction(task)
    drafts = await _some(generator, n, fill(GENERATE, task=task, form=form))
    checks = await all_of([_some(verifier, n, fill(VERIFY, task=task, draft=d)) for d in drafts])
    pairs = [(draft, notes) for draft, found in zip(drafts, checks, strict=True) for notes in found]
    prompts = [fill(REFINE, task=task, draft=d, notes=c, form=form) for d, c in pairs]
    leaves = [leaf for found in await all_of([_some(refiner, n, p) for p in prompts]) for leaf in found]
    if not leaves:
        raise NoAnswer(f"of {len(drafts)} generations none was verified and refined")
    return Linked(leaves[0].text, (leaves[0],))


async def _some(voice: Voice, n: int, prompt: Content) -> list[Reply]:
    return await or_none(voice.ask_many(prompt, n=n)) or []


def malt(
    tapes: Sequence[Tape],
    *,
    threshold: float = 0.5,
    paired: Sequence[str] = ROLES[1:],
    mark: Mark = outcome,
) -> Built:
    """SFT of every role on its positive replies, preferences between siblings for the roles in `paired`.

    Args:
        tapes: runs of `malt_tree`.
        threshold: a value above this makes a reply positive.
        mark: of the leaves.

    Raises:
        BadInput: a run is of another team.
    """
    made = Maker()
    for tape in of_team(tapes, malt_tree.name):
        values = node_values(tape, mark)
        made.counts["leaves"] += len(of_voice(tape, ROLES[2]))
        for siblings in families(tape):
            known = [(call, values[call.id]) for call in siblings if values.get(call.id) is not None]
            for call in siblings:
                if values.get(call.id) is None:
                    reason = "the call failed" if call.failure else "nothing below it could be marked"
                    made.reject(reason, tape, call)
            good = [(call, v) for call, v in known if v is not None and v > threshold]
            bad = [(call, v) for call, v in known if v is not None and v <= threshold]
            for call, _ in good:
                made.imitate(tape, call)
            for call, value in bad:
                made.reject(f"value {value:.3g} is not above {threshold:g}", tape, call)
            if siblings and siblings[0].voice in paired:
                for (better, high), (worse, low) in product(good, bad):
                    made.prefer(tape, better, worse, high - low)
    return made.built()


def node_values(tape: Tape, mark: Mark = outcome) -> dict[str, float | None]:
    """The value of every call of the tree: of a leaf its mark, of the others the mean of their children."""
    values: dict[str, float | None] = {c.id: mark(tape, c) for c in of_voice(tape, ROLES[2])}
    for role, below in ((ROLES[1], ROLES[2]), (ROLES[0], ROLES[1])):
        for call in of_voice(tape, role):
            found = [values[child.id] for child in children(tape, call, below)]
            values[call.id] = mean(v for v in found if v is not None)
    return values


def families(tape: Tape) -> list[list[Called]]:
    """The calls of the tree, in groups of one parent: those of one role with the same parents.

    Two equal drafts are two parents, though they make one prompt.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Called]] = {}
    for role in ROLES:
        for call in of_voice(tape, role):
            groups.setdefault((role, call.parents), []).append(call)
    return list(groups.values())
