"""Schemas that depend on a number: what a voice is asked for that chooses among `n`, or names `n` things.

To make a schema takes longer than to record a call, so each is made once.
"""

from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct, defstruct


@lru_cache
def one_of(n: int) -> type[Struct]:
    """The schema of a choice: an object whose `best` is a number from 1 to `n`."""
    return defstruct("Choice", [("best", Annotated[int, Meta(ge=1, le=n)])])


@lru_cache
def some_of(n: int, k: int) -> type[Struct]:
    """The schema of a ranking: an object whose `best` lists `k` numbers from 1 to `n`, best first."""
    number = Annotated[int, Meta(ge=1, le=n)]
    return defstruct("Ranking", [("best", Annotated[list[number], Meta(min_length=k, max_length=k)])])


@lru_cache
def texts(n: int, name: str, field: str) -> type[Struct]:
    """The schema of an object called `name` with `n` texts as its one field."""
    return defstruct(name, [(field, Annotated[list[str], Meta(min_length=n, max_length=n)])])
