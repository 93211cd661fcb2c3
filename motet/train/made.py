"""An engine for a team as it is cast: each voice that is trained gets an adapter, or weights, of its own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from motet.agent import Agent
from motet.errors import BadInput, UnknownName
from motet.models.trainable.adapters import Lora
from motet.models.weights import DEFAULT, WHEELS
from motet.teams import Team
from motet.train.engine import Engine

if TYPE_CHECKING:
    from motet.models.trainable.weights import Base

SHAPES: dict[str, Lora | None] = {"lora": Lora(), "full": None}
"""What a voice can be trained as, when no engine is given."""


def engine_for(team: Any, policies: Mapping[str, str]) -> tuple[Engine, dict[str, str]]:
    """Make an engine on the weights that the voices are cast with.

    Args:
        policies: `lora` or `full` for each voice that is trained; for `*`, all voices share one policy.

    Returns:
        The engine, and the policy of each voice.

    Raises:
        BadInput: it is no team, a voice is sung by what has no weights here, or by weights other than the
            next voice's.
    """
    if not isinstance(team, Team):
        raise BadInput(f"give `engine`: without one, what is trained has to be a team, and this is {team!r}")
    bases = {voice: base_of(team, voice) for voice in (team.voices if "*" in policies else policies)}
    if len(set(bases.values())) != 1:
        told = ", ".join(f"{voice} by {base!r}" for voice, base in bases.items())
        raise BadInput(
            f"the voices are sung by different weights ({told}); train them in turn, one base each"
        )
    return engine_on(next(iter(bases.values())), policies)


def engine_on(base: "str | Base", policies: Mapping[str, str]) -> tuple[Engine, dict[str, str]]:
    """Make an engine on these weights (a name: as after `torch:`), with the policies that `engine_for` makes.

    Raises:
        UnknownName: a voice is to be trained neither as `lora` nor as `full`. BadInput: no such weights.
    """
    from motet.train.network import torch_engine

    for shape in policies.values():
        if shape not in SHAPES:
            raise UnknownName("way to train a voice without an engine", shape, SHAPES)
    names = {voice: "everybody" if voice == "*" else voice for voice in policies}
    return torch_engine(base, {names[voice]: SHAPES[shape] for voice, shape in policies.items()}), names


def base_of(team: Team[...], voice: str) -> str:
    """The weights that sing a voice, as they are called after `torch:`.

    Raises:
        BadInput: none that can be trained here. UnknownName: no such voice.
    """
    if voice not in team.voices:
        raise UnknownName(f"voice of {team.name}", voice, team.voices)
    models = {getattr(m.model, "name", "") for m in team.parts.get(voice, ()) if isinstance(m, Agent)}
    return weights_of(models.pop() if len(models) == 1 else "", voice, team.name)


def weights_of(model: str, voice: str, of: str) -> str:
    """The weights of the model that sings a voice of a team or world, as they are called after `torch:`.

    Raises:
        BadInput: they cannot be trained here.
    """
    family, _, weights = model.partition(":")
    if family == "torch":
        return weights.partition("#")[0]
    if family == "local" and (weights or DEFAULT) in WHEELS:
        return weights or DEFAULT
    raise BadInput(
        f"{voice} of {of} is sung by {model or 'nobody, or by several'}, whose weights cannot be trained "
        f"here; cast {voice}='torch:…' or 'local', or give `engine`"
    )
