"""AgentRefine: synthetic worlds in which a player errs, is told so, and refines its action.

Paper: Fu et al. 2025, arXiv:2501.01702 (catalogue 110).
Idea: for a persona, a strong model writes a world with its actions, and a play in it: now and then the player
takes an action that is wrong or not there, the world says so, the player mends it. A checker verifies the
play and sends it back with what is wrong with it. The student is tuned on the player's turns, without a loss
on the wrong ones.
Calls: t a persona, t ≤ tries (each of them once more when it does not fit its schema).
Deviates: world and play are one JSON document; the checker knows the list of actions and the order of turns,
but does not simulate the world.
Failure: when no try passes, the run ends with what the checker said last, and its play is rejected.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from motet.agent import Voice
from motet.errors import BadInput, NoAnswer
from motet.tape import Tape
from motet.teams import team
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, agent_of, data_of, of_team, of_voice
from motet.types import Message, Reply, Task, fill

WRITE = """Persona: {task}

Invent a small text world that suits this persona. Give its `rules`, the `actions` that can be taken there
(each one verb, such as "open"), and a `play`: turns by the `world`, which begins, and the `player` in turn.
A turn of the player has a `thought` and an `action` that begins with one of the verbs. In at least {errors}
turns the player makes a mistake (`wrong` is true): the action is not among the verbs, or does not do what it
should. The world says so, and the player then mends it in a turn that is not wrong. The play ends with
success."""
AGAIN = "The play does not hold: {fault}\nWrite it all again."


class Turn(Struct):
    """One turn. `thought`, `action` and `wrong` are the player's, `text` is the world's."""

    by: Literal["world", "player"]
    text: str = ""
    thought: str = ""
    action: str = ""
    wrong: bool = False


class Script(Struct):
    """A world and a play in it."""

    rules: str
    actions: list[str]
    play: list[Turn]


@team
async def synthesise(task: Task, writer: Voice, *, tries: int = 3, errors: int = 1) -> Reply:
    """A script for the persona in the task that passes the checker."""
    if tries < 1 or errors < 1:
        raise BadInput(f"tries is {tries!r} and errors is {errors!r}; expected 1 or more of each")
    chat = agent_of(writer).chat()
    reply = await chat.ask(fill(WRITE, task=task, errors=errors), schema=Script)
    for _ in range(tries - 1):
        fault = fault_of(reply.data, errors)
        if not fault:
            break
        reply = await chat.ask(fill(AGAIN, fault=fault), schema=Script)
    if fault := fault_of(reply.data, errors):
        raise NoAnswer(f"no play held in {tries} tries: {fault}")
    return reply


def fault_of(script: Script, errors: int = 1) -> str:
    """What is wrong with a play; empty when it holds."""
    turns, verbs = script.play, {action.casefold() for action in script.actions}
    if any(turn.by != ("player" if i % 2 else "world") for i, turn in enumerate(turns)):
        return "world and player do not take turns, the world first"
    player = turns[1::2]
    if len(turns) % 2 or not player or player[-1].wrong:
        return "it does not end with a right turn of the player"
    if sum(turn.wrong for turn in player) < errors:
        return f"there are fewer than {errors} mistakes"
    for number, turn in enumerate(player):
        first = turn.action.casefold().partition(" ")[0]
        if not turn.wrong and first not in verbs:
            return f"turn {number + 1} of the player is not marked wrong, but {first!r} is no action here"
        before = player[number - 1] if number else None
        if before and before.wrong and turn.action.casefold() == before.action.casefold():
            return f"turn {number + 1} of the player repeats the mistake before it"
    return ""


def agent_refine(tapes: Sequence[Tape], *, errors: int = 1) -> Built:
    """One conversation a script, with a loss on the player's right turns alone.

    Args:
        tapes: runs of `synthesise`.

    Raises:
        BadInput: a run is of another team.
    """
    made = Maker()
    for tape in of_team(tapes, synthesise.name):
        for call in of_voice(tape, "writer"):
            script = data_of(tape, call, Script)
            fault = "it does not fit its schema" if script is None else fault_of(script, errors)
            if script is None or fault:
                made.reject(fault, tape, call)
                continue
            example = played(script, tape.run)
            made.counts["wrong turns"] += sum(turn.wrong for turn in script.play)
            made.sft.append(example)
    return made.built()


def played(script: Script, run: str) -> Example:
    """A script as a conversation of the player with the world; wrong turns are context."""
    actions = ", ".join(script.actions)
    messages = [Message.say("system", f"{script.rules}\nActions: {actions}")]
    trained = [False]
    for turn in script.play:
        if turn.by == "world":
            messages.append(Message.say("user", turn.text))
        else:
            messages.append(Message.say("assistant", f"Thought: {turn.thought}\nAction: {turn.action}"))
        trained.append(turn.by == "player" and not turn.wrong)
    return Example(tuple(messages), tuple(trained), voice="player", runs=(run,))
