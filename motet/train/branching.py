"""Episodes that branch at every turn, as AT-GRPO samples them (Zhao et al. 2025, arXiv:2510.11062; catalogue
192).

Groups of whole episodes compare replies to different prompts from the second turn on. Here whoever acts says
k things to one and the same prompt. Each is tried in a copy of the episode, and the episode goes on with the
best, so that the replies of one seat and turn are a group by themselves. A reply is worth what it brings at
once; what it leads to later is not looked at.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from motet.agent import Agent, Voice
from motet.envs.play import question
from motet.envs.players import TURN, Turn
from motet.envs.protocol import Action, Env, Seat
from motet.envs.registry import make
from motet.errors import BadInput, ModelError
from motet.models.protocol import Model
from motet.run import Run
from motet.tape import RECORDER, Scored, Stepped, Store
from motet.teams import Team, Voices, team
from motet.train.source import Episodes, Rollout
from motet.types import Linked, Reply, Task

Local = Callable[[Env, Seat, Action | None], float]
"""What a role's action is worth by itself, judged in the episode as it stands before the action."""
SCORER = "branch"


@dataclass(frozen=True)
class Branches:
    """How episodes branch.

    Args:
        k: replies at each turn.
        alpha: weight of the team's reward.
        local: a role's own reward; without one there is none.
        follow: go on with the `best` reply (the first of equals), or with the `first`, which is any.
    """

    k: int = 4
    alpha: float = 1.0
    local: Local | None = None
    follow: Literal["best", "first"] = "best"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise BadInput(f"k is {self.k!r}; expected 1 reply at each turn, or more")

    def worth(self, episode: Env, seat: Seat, reply: Reply) -> float:
        """What a reply brings at once: α times what the seat gets for it, and the role's own reward."""
        action = _action(episode, seat, reply)
        tried = episode.clone()
        try:
            earned = self.alpha * tried.step({seat: action}).rewards.get(seat, 0.0)
        finally:
            tried.close()
        return earned + (self.local(episode, seat, action) if self.local else 0.0)


@team
async def branch(
    task: Task,
    players: Voices,
    *,
    env: str = "maze",
    seed: int = 0,
    options: dict[str, Any] | None = None,
    branches: Branches = Branches(),
) -> Linked:
    """Play one episode with several replies at every turn, of which one is taken.

    A mark goes on the tape for every reply: `branch`, its worth. A voice that fails has made no move that
    could be read.

    Returns:
        The returns of all seats as JSON, from the last reply taken of every seat.

    Raises:
        BadInput: several seats act at once.
    """
    episode = make(env, seed, **(options or {}))
    try:
        # Every voice is an agent: `Branching.cast` makes it so.
        voices = {s: replace(v, name=s) for s, v in zip(episode.seats, players, strict=True)}  # type: ignore[type-var]
        last: dict[Seat, Reply] = {}
        number = 0
        while acting := episode.acting():
            seat, *others = acting
            if others:
                raise BadInput(f"{env} has seats that act at once ({', '.join(acting)}); branches need turns")
            replies = await _replies(voices[seat], Turn(episode, seat, number), branches.k)
            worth = [branches.worth(episode, seat, reply) for reply in replies]
            taken = worth.index(max(worth)) if branches.follow == "best" and replies else 0
            _take(episode, seat, replies, worth, taken)
            last |= {seat: replies[taken]} if replies else {}
            number += 1
        return Linked(msgspec.json.encode(episode.returns()).decode(), tuple(last.values()))
    finally:
        episode.close()


async def _replies(voice: Voice, turn: Turn, k: int) -> list[Reply]:
    token = TURN.set(turn)
    try:
        asked = question(turn.env.brief(turn.seat), turn.env.observe(turn.seat))
        return await voice.ask_many(*asked, n=k)
    except ModelError:
        return []  # the calls are on the tape with their failure
    finally:
        TURN.reset(token)


def _action(episode: Env, seat: Seat, reply: Reply) -> Action | None:
    return episode.read_action(seat, reply.text) if reply.data is None else reply.data


def _take(episode: Env, seat: Seat, replies: list[Reply], worth: list[float], taken: int) -> None:
    """Step on with one reply, and put the marks of all and the step on the tape."""
    recorder = RECORDER.get()
    assert recorder is not None, "a team runs with a recorder"
    for reply, value in zip(replies, worth, strict=True):
        recorder.record(Scored(SCORER, value, recorder.clock(), call=reply.call))
    before, seen = episode.state_hash(), episode.observe(seat).digest
    action = _action(episode, seat, replies[taken]) if replies else None
    step = episode.step({seat: action})
    recorder.record(
        Stepped(
            state=before,
            actions={seat: None if action is None else str(action)},
            observations={seat: seen},
            rewards=step.rewards,
            at=recorder.clock(),
            calls={seat: replies[taken].call} if replies else {},
            invalid=step.invalid,
            done=step.done,
        )
    )


@dataclass(frozen=True)
class Branching(Episodes):
    """Episodes in which every turn is sampled several times, for credit that compares those (`at_grpo`).

    A run with branches is a group of its own: its later turns have contexts that no other run has. With k = 1
    nothing branches, and rollouts of one start are a group as ever. A seat's outcome is α times its return,
    plus its own rewards for the replies that were taken.
    """

    branches: Branches = Branches()

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        playing = super().cast(models)
        players = [p for p in playing.parts["players"] if isinstance(p, Agent)]
        return branch.cast(players=players).configured(
            env=self.env, options=self.options or None, branches=self.branches
        )

    async def rollout(self, team: Team[...], number: int, seed: int, store: Store) -> Rollout:
        found = await super().rollout(team, number, seed, store)
        group = found.group if self.branches.k == 1 else f"{number}/{seed}"
        return msgspec.structs.replace(found, group=group, **self._read(found))

    async def replay(self, team: Team[...], run: Run, absent: frozenset[str], store: Store) -> float | None:
        """Not to be had: a seat's outcome holds its own rewards for replies, which a replay does not have.

        Raises:
            BadInput: always.
        """
        raise BadInput(
            "the replies of Branching are compared with each other (credit `at_grpo`); for what a seat was "
            "worth, train on Episodes"
        )

    def _read(self, found: Rollout) -> dict[str, Any]:
        """What every reply was worth, and what the seats earned, from the tape."""
        waiting: dict[str, float] = {}
        steps: dict[str, float] = {}
        seen: dict[str, str] = {}
        notes: dict[str, dict[str, object]] = {}
        earned: defaultdict[str, float] = defaultdict(float, dict.fromkeys(found.rewards, 0.0))
        turn = 0
        for event in found.run.tape.events:
            if isinstance(event, Scored):
                waiting[event.call] = event.value
            elif isinstance(event, Stepped):
                (seat,) = event.actions
                steps |= waiting
                seen |= dict.fromkeys(waiting, event.observations[seat])
                notes |= {call: {"turn": turn} for call in waiting}
                for who, reward in event.rewards.items():
                    earned[who] += self.branches.alpha * reward
                if waiting:
                    team = self.branches.alpha * event.rewards.get(seat, 0.0)
                    earned[seat] += waiting[event.calls[seat]] - team
                waiting, turn = {}, turn + 1
        rewards = dict(earned) if found.run.ok else found.rewards
        return {"rewards": rewards, "steps": steps, "seen": seen, "notes": notes}
