"""Builders of tuning data, one a file. Each reads tapes and gives `Built`; what is left out keeps its reason.

Where a method needs runs of its own, `COLLECTORS` has the team that plays them.
"""

from collections.abc import Callable

from motet.teams import Team
from motet.train.builders.agent_tuning import agent_tuning
from motet.train.builders.critique import critique, multi_critique
from motet.train.builders.data import Built, Example, Label, Pair, Rejected, Span
from motet.train.builders.distill import distill
from motet.train.builders.malt import malt, malt_tree
from motet.train.builders.optima import optima
from motet.train.builders.rerest import rerest, rerest_rollout
from motet.train.builders.rise import rise, rise_rollout
from motet.train.builders.roles import roles
from motet.train.builders.structured import structured

__all__ = ["BUILDERS", "COLLECTORS", "Built", "Example", "Label", "Pair", "Rejected", "Span"]

BUILDERS: dict[str, Callable[..., Built]] = {
    "agent_tuning": agent_tuning,
    "critique": critique,
    "distill": distill,
    "malt": malt,
    "optima": optima,
    "rerest": rerest,
    "rise": rise,
    "roles": roles,
    "structured": structured,
}
"""Each takes tapes first."""

COLLECTORS: dict[str, Team[...]] = {
    "critique": multi_critique,
    "malt": malt_tree,
    "rerest": rerest_rollout,
    "rise": rise_rollout,
}
"""The team whose runs a builder reads; the others read runs of any team."""
