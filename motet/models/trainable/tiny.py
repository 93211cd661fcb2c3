"""Very small models made from a configuration, with bytes for tokens: for tests and games of few words."""

from collections.abc import Sequence
from typing import Any

from motet.errors import BadInput
from motet.models.trainable.words import Turn

END, PAD = 256, 260
ROLES = {"system": 257, "user": 258, "assistant": 259}
VOCABULARY = 261


class Bytes:
    """256 bytes, one token for the end of a turn and one for each role. Its chats only grow."""

    label = "bytes"
    ends = frozenset({END})
    pad = PAD

    def prompt(self, chat: Sequence[Turn]) -> tuple[int, ...]:
        """Ids of a chat, up to where the assistant is to speak."""
        return (*self._turns(chat), ROLES["assistant"])

    def onward(
        self, chat: Sequence[Turn], known: int, prompt: tuple[int, ...], ids: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Ids of a chat of which `prompt` and `ids` are those of the first `known` turns."""
        closed = prompt + ids if ids and ids[-1] == END else (*prompt, *ids, END)
        return (*closed, *self._turns(chat[known:]), ROLES["assistant"])

    def decode(self, ids: Sequence[int]) -> str:
        """The words; bytes that are no UTF-8 become U+FFFD."""
        return bytes(i for i in ids if i < 256).decode("utf-8", "replace")

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of plain text."""
        return tuple(text.encode())

    def save(self, folder: str) -> None:
        """Nothing is to be kept beside the weights."""

    def _turns(self, chat: Sequence[Turn]) -> tuple[int, ...]:
        return tuple(i for role, text in chat for i in (ROLES[role], *text.encode(), END))


DEFAULTS = {"hidden": 128, "layers": 3, "heads": 4, "context": 1024, "seed": 0}


def tiny_options(text: str) -> dict[str, int]:
    """Read `hidden=64,layers=2` (what follows `torch:tiny:`).

    Raises:
        BadInput: a key that is none of hidden, layers, heads, context, seed, or a value that is no number.
    """
    options = dict(DEFAULTS)
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if key not in options or not value.isdecimal():
            raise BadInput(
                f"torch:tiny:{text}: {part!r} is not KEY=NUMBER with a key of {', '.join(options)}"
            )
        options[key] = int(value)
    return options


def tiny_config(options: dict[str, int]) -> Any:
    """The configuration of a small Llama over bytes; 0.6 million parameters unless asked otherwise."""
    from transformers import LlamaConfig

    hidden = options["hidden"]
    return LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=hidden * 8 // 3 // 8 * 8,
        num_hidden_layers=options["layers"],
        num_attention_heads=options["heads"],
        num_key_value_heads=options["heads"],
        max_position_embeddings=options["context"],
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=END,
        pad_token_id=PAD,
    )
