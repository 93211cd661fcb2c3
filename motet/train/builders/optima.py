"""Optima: generate many conversations, rank them by task, tokens and language, train on the best.

Paper: Chen et al. 2024, arXiv:2410.08115 (catalogue 297); the data step of its iterative SFT, DPO and hybrid.
Idea: a conversation is worth R = mark − λ_t · tokens / (most tokens of the task's conversations)
+ λ_l / loss, where the loss is that of a language model on what was said. SFT takes the best conversation of
each task, of those the better part. For DPO every message is a node of a tree, worth the mean R of the
conversations through it; siblings far enough apart are pairs.
Calls: none; it reads m conversations a task, of any team, run with m seeds.
Deviates: the tree is that of the conversations there are (equal prompts are one node, in all runs), not one
grown by search with similar nodes skipped; without `loss` the language term is 0.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import permutations

from motet.errors import BadInput
from motet.tape import Called, Tape
from motet.train.builders.data import Built
from motet.train.builders.reading import Maker, mark_of, mean


def optima(
    tapes: Sequence[Tape],
    *,
    tokens: float = 0.6,
    language: float = 0.0,
    loss: Callable[[Tape], float] | None = None,
    worth: float = 0.0,
    top: float = 0.7,
    gap: float = 0.2,
) -> Built:
    """The best conversations for SFT, and sibling messages for DPO.

    Args:
        tapes: several runs of each task, by one team.
        tokens, language: λ_t and λ_l.
        loss: mean loss of a language model on what was said in a run, above 0; needed when `language` is not 0.
        worth: conversations and chosen messages worth less are not trained on.
        top: share of the tasks whose best conversation is kept, best first.
        gap: least difference between the values of a pair.

    Raises:
        BadInput: `language` without `loss`, or `top` is not in (0, 1].
    """
    if language and loss is None:
        raise BadInput("language is not 0, so give loss=: a function from a run to its language model loss")
    if not 0 < top <= 1:
        raise BadInput(f"top is {top!r}; expected a share above 0, 1 at most")
    made = Maker()
    groups: dict[str, list[Tape]] = defaultdict(list)
    for tape in tapes:
        groups[tape.started.task.id or tape.started.task.prompt].append(tape)
    best: list[tuple[float, Tape]] = []
    for group in groups.values():
        rewards = _rewards(group, tokens)
        if language and loss:
            rewards = [
                r if r is None else r + language / loss(t) for r, t in zip(rewards, group, strict=True)
            ]
        known = [(r, t) for r, t in zip(rewards, group, strict=True) if r is not None]
        for tape, reward in zip(group, rewards, strict=True):
            made.counts["conversations"] += 1
            if reward is None:
                made.reject("the run cannot be marked", tape)
        if known:
            best.append(max(known, key=lambda pair: pair[0]))
            for reward, tape in known:
                if tape is not best[-1][1]:
                    made.reject(f"R {reward:.3g} is not the best of its task", tape)
            _pairs(made, known, worth, gap)
    best.sort(key=lambda pair: -pair[0])
    keep = max(1, round(top * len(best)))
    for place, (reward, tape) in enumerate(best):
        if place < keep and reward >= worth:
            for call in tape.calls:
                if call.node:
                    made.imitate(tape, call)
        else:
            made.reject(f"R {reward:.3g} is not among the best tasks", tape)
    return made.built()


def _rewards(group: Sequence[Tape], price: float) -> list[float | None]:
    """mark − price · tokens / most tokens of the group, in order; None without a mark."""
    spent = [tape.usage().output_tokens for tape in group]
    most = max(spent) or 1
    marks = [mark_of(tape) for tape in group]
    return [None if m is None else m - price * s / most for m, s in zip(marks, spent, strict=True)]


def _pairs(made: Maker, known: Sequence[tuple[float, Tape]], worth: float, gap: float) -> None:
    """Siblings: replies of one voice to the very same messages."""
    families: dict[tuple[str, str], dict[str, list[tuple[float, Tape, Called]]]] = {}
    for reward, tape in known:
        for call in tape.calls:
            if call.node:
                replies = families.setdefault((call.voice, call.prompt), {})
                replies.setdefault(call.node, []).append((reward, tape, call))
    for siblings in families.values():
        values = [(mean(r for r, _, _ in same) or 0.0, same[0]) for same in siblings.values()]
        for (high, (_, tape, good)), (low, (_, other, bad)) in permutations(values, 2):
            if high - low >= gap and high >= worth:
                made.prefer(tape, good, bad, high - low, other)
