"""Tuning data in the formats of public trainers.

A trained message is a row of its own, with all before it as its prompt: so masked messages stay in sight and out
of the loss in every format, also in those that know no masks. Weights other than 1 are in the column `weight`,
and spans in `spans` (offsets into the completion), which no public trainer reads: multiply the loss by them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from motet.errors import BadInput, MissingExtra, UnknownName
from motet.tape.export.chat import chat, json_lines
from motet.tape.export.write import write
from motet.train.builders.data import Built, Example, Label, Pair

Row = dict[str, Any]


def trl_sft(built: Built) -> list[Row]:
    """TRL, conversational prompt-completion: `prompt`, `completion`."""
    return [
        {"prompt": prompt, "completion": completion} | facts
        for example in built.sft
        for prompt, completion, facts in _turns(example)
    ]


def trl_dpo(built: Built) -> list[Row]:
    """TRL, conversational preference with an explicit prompt: `prompt`, `chosen`, `rejected`."""
    return [_pair(pair, "prompt") for pair in built.dpo]


def trl_kto(built: Built) -> list[Row]:
    """TRL, conversational unpaired preference: `prompt`, `completion`, `label`. Pairs give a row for each side."""
    return [
        {
            "prompt": chat(one.prompt),
            "completion": chat([one.completion]),
            "label": one.wanted,
            "voice": one.voice,
        }
        for one in _labels(built)
    ]


def verl(built: Built) -> list[Row]:
    """verl's multi-turn SFT: `messages`, of which every assistant message is trained on.

    Raises:
        BadInput: a conversation has an assistant message without a loss, which verl cannot mask.
    """
    rows: list[Row] = []
    for example in built.sft:
        rows += _verl(example)
    return rows


def _verl(example: Example) -> list[Row]:
    masked = [
        m for m, on in zip(example.messages, example.trained, strict=True) if m.role == "assistant" and not on
    ]
    if masked:
        raise BadInput(
            f"verl trains on every assistant message, and {masked[0].text[:80]!r} of run "
            f"{', '.join(example.runs)} is masked; hand it to trl-sft or openrlhf, which take one turn a row"
        )
    return [{"messages": chat(example.messages), "voice": example.voice}]


def openrlhf(built: Built) -> list[Row]:
    """OpenRLHF SFT: `input`, `output` as messages (`--apply_chat_template`); its DPO reads `chosen` and `rejected`
    of rows with `prompt` (`--prompt_key prompt`): use it when there are pairs alone."""
    if built.dpo and not built.sft:
        return [_pair(pair, "prompt") for pair in built.dpo]
    return [
        {"input": prompt, "output": completion} | facts
        for example in built.sft
        for prompt, completion, facts in _turns(example)
    ]
