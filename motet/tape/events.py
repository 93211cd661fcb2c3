"""The events of a run. A tape is an append-only list of these; nothing recorded is ever rewritten."""

from typing import Any

from msgspec import Struct

from motet.types import Failure, Part, Role, Sampling, StopReason, Task, Usage


class Started(Struct, frozen=True, tag="started", omit_defaults=True):
    """A team set to work.

    `team_id` is the hash of the team's source, knobs, prompts and cast; `voices` maps each voice to
    the name of its model; `knobs` names those that are long (learned weights, documents), which are stored
    once, as messages of the tree (`Tape.knobs` spells them out); `prompts` holds the prompt constants that
    the team's source refers to; `item` names the piece of work that a comparison resumes by.
    """

    run: str
    team: str
    team_id: str
    task: Task
    voices: dict[str, str]
    knobs: dict[str, Any]
    prompts: dict[str, str]
    seed: int
    at: float
    budget: dict[str, float] = {}
    item: str = ""
    motet: str = ""


class Called(Struct, frozen=True, tag="call", omit_defaults=True):
    """One sample was drawn from one model, or the attempt failed.

    Args:
        id: number of the call within its run, in order of asking.
        key: hash of all that decides the reply's distribution, and the sample index.
        prompt: node of the message tree that was continued.
        node: node produced; empty when the call failed.
        parents: ids of the calls whose text went into the prompt (the information edges).
        at: seconds since the epoch when the call was made.
    """

    id: str
    key: str
    voice: str
    model: str
    prompt: str
    at: float
    node: str = ""
    parents: tuple[str, ...] = ()
    answered_by: str = ""
    version: str = ""
    sampling: Sampling = Sampling()
    usage: Usage = Usage()
    cost: float | None = None
    latency_s: float = 0.0
    stop: StopReason = StopReason.END
    cached: bool = False
    failure: Failure | None = None


class ToolUsed(Struct, frozen=True, tag="tool", omit_defaults=True):
    """A tool ran for a voice. `call` is the id of the call that asked for it."""

    call: str
    voice: str
    name: str
    arguments: str
    result: str
    at: float
    latency_s: float = 0.0
    failure: Failure | None = None


class Stepped(Struct, frozen=True, tag="step", omit_defaults=True):
    """An environment took the actions of the seats that were acting; every dict is by seat.

    Args:
        state: hash of the environment's state before the step; that of the first step is the episode's start.
        actions: as text; None where no action could be read out of the reply.
        observations: hash of what each acting seat saw.
        rewards: for this step alone; a seat that is left out got 0.
        calls: ids of the calls that chose the actions; a seat whose call failed is left out.
        invalid: why an action was not taken.
        done: whether the episode ended.
    """

    state: str
    actions: dict[str, str | None]
    observations: dict[str, str]
    rewards: dict[str, float]
    at: float
    calls: dict[str, str] = {}
    invalid: dict[str, str] = {}
    done: bool = False


class Scored(Struct, frozen=True, tag="score", omit_defaults=True):
    """A judgement of the run, or of one call of it when `call` is given. `value` is in [0, 1]."""

    scorer: str
    value: float
    at: float
    call: str = ""
    detail: str = ""


class Ended(Struct, frozen=True, tag="ended", omit_defaults=True):
    """The run is over: with an answer (and the calls it was taken from), or with a failure."""

    at: float
    wall_s: float
    answer: str | None = None
    parents: tuple[str, ...] = ()
    failure: Failure | None = None


Event = Started | Called | ToolUsed | Stepped | Scored | Ended


class Asking(Struct, frozen=True, tag="asking"):
    """Shown to listeners when a call goes out; never stored."""

    id: str
    voice: str
    model: str


class Delta(Struct, frozen=True, tag="delta"):
    """Shown to listeners as text arrives; never stored."""

    id: str
    voice: str
    text: str


Live = Event | Asking | Delta


class Node(Struct, frozen=True):
    """A message in the content-addressed tree: `key` hashes the parent's key, the role and the parts
    (and, for a sampled message, its token ids)."""

    key: str
    parent: str
    role: Role
    parts: tuple[Part, ...]


class NodeTokens(Struct, frozen=True, omit_defaults=True):
    """The tokens that a node adds to those of its ancestor `base`, under one tokenizer.

    `base` is empty when the ids are those of the whole path. `logprobs` belong to the last
    `len(logprobs)` ids; a node that was not sampled has none.
    """

    node: str
    tokenizer: str
    ids: tuple[int, ...]
    base: str = ""
    logprobs: tuple[float, ...] = ()
