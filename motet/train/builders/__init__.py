"""Builders of tuning data, one a file. Each reads tapes and gives `Built`; what is left out keeps its reason.

Where a method needs runs of its own, `COLLECTORS` has the team that plays them. `LOOPS` do both.
"""

from collections.abc import Callable
from typing import Any

from motet.teams import Team
from motet.train.builders.agent_r import agent_r
from motet.train.builders.agent_r_search import agent_r_search
from motet.train.builders.agent_refine import agent_refine, synthesise
from motet.train.builders.agent_tuning import agent_tuning
from motet.train.builders.critique import critique, multi_critique
from motet.train.builders.data import Built, Example, Label, Pair, Rejected, Span
from motet.train.builders.distill import distill
from motet.train.builders.early_experience import early_experience, early_experience_rollout
from motet.train.builders.malt import malt, malt_tree
from motet.train.builders.masking import partial_masking, reflected_play
from motet.train.builders.optima import optima
from motet.train.builders.rerest import rerest, rerest_rollout
from motet.train.builders.rise import rise, rise_rollout
from motet.train.builders.roles import roles
from motet.train.builders.socratic import socratic, socratic_round
from motet.train.builders.sql_selection import sql_selection
from motet.train.builders.structured import structured
from motet.train.builders.training_free import training_free

__all__ = ["BUILDERS", "COLLECTORS", "LOOPS", "Built", "Example", "Label", "Pair", "Rejected", "Span"]

BUILDERS: dict[str, Callable[..., Built]] = {
    "agent_r": agent_r,
    "agent_refine": agent_refine,
    "agent_tuning": agent_tuning,
    "critique": critique,
    "distill": distill,
    "early_experience": early_experience,
    "malt": malt,
    "optima": optima,
    "partial_masking": partial_masking,
    "rerest": rerest,
    "rise": rise,
    "roles": roles,
    "socratic": socratic,
    "sql_selection": sql_selection,
    "structured": structured,
}
"""Each takes tapes first."""

COLLECTORS: dict[str, Team[...]] = {
    "agent_r": agent_r_search,
    "agent_refine": synthesise,
    "critique": multi_critique,
    "early_experience": early_experience_rollout,
    "malt": malt_tree,
    "partial_masking": reflected_play,
    "rerest": rerest_rollout,
    "rise": rise_rollout,
    "socratic": socratic_round,
}
"""The team whose runs a builder reads; the others read runs of any team."""

LOOPS: dict[str, Callable[..., Any]] = {"training_free": training_free}
"""Async functions of a team and tasks."""
