"""Solutions that grow step by step: how a step is asked for, and how one knows that there is no more to come.

A step says that it is not the last one. What says nothing ends the solution, so that a voice that knows no
steps simply answers.
"""

from collections.abc import Sequence

from motet.types import Linked, Reply

MORE = (
    "Take the next step only. If more steps are needed after it, end with the line 'To be continued.'; "
    "if not, conclude."
)
LAST = "Take all the steps that are left now, and conclude."
_OPEN = "to be continued"


def concluded(reply: Reply) -> bool:
    """Whether this step ends its solution."""
    return not reply.text.casefold().rstrip(" \n.*_`'\"").endswith(_OPEN)


def path_text(steps: Sequence[Reply]) -> Linked:
    """The steps of a solution as one text."""
    return Linked("\n\n".join(step.text for step in steps), tuple(steps))
