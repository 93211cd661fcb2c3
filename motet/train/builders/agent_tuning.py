"""AgentTuning: good agent trajectories, mixed with general data.

Paper: Zeng et al. 2023, arXiv:2310.12823 (catalogue 312).
Idea: keep the trajectories with a high reward and tune on them with a loss on the agent's turns alone, in a
mix: a share η of examples is of agents, the rest general instructions, so that general ability stays.
Calls: none.
Deviates: the mix has exactly the share η instead of being drawn with it; a source that is too small goes
round.
"""

from collections.abc import Sequence
from itertools import cycle, islice
from random import Random

from motet.errors import BadInput
from motet.tape import Tape
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, conversations, mark_of, said_by


def agent_tuning(
    tapes: Sequence[Tape],
    *,
    general: Sequence[Example] = (),
    eta: float = 0.2,
    least: float = 1.0,
    size: int | None = None,
    seed: int = 0,
) -> Built:
    """Whole conversations of runs that succeeded, and general examples, shuffled.

    Args:
        general: general instructions; their own masks are kept, their stage becomes `general`.
        eta: share of agent examples, above 0; 1 needs no general ones.
        least: a run's mark must be this high.
        size: examples in all; as many as use each agent example once when left out.
        seed: of the shuffle.

    Raises:
        BadInput: η is not a share, or there is nothing general to mix in.
    """
    if not 0 < eta <= 1:
        raise BadInput(f"eta is {eta!r}; expected a share above 0, 1 at most")
    if eta < 1 and not general:
        raise BadInput(f"eta is {eta!r}, but there are no general examples; give general=, or eta=1")
    made = Maker()
    agent: list[Example] = []
    for tape in tapes:
        mark = mark_of(tape)
        if mark is None or mark < least:
            made.reject("the run has no mark" if mark is None else f"mark {mark:.3g} is too low", tape)
            continue
        for end in conversations(tape):
            turns = said_by(tape, end)
            trained = tuple(call is not None for _, call in turns)
            agent.append(
                Example(tuple(m for m, _ in turns), trained, 1.0, end.voice, (tape.run,), stage="agent")
            )
    if agent:
        total = size if size is not None else round(len(agent) / eta)
        first = round(eta * total)
        rng = Random(seed)
        made.sft = _some(agent, first, rng) + _some(
            [_general(example) for example in general], total - first, rng
        )
        rng.shuffle(made.sft)
    made.counts.update(example.stage for example in made.sft)
    return made.built()


def _some(source: Sequence[Example], n: int, rng: Random) -> list[Example]:
    return list(islice(cycle(rng.sample(source, len(source))), n)) if source else []


def _general(example: Example) -> Example:
    from msgspec.structs import replace

    return replace(example, stage="general")
