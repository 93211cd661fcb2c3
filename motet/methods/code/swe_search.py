"""SWE-Search: the repair of a repository as a tree search over edits.

Paper: Antoniades et al. 2024, arXiv:2410.20285 (catalogue 321).
Idea: an agent looks, searches and edits, one move at a time. After each move a value agent judges the state
by a number and an explanation. The next move is made from the state of highest UCT, with a bonus for early
and a penalty for late depth (`motet.methods.code.attempts`); whoever goes on from a state is shown what else
was tried there and on the way there, and what was said of it. Among the different patches that were finished,
discriminators debate, and a judge decides.
Calls: at most 2 * iterations + n * R + 1: a move and its value in each iteration, then R rounds of n
discriminators, and the judge.
Deviates: the tests run by themselves after an edit and at the end; those that are there cannot be edited. A
move is read from the reply's words, and one that holds none finishes. The repository is
`task.meta["repository"]`, a folder or a mapping of path to text; its states are kept in memory, not as git
worktrees. Without one, what the agent says when it finishes is the answer. The value in UCT is the state's
own, not the mean of what followed: by the mean, bad edits make the search leave a good state. The defaults
are ours, for few moves: a large alpha needs many. Undoing is free here, and a move elsewhere is not: the
search gains on a line (w=1) where a wrong edit must be taken back, and loses to it where the value agent
cannot tell a step forward from none.
Failure: when no move is made, the run fails; one that fails is spent. Without a verdict a state has value 0;
without discriminators or judge, the finish of highest value is the answer; when none finished, the patch of
highest value. A run without any patch fails.
"""

from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.code.attempts import EditTree, State, next_state
from motet.methods.code.discriminate import decide, solutions
from motet.methods.code.moves import HOW, Move, Seen, make_move, read_move
from motet.methods.code.workspace import Workspace
from motet.methods.common import at_least, seats
from motet.teams import Voices, team
from motet.tools.sandbox import Limits
from motet.tools.sandbox import sandbox as open_sandbox
from motet.types import Linked, Task, fill

MOVE = "{task}\n\n{files}{steps}{tried}{how}"
FILES = "Files: {files}\n\n"
STEPS = "What you did so far:\n\n{steps}\n\n"
HINDSIGHT = "What else was tried from here or on the way here, with its judgement; do better:\n\n{tried}\n\n"
VALUE = """\
The task:
{task}

What an agent did so far:

{steps}

Judge the last move and where it leads. Give the reasons as `explanation`, and as `value` how near this is to
a right solution, from -100 to 100."""


class Value(Struct):
    """What the value agent says of a state."""

    explanation: str
    value: Annotated[int, Meta(ge=-100, le=100)]


@team
async def swe_search(  # noqa: PLR0913 (four voices are the method)
    task: Task,
    programmer: Voice,
    valuer: Voice,
    discriminators: Voices,
    judge: Voice,
    *,
    iterations: int = 8,
    tree: EditTree = EditTree(),
    n: int = 2,
    R: int = 1,
    sandbox: str = "bubblewrap",
    seconds: float = 10.0,
) -> Linked:
    """Search edits in a tree of `iterations` moves; the answer is the patch that wins a debate.

    `tree` says how wide and deep the search goes, and what UCT weighs: see `EditTree`.
    """
    at_least(1, iterations=iterations)
    at_least(0, R=R)
    start, crowd = Workspace.of(task.meta.get("repository", {})), seats(discriminators, n)
    box = open_sandbox(sandbox) if start.files else None
    limits = Limits.of(seconds)
    states = [State(start)]
    lost: ModelError | None = None
    for _ in range(iterations):
        if not (state := next_state(states, tree)):
            break
        try:
            said = await programmer.ask(_prompt(task, state))
        except ModelError as error:
            lost = error
            continue
        move = read_move(said.text) if box else Move("FINISH")
        seen = await make_move(move, state.repository, box, limits) if box else Seen(start, "")
        states.append(state.grown(seen.repository, said, seen.told, move.kind == "FINISH"))
        await _value(valuer, task, states[-1])
        states[-1].back_up()
    if lost and len(states) == 1:
        raise lost
    return await decide(crowd, judge, task, solutions(states), R)


def _prompt(task: Task, state: State) -> Linked:
    files = fill(FILES, files=", ".join(state.repository.files)) if state.repository.files else ""
    steps = fill(STEPS, steps=state.steps) if state.said else ""
    others = state.hindsight
    tried = fill(HINDSIGHT, tried=others) if others else ""
    how = HOW if state.repository.files else instruction(task)
    return fill(MOVE, task=task, files=files, steps=steps, tried=tried, how=how)


async def _value(valuer: Voice, task: Task, state: State) -> None:
    """Give a state its value and the explanation; none when the value agent fails."""
    try:
        verdict = await valuer.ask(fill(VALUE, task=task, steps=state.steps), schema=Value)
    except ModelError:
        return
    state.value, state.explanation = verdict.data.value, Linked(verdict.data.explanation, (verdict,))
