"""Tuning data in the formats of public trainers, as JSON Lines.

A trained message is a row of its own, with all before it as its prompt: so a masked message stays in sight
and out of the loss, also in formats that know no masks. Weights other than 1 are in the column `weight`, and
those of spans (characters of the completion) in `spans`; no public trainer reads them.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from motet.errors import BadInput, UnknownName
from motet.tape.export import write
from motet.tape.export.chat import chat, json_lines
from motet.train.builders.data import Built, Example, Label, Pair

Row = dict[str, Any]


def trl_sft(built: Built) -> list[Row]:
    """TRL, conversational prompt-completion: `prompt`, `completion`."""
    return [_row(*turn, "prompt", "completion") for e in built.sft for turn in _turns(e)]


def trl_dpo(built: Built) -> list[Row]:
    """TRL, conversational preference with an explicit prompt: `prompt`, `chosen`, `rejected`."""
    return [_pair(pair) for pair in built.dpo]


def trl_kto(built: Built) -> list[Row]:
    """TRL, conversational unpaired preference: `prompt`, `completion`, `label`. A pair gives two rows."""
    return [
        {"prompt": chat(x.prompt), "completion": chat([x.completion]), "label": x.wanted, "voice": x.voice}
        for x in _labels(built)
    ]


def verl(built: Built) -> list[Row]:
    """verl's multi-turn SFT: `messages`, of which every assistant message is trained on. It reads Parquet:
    `datasets.Dataset.from_json(path).to_parquet(…)`.

    Raises:
        BadInput: a conversation has an assistant message without a loss; verl cannot mask it.
    """
    for example in built.sft:
        for message, trained in zip(example.messages, example.trained, strict=True):
            if message.role == "assistant" and not trained:
                raise BadInput(
                    f"verl trains on every assistant message, and {message.text[:80]!r} of run "
                    f"{', '.join(example.runs)} is masked; hand it to trl-sft or openrlhf, a row a turn"
                )
    return [{"messages": chat(e.messages), "voice": e.voice, "weight": e.weight} for e in built.sft]


def openrlhf(built: Built) -> list[Row]:
    """OpenRLHF SFT: `--input_key input --output_key output --apply_chat_template`."""
    return [_row(*turn, "input", "output") for e in built.sft for turn in _turns(e)]


def openrlhf_dpo(built: Built) -> list[Row]:
    """OpenRLHF DPO: `--prompt_key prompt --apply_chat_template`; the other keys are its defaults."""
    return [_pair(pair) for pair in built.dpo]


def openrlhf_kto(built: Built) -> list[Row]:
    """OpenRLHF KTO: `--output_key output --label_key label --apply_chat_template`; its output is the whole
    conversation."""
    return [
        {"output": chat((*x.prompt, x.completion)), "label": int(x.wanted), "voice": x.voice}
        for x in _labels(built)
    ]


HANDOFFS: dict[str, Callable[[Built], list[Row]]] = {
    "openrlhf": openrlhf,
    "openrlhf-dpo": openrlhf_dpo,
    "openrlhf-kto": openrlhf_kto,
    "trl-dpo": trl_dpo,
    "trl-kto": trl_kto,
    "trl-sft": trl_sft,
    "verl": verl,
}


def handoff(built: Built, to: str, out: str | Path | None = None) -> str:
    """Write tuning data for another trainer, one JSON object a line.

    Args:
        to: a key of `HANDOFFS`.
        out: the file to write, whole or not at all.

    Returns:
        The text of the file.

    Raises:
        UnknownName: there is no such format. BadInput: the data have nothing for it, or it cannot hold them.
        MotetError: the file cannot be written.
    """
    if to not in HANDOFFS:
        raise UnknownName("format", to, HANDOFFS)
    rows = HANDOFFS[to](built)
    if not rows:
        made = ", ".join(f"{n} {name}" for name, n in built.counts.items()) or "nothing"
        raise BadInput(f"there is nothing for {to} in these data; they hold {made}")
    text = json_lines(rows)
    if out is not None:
        write(Path(out), text)
    return text


def _turns(example: Example) -> Iterator[tuple[Example, int]]:
    """The trained messages of an example, by number."""
    for number, trained in enumerate(example.trained):
        if trained:
            yield example, number


def _row(example: Example, number: int, prompt: str, completion: str) -> Row:
    messages = example.messages
    row: Row = {prompt: chat(messages[:number]), completion: chat(messages[number : number + 1])}
    spans = [msgspec.to_builtins(s) for s in example.spans if s.message == number]
    facts = {"voice": example.voice, "stage": example.stage, "weight": example.weight}
    return row | facts | ({"spans": spans} if example.spans else {})


def _pair(pair: Pair) -> Row:
    sides = {"chosen": chat([pair.chosen]), "rejected": chat([pair.rejected])}
    return {"prompt": chat(pair.prompt), **sides, "voice": pair.voice}


def _labels(built: Built) -> Iterator[Label]:
    yield from built.kto
    for pair in built.dpo:
        yield Label(pair.prompt, pair.chosen, True, pair.voice, pair.runs)
        yield Label(pair.prompt, pair.rejected, False, pair.voice, pair.runs)
