"""From tapes to training rows: each root-to-leaf path of ids is one row, and no text is tokenised again.

A call goes on another's row only when its prompt begins with exactly the ids of that call's prompt and reply.
Where a conversation goes on but its ids do not (a chat template that rewrites old turns, a cut stop word),
the row forks. A reply that lies on several paths is trained on once. All of this is counted in a `Ledger`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import nan

import msgspec
from msgspec import Struct

from motet.errors import BadInput
from motet.tape import Called, Tape
from motet.tape.keys import digest


class Span(Struct, frozen=True):
    """Tokens `start` to `stop` of a row: what one call sampled, and which weights did it.

    Args:
        call: `RUN/ID` of the call.
        turn: how many calls of this voice came before it in the run.
    """

    start: int
    stop: int
    call: str
    turn: int = 0
    version: str = ""


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sequence to train on. Lists of numbers have one entry an id, or none when nothing is known.

    Args:
        mask: which ids are trained on.
        logprobs: the sampler's log-probabilities (temperature 1, whole vocabulary); NaN where none.
        old: the trainer's own before the first step, when ratios are to be taken against those.
        reference: those of the policy that KL is measured against.
        advantages: what policy losses multiply; weights: what `sft` multiplies.
        returns: what a critic is to say; read by `value`.
        reward: the outcome; read by `rwr`.
        label: above 0 for a wanted row, below for an unwanted one; read by `dpo` and `kto`.
        pair: name that the two rows of a preference share.
        group: rollouts of one group are compared with each other.
        spans: the calls in it, in order.
    """

    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    logprobs: tuple[float, ...] = ()
    old: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()
    advantages: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    returns: tuple[float, ...] = ()
    reward: float | None = None
    label: float = 0.0
    pair: str = ""
    tokenizer: str = ""
    voice: str = ""
    policy: str = ""
    run: str = ""
    group: str = ""
    spans: tuple[Span, ...] = ()

    def but(self, **changes: object) -> "Row":
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def credited(self, advantages: Mapping[str, float | Sequence[float] | None]) -> "Row":
        """The row with an advantage for every sampled token.

        Args:
            advantages: by call (`RUN/ID`), one number for all its tokens or one for each. None, NaN or
                nothing for a call takes its tokens out of the mask.

        Raises:
            BadInput: a call has another number of tokens than of advantages.
        """
        values, mask = [0.0] * len(self.ids), list(self.mask)
        for span in self.spans:
            given, size = advantages.get(span.call), span.stop - span.start
            found = [nan if given is None else float(given)] * size if _single(given) else list(given)  # type: ignore[arg-type]
            if len(found) != size:
                raise BadInput(f"call {span.call} sampled {size} tokens and got {len(found)} advantages")
            for i, value in enumerate(found, span.start):
                mask[i] = mask[i] and value == value
                values[i] = value if value == value else 0.0
        return self.but(advantages=tuple(values), mask=tuple(mask))


def _single(given: object) -> bool:
    return given is None or isinstance(given, int | float)


@dataclass
class Ledger:
    """What became of the calls on their way to rows.

    Args:
        counts: `calls`, `rows`, `tokens` (trained), `merged` (calls that went on an earlier one's row),
            `forked` (conversations that went on in other ids), `shared` (replies masked because another row
            trains them), `tempered` (calls sampled from a changed distribution, whose log-probabilities are
            of the plain one), `untrained` (calls of voices without a policy).
        rejected: calls that cannot be trained on, by reason.
    """

    counts: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Ledger") -> "Ledger":
        return Ledger(self.counts + other.counts, self.rejected + other.rejected)

    def __str__(self) -> str:
        order = ("calls", "rows", "tokens", "merged", "forked", "shared", "tempered", "untrained")
        parts = [f"{self.counts[name]:,} {name}" for name in order if self.counts[name] or name == "rows"]
        parts += [f"{n:,} rejected: {reason}" for reason, n in sorted(self.rejected.items())]
        return "drift ledger: " + ", ".join(parts)


@dataclass(frozen=True)
class _Piece:
    """One call as ids."""

    call: Called
    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    tokenizer: str
    turn: int

    @property
    def whole(self) -> tuple[int, ...]:
        return self.prompt + self.ids


def rows_of(
    tapes: Iterable[Tape],
    policies: Mapping[str, str],
    *,
    group: Mapping[str, str] | None = None,
    ledger: Ledger | None = None,
) -> list[Row]:
    """The rows of these tapes, run by run and voice by voice.

    Args:
        policies: which policy each voice is trained as; `*` stands for all that are not named. Voices without
            one are left out. Several voices may share a policy; their rows do not merge.
        group: key of the group of each run; when left out, runs of one task are a group.
        ledger: where to count.

    Raises:
        BadInput: a call of a trained voice came without ids: its model cannot be trained by RL.
    """
    ledger = Ledger() if ledger is None else ledger
    rows: list[Row] = []
    for tape in tapes:
        task = tape.started.task
        key = (group or {}).get(tape.run) or task.id or digest(task.prompt)
        for voice, pieces in _pieces(tape, policies, ledger).items():
            policy = policies.get(voice, policies.get("*", ""))
            found = [
                row.but(voice=voice, policy=policy, run=tape.run, group=key)
                for row in _paths(tape, pieces, ledger)
            ]
            rows += found
    ledger.counts["rows"] += len(rows)
    ledger.counts["tokens"] += sum(sum(row.mask) for row in rows)
    return rows


def _pieces(tape: Tape, policies: Mapping[str, str], ledger: Ledger) -> dict[str, list[_Piece]]:
    """The calls of each trained voice that have ids, in order."""
    known = dict(tape.tokens.keys())
    pieces: dict[str, list[_Piece]] = {}
    turns: Counter[str] = Counter()
    for call in tape.calls:
        ledger.counts["calls"] += 1
        if call.voice not in policies and "*" not in policies:
            ledger.counts["untrained"] += 1
            continue
        turn = turns[call.voice]
        turns[call.voice] += 1
        if call.failure:
            ledger.rejected[f"the call failed ({call.failure.kind})"] += 1
            continue
        if call.node not in known:
            raise BadInput(
                f"run {tape.run}, call {call.id}: the voice {call.voice!r} is to be trained, but its model "
                f"{call.model!r} gives no token ids, and text is never tokenised again for an RL loss. "
                f"Cast it with torch: or local, or with a server that gives ids; or take it out of `policies`"
            )
        piece = _piece(tape, call, known[call.node], turn)
        if piece is None:
            ledger.rejected["which ids were sampled is not known"] += 1
            continue
        ledger.counts["tempered"] += _tempered(call)
        pieces.setdefault(call.voice, []).append(piece)
    return pieces


def _piece(tape: Tape, call: Called, tokenizer: str, turn: int) -> _Piece | None:
    tokens, whole = tape.tokens[call.node, tokenizer], tape.ids(call.node, tokenizer)
    sampled = len(tokens.ids) if tokens.base == call.prompt and tokens.base else len(tokens.logprobs)
    if not sampled:
        return None
    at = len(whole) - sampled
    return _Piece(call, whole[:at], whole[at:], tokens.logprobs, tokenizer, turn)


def _tempered(call: Called) -> bool:
    knobs = call.sampling
    # A knob that is not set is the backend's own, and the embedded engine's is less than 1.
    unset = 0.7 if call.model.startswith("local") else 1.0
    heat = unset if knobs.temperature is None else knobs.temperature
    return heat != 1.0 or any((knobs.top_k, knobs.min_p, (knobs.top_p or 1.0) < 1))


def _paths(tape: Tape, pieces: list[_Piece], ledger: Ledger) -> list[Row]:
    """Chain the pieces on exact prefixes and make a row of every leaf."""
    known: dict[int, int] = {}
    before: list[int | None] = []
    nodes = {piece.call.node for piece in pieces}
    for number, piece in enumerate(pieces):
        marks = list(accumulate(piece.whole, lambda mark, i: hash((mark, i)), initial=hash(piece.tokenizer)))
        # Longest first; equal marks are compared in full.
        found = ((known[marks[n]], n) for n in range(len(piece.prompt), 0, -1) if marks[n] in known)
        before.append(next((at for at, n in found if pieces[at].whole == piece.prompt[:n]), None))
        if before[-1] is not None:
            ledger.counts["merged"] += 1
        elif _goes_on(tape, piece.call.prompt, nodes):
            ledger.counts["forked"] += 1
        known.setdefault(marks[-1], number)
    trained: set[int] = set()
    inner = set(before)
    rows = []
    for leaf in range(len(pieces)):
        if leaf not in inner:
            chain: list[int] = []
            at: int | None = leaf
            while at is not None:
                chain.append(at)
                at = before[at]
            rows.append(
                _row(tape.run, [pieces[i] for i in reversed(chain)], [i in trained for i in reversed(chain)])
            )
            ledger.counts["shared"] += sum(i in trained for i in chain)
            trained.update(chain)
    return rows


def _goes_on(tape: Tape, node: str, sampled: set[str]) -> bool:
    """Whether a node on the way to the root was sampled by one of these calls."""
    while node:
        if node in sampled:
            return True
        node = tape.nodes[node].parent
    return False


def _row(run: str, chain: list[_Piece], done: list[bool]) -> Row:
    ids = chain[-1].whole
    mask, logprobs, spans = [False] * len(ids), [nan] * len(ids), []
    for piece, elsewhere in zip(chain, done, strict=True):
        start, stop = len(piece.prompt), len(piece.whole)
        if elsewhere:
            continue
        mask[start:stop] = [True] * (stop - start)
        if piece.logprobs:
            logprobs[start:stop] = piece.logprobs
        spans.append(Span(start, stop, f"{run}/{piece.call.id}", piece.turn, piece.call.version))
    return Row(
        ids=ids,
        mask=tuple(mask),
        logprobs=tuple(logprobs),
        tokenizer=chain[-1].tokenizer,
        spans=tuple(spans),
    )
