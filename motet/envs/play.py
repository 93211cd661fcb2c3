"""Playing an episode as a team: each seat a voice, each move a call, each step of the world on the tape."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from motet.agent import Agent, Voice
from motet.concurrency import all_of
from motet.envs.players import PLAYERS, TURN, Turn
from motet.envs.protocol import Action, Env, Observation, Seat, Solved, Step
from motet.envs.registry import make
from motet.errors import BadInput, ModelError, UnknownName
from motet.models.protocol import Model
from motet.run import Run
from motet.tape import RECORDER, Scored, Stepped
from motet.teams import Team, Voices, team
from motet.types import Linked, Media, Reply, Task

CLOSING = "Your turn. Answer with exactly one of these lines and nothing else:\n{}"
FEW = 12
MARK = "return"
"""The scorer that marks of moves are signed with."""


@team
async def play(
    task: Task,
    players: Voices,
    *,
    env: str = "tic_tac_toe",
    seed: int = 0,
    options: dict[str, Any] | None = None,
    turns: int = 0,
) -> Linked:
    """Play one episode of an environment; the players take its seats in order.

    A player is asked with the rules and what its seat sees; it needs no memory. A voice that fails has made
    no move that could be read, which the environment treats as it treats any illegal action. After so many
    `turns` the episode is cut short; 0 plays it to its end.

    Returns:
        The returns of all seats as JSON, from the last reply of every seat.
    """
    episode = make(env, seed, **(options or {}))
    try:
        seats = dict(zip(episode.seats, _named(players, episode.seats), strict=True))
        last: dict[Seat, Reply] = {}
        number = 0
        while (acting := episode.acting()) and (not turns or number < turns):
            seen = {seat: episode.observe(seat) for seat in acting}
            moves = [_move(seats[seat], Turn(episode, seat, number), seen[seat]) for seat in acting]
            replies = dict(zip(acting, await all_of(moves), strict=True))
            actions = {seat: _action(episode, seat, reply) for seat, reply in replies.items()}
            said = {seat: reply for seat, reply in replies.items() if reply}
            before = episode.state_hash()
            _record(before, seen, actions, said, episode.step(actions))
            last |= said
            number += 1
        return Linked(msgspec.json.encode(episode.returns()).decode(), tuple(last.values()))
    finally:
        episode.close()


def seat_players(env: str, voices: Mapping[Seat, Model | Agent | str], **options: Any) -> Team[...]:
    """The team that plays `env`, one player a seat; seats that are not named are played by the perfect player
    where there is one, else at random.

    Args:
        env: name of the environment.
        voices: who plays a seat: `random`, `perfect`, `person`, any model's name, a model or an agent.
        options: of the environment.

    Raises:
        UnknownName: no such environment, option, seat or model.
    """
    episode = make(env, 0, **options)
    try:
        for seat in voices:
            if seat not in episode.seats:
                raise UnknownName(f"seat of {env}", seat, episode.seats)
        other = "perfect" if _has_perfect(episode) else "random"
        chosen = [voices.get(seat, other) for seat in episode.seats]
    finally:
        episode.close()
    players = [PLAYERS.get(who, who) if isinstance(who, str) else who for who in chosen]
    return play.cast(players=players).configured(env=env, options=options or None)


def returns_of(run: Run) -> dict[Seat, float]:
    """What each seat got in a run of `play`.

    Raises:
        RunFailed: the episode was not played to its end.
    """
    return msgspec.json.decode(run.answer, type=dict[str, float])


def marks_of(run: Run, at: float) -> list[Scored]:
    """A mark in [0, 1] for each move of a finished run of `play`, as exports for trainers read them.

    A move has the return of its seat where all returns lie in [0, 1]. Where one can lose (zero-sum worlds,
    returns below 0) it has 1 for a gain, 0.5 for nothing, 0 for a loss. A move that was refused has 0.
    Returns on any other scale (points, lengths) say by themselves neither good nor bad: no marks.

    Args:
        at: when they are given, in seconds since 1970.

    Raises:
        RunFailed: the episode was not played to its end.
    """
    returns, knobs = returns_of(run), run.tape.knobs
    if min(returns.values()) < 0 or _zero_sum(knobs["env"], knobs["options"] or {}):
        marks = {seat: (1 + (value > 0) - (value < 0)) / 2 for seat, value in returns.items()}
    elif max(returns.values()) <= 1:
        marks = returns
    else:
        return []
    return [
        Scored(MARK, 0.0 if seat in step.invalid else marks[seat], at, call, f"return {returns[seat]:g}")
        for step in run.tape.steps
        for seat, call in step.calls.items()
    ]


def _zero_sum(env: str, options: Mapping[str, Any]) -> bool:
    episode = make(env, 0, **options)
    try:
        return bool(getattr(getattr(episode, "rules", None), "zero_sum", False))
    finally:
        episode.close()


def _named(players: Voices, seats: tuple[Seat, ...]) -> Sequence[Voice]:
    if len(players) != len(seats):
        raise BadInput(
            f"{len(players)} players for {len(seats)} seats ({', '.join(seats)}); cast one for each"
        )
    return [replace(player, name=seat) for player, seat in zip(players, seats, strict=True)]  # type: ignore[type-var]


async def _move(voice: Voice, turn: Turn, seen: Observation) -> Reply | None:
    token = TURN.set(turn)
    try:
        return await voice.ask(*question(turn.env.brief(turn.seat), seen))
    except ModelError:
        return None  # the call is on the tape with its failure
    finally:
        TURN.reset(token)


def question(brief: str, seen: Observation) -> tuple[str | Media, ...]:
    """What a player is asked: the rules, what its seat sees, and the legal actions once more."""
    return (brief, seen.text, *seen.media, *_closing(seen.legal))


def _closing(legal: tuple[Action, ...] | None) -> tuple[str, ...]:
    """A last line with the legal actions, when they are few: small models forget the format by then."""
    return (CLOSING.format("\n".join(f"Action: {a}" for a in legal)),) if legal and len(legal) <= FEW else ()


def _action(episode: Env, seat: Seat, reply: Reply | None) -> Action | None:
    """A player that is no language model hands its action over as it is, in `data`."""
    if reply is None:
        return None
    return episode.read_action(seat, reply.text) if reply.data is None else reply.data


def _record(
    state: str,
    seen: Mapping[Seat, Observation],
    actions: Mapping[Seat, Action | None],
    said: Mapping[Seat, Reply],
    step: Step,
) -> None:
    recorder = RECORDER.get()
    if recorder is None:
        return
    recorder.record(
        Stepped(
            state=state,
            actions={seat: None if action is None else str(action) for seat, action in actions.items()},
            observations={seat: observation.digest for seat, observation in seen.items()},
            rewards=step.rewards,
            at=recorder.clock(),
            calls={seat: reply.call for seat, reply in said.items()},
            invalid=step.invalid,
            done=step.done,
        )
    )


def _has_perfect(episode: Env) -> bool:
    from random import Random

    acting = episode.acting()
    return isinstance(episode, Solved) and episode.perfect(acting[0], Random(0)) is not None
