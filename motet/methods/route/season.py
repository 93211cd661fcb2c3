"""The book of a league: rewards, releases, probation and replacement, task by task.

Paper: Liu 2025, arXiv:2501.17903 (catalogue 71): the loop of RLFA, for `free_agents`.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from motet.errors import BadInput
from motet.methods.aggregate.said import last_said
from motet.methods.common import at_least, gives_target
from motet.run import Run
from motet.teams import Team
from motet.types import Task

Reward = Callable[[Run, str | None], float]
"""What an agent earned in a run with what it said last (None when it failed); see `last_said`."""


class Roster(Struct, frozen=True):
    """Who plays, who waits, and what is known of them.

    Args:
        active: positions in the league of those who play.
        pool: free agents, next first.
        window: the last rewards of each who plays.
        trial: a player under the threshold and the free agent that is tried against it.
        duel: the rewards of these two on the tasks of the trial.
    """

    active: tuple[int, ...]
    pool: tuple[int, ...] = ()
    window: Mapping[int, tuple[float, ...]] = {}
    trial: tuple[int, int] | None = None
    duel: tuple[tuple[float, float], ...] = ()

    def after(self, rewards: Mapping[int, float], *, W: int, threshold: float, P: int) -> "Roster":
        """The roster after a task.

        Args:
            rewards: of those who play and the one on trial.
            W: tasks in the window; nobody is judged by fewer. threshold: of its mean.
            P: tasks of a trial.
        """
        window = {i: (*self.window.get(i, ()), rewards[i])[-W:] for i in self.active}
        now = msgspec.structs.replace(self, window=window)
        if self.trial:
            player, tried = self.trial
            now = msgspec.structs.replace(now, duel=(*self.duel, (rewards[player], rewards[tried])))
            return now if len(now.duel) < P else now._decided(player, tried)
        weak = [i for i in self.active if len(window[i]) == W and fmean(window[i]) < threshold]
        if not weak or not self.pool:
            return now
        worst = min(weak, key=lambda i: fmean(window[i]))
        return msgspec.structs.replace(now, trial=(worst, self.pool[0]), pool=self.pool[1:])

    def _decided(self, player: int, tried: int) -> "Roster":
        """The roster at the end of a trial: who did better plays, the other waits last in the pool."""
        old, young = (fmean(column) for column in zip(*self.duel, strict=True))
        stays, goes = (tried, player) if young > old else (player, tried)
        active = tuple(stays if i == player else i for i in self.active)
        window = {i: rewards for i, rewards in self.window.items() if i != player}
        return Roster(active, (*self.pool, goes), window)


class Match(NamedTuple):
    """A task played, and the roster after it."""

    run: Run
    roster: Roster


def rightness(run: Run, said: str | None) -> float:
    """1 for an agent that gave the target, else 0."""
    return float(said is not None and gives_target(run.tape.started.task, said))


async def season(
    team: Team[...],
    tasks: Sequence[Task],
    roster: Roster,
    *,
    W: int = 8,
    threshold: float = 0.5,
    P: int = 8,
    reward: Reward = rightness,
    **options: Any,
) -> list[Match]:
    """Play tasks one after another, and let the roster change.

    Args:
        team: `free_agents` with its league cast. roster: who begins.
        W, threshold, P: window, least mean reward and length of a trial; see `Roster.after`.
        options: of `Team.arun`, such as `store` and `seed`.

    Raises:
        BadInput: W or P is less than 1, or somebody is in the roster twice.
    """
    at_least(1, W=W, P=P)
    everyone = (*roster.active, *roster.pool, *(roster.trial or ())[1:])
    if len(set(everyone)) < len(everyone) or not roster.active:
        raise BadInput(f"roster={roster!r}: expected players, each once")
    played: list[Match] = []
    for task in tasks:
        trial = roster.trial[1:] if roster.trial else ()
        run = await team.configured(active=roster.active, trial=trial).arun(task, **options)
        rewards = {i: reward(run, last_said(run, f"agents_{i + 1}")) for i in (*roster.active, *trial)}
        roster = roster.after(rewards, W=W, threshold=threshold, P=P)
        played.append(Match(run, roster))
    return played
