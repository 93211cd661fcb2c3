"""Optima: generate many conversations, rank them by task, tokens and language, train on the best.

Paper: Chen et al. 2024, arXiv:2410.08115 (catalogue 297); the data step of its iterative SFT, DPO and hybrid.
Idea: a conversation is worth R = mark − λ_t · tokens / (most tokens of the task's conversations)
+ λ_l / loss, where the loss is that of a language model on what was said. SFT takes the best conversation of
each task, of those the better part. For DPO every message is a node of a tree, worth the mean R of the
conversations through it; siblings far enough apart are pairs.
Calls: none; it reads m conversations a task, of any team, run with m seeds.
Deviates: the tree is that of the conversations there are (equal prompts are one node, in all runs), not one
grown by search with similar nodes skipped; the language term is 0 unless a function gives it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import permutations

from motet.errors import BadInput
from motet.tape import Called, Tape
from motet.train.builders.data import Built
from motet.train.builders.reading import Maker, mark_of, mean

Worth = list[tuple[float, Tape]]


def optima(
    tapes: Sequence[Tape],
    *,
    tokens: float = 0.6,
    language: Callable[[Tape], float] = lambda tape: 0.0,
    worth: float = 0.0,
    top: float = 0.7,
    gap: float = 0.2,
) -> Built:
    """The best conversations for SFT, and sibling messages for DPO.

    Args:
        tapes: several runs of each task, by one team.
        tokens: λ_t.
        language: λ_l / loss of what was said in a run.
        worth: conversations and chosen messages worth less are not trained on.
        top: share of the tasks whose best conversation is kept, best first.
        gap: least difference between the values of a pair.

    Raises:
        BadInput: `top` is not in (0, 1].
    """
    if not 0 < top <= 1:
        raise BadInput(f"top is {top!r}; expected a share above 0, 1 at most")
    made = Maker()
    made.counts["conversations"] = len(tapes)
    groups: dict[str, list[Tape]] = defaultdict(list)
    for tape in tapes:
        groups[tape.started.task.id or tape.started.task.prompt].append(tape)
    best: Worth = []
    for group in groups.values():
        ranked = _ranked(made, group, tokens, language)
        best += ranked[:1]
        for reward, tape in ranked[1:]:
            made.reject(f"R {reward:.3g} is not the best of its task", tape)
        _pairs(made, ranked, worth, gap)
    best.sort(key=lambda pair: -pair[0])
    for place, (reward, tape) in enumerate(best):
        if place >= max(1, round(top * len(best))) or reward < worth:
            made.reject(f"R {reward:.3g} is not among the best tasks", tape)
            continue
        for call in tape.calls:
            if call.node:
                made.imitate(tape, call)
    return made.built()


def _ranked(made: Maker, group: Sequence[Tape], price: float, language: Callable[[Tape], float]) -> Worth:
    """The conversations of one task with R, best first, without those that cannot be marked."""
    most = max(tape.usage().output_tokens for tape in group) or 1
    found: Worth = []
    for tape in group:
        mark = mark_of(tape)
        if mark is None:
            made.reject("the run cannot be marked", tape)
        else:
            found.append((mark - price * tape.usage().output_tokens / most + language(tape), tape))
    return sorted(found, key=lambda pair: -pair[0])


def _pairs(made: Maker, ranked: Worth, worth: float, gap: float) -> None:
    """Siblings: replies of one voice to the very same messages."""
    families: dict[tuple[str, str], dict[str, list[tuple[float, Tape, Called]]]] = {}
    for reward, tape in ranked:
        for call in tape.calls:
            if call.node:
                replies = families.setdefault((call.voice, call.prompt), {})
                replies.setdefault(call.node, []).append((reward, tape, call))
    for siblings in families.values():
        values = [(mean(r for r, _, _ in same) or 0.0, same[0]) for same in siblings.values()]
        for (high, (_, tape, good)), (low, (_, other, bad)) in permutations(values, 2):
            if high - low >= gap and high >= worth:
                made.prefer(tape, good, bad, high - low, other)
