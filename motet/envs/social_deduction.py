"""Social deduction with talk and votes (catalogue 328; the party game Werewolf, or Mafia).

Among the players are a wolf and a seer; nobody knows another's role. By night the wolf names a victim and
the seer learns whether one player is the wolf, both at once. By day all speak in turn, then vote at once;
who has most votes leaves (nobody when votes tie). The village wins when the wolf leaves, the wolf when no
more than one other is left. Reward: 1 to each player of the side that wins, dead or alive, -1 to the others.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from motet.envs.actions import free
from motet.errors import BadInput

LONGEST = 300
BRIEF = """Werewolf with {n} players: {names}.
One is the wolf, one the seer, the others villagers; each knows only the own role. By night the wolf kills one
and the seer sees whether one is the wolf. By day everybody alive says one thing, {talks} time(s) round, then
all vote at once on who must leave. The village wins when the wolf is voted out; the wolf wins when at most
one other is left.
You are {seat}. When you are asked for a name, answer as in "Action: {other}"."""


class Village(Struct, frozen=True):
    """Who is what, who lives, and all that happened as (who may know, text); empty means everybody."""

    wolf: str
    seer: str
    alive: tuple[str, ...]
    phase: str = "night"
    spoken: int = 0
    log: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SocialDeduction:
    """Rules of the village.

    Args:
        players: 4 to 12.
        talks: how often everybody speaks before a vote.
    """

    players: int = 5
    talks: int = 1
    stake: ClassVar[float] = 1.0
    zero_sum: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 4 <= self.players <= 12 or self.talks < 0:
            raise BadInput(f"{self!r}: expected 4 to 12 players and 0 talks or more")

    @property
    def seats(self) -> tuple[str, ...]:
        return tuple(f"player_{i}" for i in range(1, self.players + 1))

    def start(self, rng: Random) -> Village:
        wolf, seer = rng.sample(self.seats, 2)
        return Village(wolf, seer, self.seats)

    def brief(self, seat: str) -> str:
        other = next(s for s in self.seats if s != seat)
        return BRIEF.format(
            n=self.players, names=", ".join(self.seats), talks=self.talks, seat=seat, other=other
        )

    def acting(self, state: Village) -> tuple[str, ...]:
        if state.wolf not in state.alive or len(state.alive) <= 2:
            return ()
        if state.phase == "night":
            return tuple(seat for seat in state.alive if seat in (state.wolf, state.seer))
        if state.phase == "talk":
            return (state.alive[state.spoken % len(state.alive)],)
        return state.alive

    def legal(self, state: Village, seat: str) -> tuple[str, ...] | None:
        return None if state.phase == "talk" else tuple(other for other in state.alive if other != seat)

    def read(self, state: Village, seat: str, text: str) -> str | None:
        """What is said, in one line."""
        return " ".join((free(text) or "").split())[:LONGEST] or None

    def sample(self, state: Village, seat: str, rng: Random) -> str:
        return f"I think it is {rng.choice([other for other in state.alive if other != seat])}."

    def text(self, state: Village, seat: str) -> str:
        role = {state.wolf: "the wolf", state.seer: "the seer"}.get(seat, "a villager")
        known = "\n".join(text for who, text in state.log if who in ("", seat))
        wanted = {
            "night": "Night. Name a player.",
            "talk": "Day. Say something.",
            "vote": "Vote. Name a player.",
        }
        alive = ", ".join(state.alive)
        known = known or "Nothing has happened yet."
        return f"You are {role}. Alive: {alive}.\n{known}\n{wanted[state.phase]}"

    def step(self, state: Village, actions: Mapping[str, str]) -> tuple[Village, dict[str, float]]:
        if state.phase == "night":
            after = self._night(state, actions)
        elif state.phase == "talk":
            after = self._talk(state, actions)
        else:
            after = self._vote(state, actions)
        if self.acting(after):
            return after, {}
        lost = after.wolf not in after.alive
        return after, {seat: 1.0 if (seat == after.wolf) != lost else -1.0 for seat in self.seats}

    def _night(self, state: Village, actions: Mapping[str, str]) -> Village:
        log = state.log
        if seen := actions.get(state.seer):
            log = (
                *log,
                (state.seer, f"You saw that {seen} is {'' if seen == state.wolf else 'not '}the wolf."),
            )
        victim = actions[state.wolf]
        alive = tuple(seat for seat in state.alive if seat != victim)
        log = (*log, ("", f"In the night {victim} was killed."))
        return replace(state, alive=alive, log=log, phase="talk" if self.talks else "vote", spoken=0)

    def _talk(self, state: Village, actions: Mapping[str, str]) -> Village:
        ((seat, text),) = actions.items()
        spoken = state.spoken + 1
        log = (*state.log, ("", f"{seat}: {self.read(state, seat, text)}"))
        over = spoken >= self.talks * len(state.alive)
        return replace(state, log=log, spoken=spoken, phase="vote" if over else "talk")

    def _vote(self, state: Village, actions: Mapping[str, str]) -> Village:
        votes = Counter(actions.values()).most_common(2)
        tied = len(votes) > 1 and votes[0][1] == votes[1][1]
        told = "; ".join(f"{seat} for {name}" for seat, name in actions.items())
        out = "" if tied else votes[0][0]
        log = (*state.log, ("", f"Votes: {told}. {out or 'Nobody'} leaves."))
        return replace(state, alive=tuple(s for s in state.alive if s != out), log=log, phase="night")
