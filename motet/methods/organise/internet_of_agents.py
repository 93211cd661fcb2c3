"""Internet of Agents: agents are looked up, team up, and talk by kinds of speech act.

Paper: Chen et al. 2024, arXiv:2407.07061 (catalogue 172).
Idea: whoever has a task searches for agents by ability and opens a group chat with those it needs. The chat
is a state machine: whoever speaks chooses the state (discussion, synchronous or asynchronous task, pause
until tasks are done, conclusion) and who is next. Whoever is given a task may open a group of its own, D
groups deep. Agents in other processes are voices like others: `motet.remote` registers, finds and serves
them.
Calls: at most (t + 3) * (t ** D - 1) / (t - 1) + t ** D: two to team up (no search is made among k or fewer),
t turns with a task each, and a conclusion when the turns are over.
Deviates: who gave a task speaks again after it. A pause waits for all tasks under way, a conclusion calls
them off. Whoever names nobody, or itself, is followed by the next in turn. Prompts are in our words.
Failure: who cannot team up does the task alone. A speaker that fails loses the turn to the next member; a
task that fails is told to the group. When the client fails and nobody concluded, the run fails.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct, defstruct

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import at_least
from motet.methods.organise.conversation import converse
from motet.methods.organise.roster import found, roster
from motet.teams import Voices, team
from motet.types import Content, Linked, Reply, Task, fill

ALONE = "{task}\n\n{form}"
SEARCH = "Task:\n{task}\n\nWhich abilities does it need? Give up to three short searches, as `queries`."
CHOOSE = """\
Task:
{task}

Agents that were found:
{found}

Whom do you need for it? Name them as `members`, or nobody if you can do it alone."""


class Wanted(Struct):
    """What somebody with a task searches for."""

    queries: Annotated[list[str], Meta(min_length=1, max_length=3)]


class Web(NamedTuple):
    """All agents there are, and how they work together."""

    agents: Sequence[Voice]
    t: int
    k: int
    form: str


@team
async def internet_of_agents(
    task: Task, client: Voice, agents: Voices, *, t: int = 6, D: int = 1, k: int = 5
) -> Reply | Linked:
    """Team up from those found by `k` a search, and talk for `t` turns at most, `D` groups deep."""
    at_least(2, t=t)
    at_least(1, D=D, k=k)
    web = Web(agents, t, k, instruction(task))
    return await _solve(web, client, task, fill(ALONE, task=task, form=web.form), D)


async def _solve(web: Web, who: Voice, job: Content, alone: Content, D: int) -> Reply | Linked:
    """Have a job done by somebody, with a group that it teams up, or alone."""
    if D and (members := await _team_up(web, who, job)):

        async def work(member: Voice, part: Content, alone: Content) -> Reply | Linked:
            return await _solve(web, member, part, alone, D - 1)

        return await converse([who, *members], job, work, t=web.t, form=web.form)
    return await who.ask(alone)


async def _team_up(web: Web, who: Voice, job: Content) -> list[Voice]:
    """Those whom somebody wants for a job; nobody when it fails to say."""
    others = [agent for agent in web.agents if agent.name != who.name]
    try:
        if len(others) > web.k:
            wanted = await who.ask(fill(SEARCH, task=job), schema=Wanted)
            others = found(others, wanted.data.queries, web.k)
        names = {agent.name: agent for agent in others}
        if not names:
            return []
        chosen = await who.ask(fill(CHOOSE, task=job, found=roster(others)), schema=_members(tuple(names)))
    except ModelError:
        return []
    return [names[name] for name in dict.fromkeys(chosen.data.members)]


@lru_cache
def _members(names: tuple[str, ...]) -> type[Struct]:
    named: Any = Annotated[list[Literal[names]], Meta(max_length=len(names))]  # type: ignore[valid-type]
    return defstruct("Members", [("members", named)])
