"""The vocabulary of a Hugging Face model, with chats that grow without tokenising old replies again."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

Turn = tuple[str, str]
"""Who speaks, and what: a chat is a tuple of them in which the roles take turns."""


class Vocabulary(Protocol):
    """What turns chats into ids and ids into words."""

    label: str
    ends: frozenset[int]
    pad: int

    def prompt(self, chat: Sequence[Turn]) -> tuple[int, ...]: ...

    def onward(
        self, chat: Sequence[Turn], known: int, prompt: tuple[int, ...], ids: tuple[int, ...]
    ) -> tuple[int, ...] | None: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def encode(self, text: str) -> tuple[int, ...]: ...

    def save(self, folder: str) -> None: ...


KEPT_CHATS = 4096


class Chats:
    """Chats as ids, in which the model's earlier replies keep the ids they were sampled with."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[Turn, ...], tuple[tuple[int, ...], tuple[int, ...]]] = OrderedDict()

    def prompt(self, vocabulary: Vocabulary, chat: tuple[Turn, ...]) -> tuple[int, ...]:
        """Ids of the chat, going on from the latest reply in it that is remembered."""
        for known in range(len(chat), 0, -1):
            if chat[known - 1][0] == "assistant" and (said := self._said.get(chat[:known])):
                if ids := vocabulary.onward(chat, known, *said):
                    return ids
                break
        return vocabulary.prompt(chat)

    def remember(self, chat: tuple[Turn, ...], prompt: tuple[int, ...], ids: tuple[int, ...]) -> None:
        """Keep the ids of a chat's last turn, and of what was before it."""
        self._said.setdefault(chat, (prompt, ids))
        if len(self._said) > KEPT_CHATS:
            self._said.popitem(last=False)


class Words:
    """A tokenizer of `transformers` and its chat template.

    Args:
        tokenizer: as `AutoTokenizer` gives it; one without a chat template gets the messages as paragraphs.
        label: name of the vocabulary on the tape.
        ends: ids that end a turn, besides the tokenizer's own.
    """

    def __init__(self, tokenizer: Any, label: str, ends: frozenset[int] = frozenset()) -> None:
        self._tokenizer, self.label = tokenizer, label
        own = tokenizer.eos_token_id
        self.ends = ends | ({own} if own is not None else frozenset())
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else own or 0

    def prompt(self, chat: Sequence[Turn]) -> tuple[int, ...]:
        """Ids of a chat, up to where the assistant is to speak."""
        return self.encode(self._filled(chat))

    def onward(
        self, chat: Sequence[Turn], known: int, prompt: tuple[int, ...], ids: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """Ids of a chat of which `prompt` and `ids` are those of the first `known` turns.

        None when the chat template does not simply go on where it was (some take thoughts out of old turns):
        then all has to be tokenised again.
        """
        so_far = self._filled(chat[: known - 1]) + self.decode(ids)
        whole = self._filled(chat)
        if not whole.startswith(so_far):
            return None
        rest = whole[len(so_far) :]
        if ids and ids[-1] in self.ends:
            end = self._tokenizer.decode([ids[-1]])
            if not rest.startswith(end):
                return None
            rest = rest[len(end) :]
        return prompt + ids + self.encode(rest)

    def decode(self, ids: Sequence[int]) -> str:
        """The words, without the tokens that end a turn."""
        said = [i for i in ids if i not in self.ends]
        return str(self._tokenizer.decode(said, clean_up_tokenization_spaces=False))

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of text in which special tokens are written out."""
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def save(self, folder: str) -> None:
        """Keep the tokenizer beside weights."""
        self._tokenizer.save_pretrained(folder)

    def _filled(self, chat: Sequence[Turn]) -> str:
        if not self._tokenizer.chat_template:
            return "".join(f"{text}\n\n" for _, text in chat)
        turns = [{"role": role, "content": text} for role, text in chat]
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
