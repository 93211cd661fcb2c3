"""What `motet train` trains when it is given no recipe: a team on a suite, or the seats of a world."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace as but
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from motet.agent import Agent
from motet.cli.words import cast, configure, find_team, pair, value_of
from motet.envs.registry import ENVS
from motet.errors import BadInput, UnknownName
from motet.evals.suite import Suite, load_suite
from motet.train.plan import Plan
from motet.types import Sampling

if TYPE_CHECKING:
    from motet.teams import Team
    from motet.train.loop import Trained

MODEL = "torch:smollm2-135m"
UNSEEN = 1_000_000
"""Seed of the first start of a world that is held out."""


class Cast(Struct, frozen=True):
    """Who is trained on what.

    Args:
        policies: `lora` or `full` by voice; empty trains an adapter for each voice whose weights are here.
        held_out: tasks or starts that are never trained on, and measured on.
        knobs: `NAME.KNOB=VALUE` of the team, or options of the world.
    """

    model: str
    suite: str | None
    voices: Sequence[str]
    policies: Mapping[str, str]
    held_out: int
    max_tokens: int
    knobs: Sequence[str]

    @property
    def sampling(self) -> Sampling:
        """Of the voices that are trained: the model's plain distribution, which is what credit is due to."""
        return Sampling(temperature=1.0, max_tokens=self.max_tokens)

    def of(self, name: str) -> list[str]:
        """The knobs of the team or world of this name, as `KNOB=VALUE`.

        Raises:
            UnknownName: one is of another, or of nothing in the plan.
        """
        for knob in self.knobs:
            if (owner := knob.partition(".")[0]) != name:
                raise UnknownName("setting of a training run", owner, [*Plan.__struct_fields__, name])
        return [knob.removeprefix(f"{name}.") for knob in self.knobs]


def trainer(name: str, given: Cast) -> "Callable[..., Trained]":
    """What trains a world or a team of this name, called with `out`, `resume` and the plan.

    Raises:
        BadInput: a world with a suite, a team without one, or voices that cannot be trained. UnknownName.
    """
    if name in ENVS:
        return _on_world(name, given)
    return _on_suite(find_team(name), given)


def _on_world(name: str, given: Cast) -> "Callable[..., Trained]":
    from motet.train.loop import train
    from motet.train.made import engine_on, weights_of
    from motet.train.source import Episodes

    if given.suite:
        raise BadInput(f"{name} is a world, which has its own rewards: leave --suite out")
    others = dict(pair("voice", each, "SEAT=WHO") for each in given.voices)
    options = {k: value_of(v) for k, v in (pair("set", each, "OPTION=VALUE") for each in given.of(name))}
    source = Episodes(name, options, others, sampling=given.sampling)
    seats = source.voices
    if not seats:
        raise BadInput(f"every seat of {name} is given to somebody by --voice; leave one to be trained")
    engine, policies = engine_on(
        weights_of(given.model, seats[0], name), given.policies or dict.fromkeys(seats, "lora")
    )

    def run(**plan: Any) -> "Trained":
        test = but(source, first=UNSEEN) if given.held_out else None
        tests = given.held_out or 1
        return train(source, engine=engine, policies=policies, evaluate=test, **{"tests": tests, **plan})

    return run


def _on_suite(team: "Team[...]", given: Cast) -> "Callable[..., Trained]":
    from motet.train.loop import train

    if not given.suite:
        raise BadInput(f"{team.name} is a team: say what it is trained on with --suite (`motet suites`)")
    team = cast(configure(team, given.of(team.name)), given.model, given.voices)
    policies = given.policies or dict.fromkeys(_trainable(team), "lora")
    shared = team.voices if "*" in policies else policies
    team = team.cast(
        **{voice: _plainly(team, voice, given.sampling) for voice in shared if voice in team.parts}
    )
    suite, held = _divided(load_suite(given.suite), given.held_out)

    def run(**plan: Any) -> "Trained":
        tests = given.held_out or 1
        return train(team, suite, policies=policies, evaluate=held, **{"tests": tests, **plan})

    return run


def _trainable(team: "Team[...]") -> list[str]:
    from motet.train.made import base_of

    found = []
    for voice in team.voices:
        with suppress(BadInput):
            base_of(team, voice)
            found.append(voice)
    return found or [next(iter(team.voices))]


def _plainly(team: "Team[...]", voice: str, sampling: Sampling) -> Any:
    members = [but(m, sampling=sampling) if isinstance(m, Agent) else m for m in team.parts[voice]]
    return members if team.voices[voice] else members[0]


def _divided(suite: Suite, held_out: int) -> tuple[Suite, Suite | None]:
    """What is learned from, and the last tasks, which are not."""
    if not held_out:
        return suite, None
    if held_out >= len(suite):
        raise BadInput(
            f"--held-out is {held_out}, and {suite.name} has {len(suite)} tasks; leave some to learn from"
        )
    return but(suite, tasks=suite.tasks[:-held_out]), but(suite, tasks=suite.tasks[-held_out:])
