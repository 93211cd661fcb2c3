"""A shared message pool: roles publish documents, and whoever watches for one is woken by it (MetaGPT).

Nobody is told whom to speak to: who reads what follows from what each role watches.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from motet.concurrency import all_of
from motet.types import Content

Documents = Mapping[str, Content]


class Role(NamedTuple):
    """One who works on documents.

    Args:
        makes: the kind of document it publishes.
        watches: the kinds whose arrival wakes it.
        needs: the kinds without which it cannot begin.
        act: makes the document from those in the pool; None publishes nothing.
    """

    makes: str
    watches: frozenset[str]
    needs: frozenset[str]
    act: Callable[[Documents], Coroutine[Any, Any, Content | None]]


class Pool:
    """The documents, the last of each kind, and who has not read them.

    Args:
        roles: those who subscribe.
        first: the documents that are there from the start, by kind.
    """

    def __init__(self, roles: Sequence[Role], **first: Content) -> None:
        self.documents: dict[str, Content] = {}
        self._roles = roles
        self._unread = [False] * len(roles)
        for kind, document in first.items():
            self.publish(kind, document)

    def publish(self, kind: str, document: Content) -> None:
        """Put a document into the pool."""
        self.documents[kind] = document
        for i, role in enumerate(self._roles):
            self._unread[i] |= kind in role.watches

    def woken(self) -> list[Role]:
        """Those who have something unread and all they need; it counts as read from here on."""
        awake = [i for i, r in enumerate(self._roles) if self._unread[i] and r.needs <= self.documents.keys()]
        for i in awake:
            self._unread[i] = False
        return [self._roles[i] for i in awake]

    async def work(self) -> None:
        """Let those who are woken act, all at once, until nobody is."""
        while woken := self.woken():
            made = await all_of([role.act(self.documents) for role in woken])
            for role, document in zip(woken, made, strict=True):
                if document is not None:
                    self.publish(role.makes, document)
