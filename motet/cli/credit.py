"""`motet credit`: the arithmetic of a credit preset, for trajectories given as JSON."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from motet.cli.output import console, json_option, make_table, print_json

if TYPE_CHECKING:
    from msgspec import Struct

    from motet.credit import Batch, Credit, Preset
    from motet.credit.fields import Reads

FORM = (
    'expected {"trajectories": [{"group": …, "voice": …, "reward": r, "steps": [{"state": …, "reward": r_t, '
    '"value": v, "tokens": n}]}]}'
)


PASSED_ON = ("id", "advantage", "token_advantages")
"""Fields that nobody reads and that may stand there: a name, and what this command itself writes."""


class _WithFields(click.Command):
    """Help that ends with the fields, as the code has them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from motet.credit import PRESETS, Step, Trajectory
        from motet.credit.fields import meanings, reads

        for kind, whose in ((Trajectory, "a trajectory"), (Step, "a step")):
            with formatter.section(f"Fields of {whose}, all optional"):
                formatter.write_dl(list(meanings(kind).items()))
        with formatter.section("What each preset reads: of a trajectory; of its steps"):
            formatter.write_dl([(name, _told(preset, reads(preset))) for name, preset in PRESETS.items()])


@click.command(cls=_WithFields)
@click.argument("preset", required=False)
@click.argument("more", nargs=-1, metavar="[K=V]...")
@click.option("--set", "settings", multiple=True, metavar="K=V", help="Set an option of the preset.")
@click.option("--file", "path", default="-", metavar="FILE", help="Read this file and not stdin.")
@json_option
def command(
    preset: str | None, more: tuple[str, ...], settings: tuple[str, ...], path: str, as_json: bool
) -> int:
    """Print the advantage of every step, by a named preset. Without a name: what presets there are.

    Reads trajectories as JSON and prints them with an `advantage` in each step, null where a step must not be
    trained on (its reward is missing or NaN, it is masked, its group was dropped), and with `counts` of what
    happened on the way. Below: the fields, and who reads them.

    \b
    Example:
      echo '{"trajectories": [{"group": "q", "voice": "a", "reward": 1, "steps": [{"tokens": 3}]},
                              {"group": "q", "voice": "a", "reward": 0, "steps": [{"tokens": 5}]}]}' |
      motet credit gigpo --set omega=1 gamma=.95
    """
    if preset is None:
        _list(as_json)
        return 0
    print_json(assign(preset, [*settings, *more], _read(path)))
    return 0


def assign(preset: str, settings: Sequence[str], text: str | bytes) -> dict[str, Any]:
    """The document with its advantages.

    Raises:
        UnknownName: no such preset or option.
        BadInput: the text is not such a document, or the preset cannot work with it.
    """
    from motet.cli.words import pair
    from motet.credit import credit
    from motet.credit import preset as find

    chosen = find(preset)
    options = chosen.read(dict(pair("set", given, "OPTION=VALUE") for given in settings), preset)
    document, batch = parse(text)
    chosen.check(batch.trajectories, preset)
    found = credit(batch.trajectories, preset, state=batch.state, **options)
    return {
        "preset": preset,
        "options": options,
        "reduction": chosen.reduction,
        "trajectories": [_with(*row) for row in _rows(document, found)],
        "counts": found.counts,
        **({"state": found.state} if found.state else {}),
    }


def parse(text: str | bytes) -> "tuple[dict[str, Any], Batch]":
    """The document as it came and as trajectories. `NaN` is read as Python writes it.

    Raises:
        BadInput: it is no JSON, or not of the form. UnknownName: a field that no preset knows.
    """
    import msgspec

    from motet.credit import Batch, Step, Trajectory
    from motet.errors import BadInput

    try:
        document = json.loads(text)
        batch = msgspec.convert(document, Batch)
    except (ValueError, RecursionError) as error:  # broken JSON; JSON of another form is a ValueError too
        arrived = text if isinstance(text, str) else text.decode(errors="replace")
        raise BadInput(f"{arrived[:80]!r} are no trajectories ({error}); {FORM}") from error
    for row in document["trajectories"]:
        _known(row, Trajectory)
        for step in row.get("steps", ()):
            _known(step, Step)
    return document, batch


def _known(given: dict[str, Any], kind: "type[Struct]") -> None:
    from motet.errors import UnknownName

    for name in given:
        if name not in (*kind.__struct_fields__, *PASSED_ON):
            raise UnknownName(f"field of a credit {kind.__name__.lower()}", name, kind.__struct_fields__)


def _read(path: str) -> str:
    from motet.errors import BadInput

    try:
        with click.open_file(path, encoding="utf-8") as source:
            return str(source.read())
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--file is {path!r}: {error}; expected a file of JSON that can be read") from error


def _rows(document: dict[str, Any], found: "Credit") -> "list[tuple[dict[str, Any], Any, Any]]":
    fine = found.tokens or [None] * len(found.advantages)
    return list(zip(document["trajectories"], found.advantages, fine, strict=True))


def _with(trajectory: dict[str, Any], row: Sequence[float | None], fine: Any) -> dict[str, Any]:
    steps = [{**step, "advantage": x} for step, x in zip(trajectory.get("steps", ()), row, strict=True)]
    for step, tokens in zip(steps, fine or (), strict=False):
        step["token_advantages"] = tokens
    return {**trajectory, "steps": steps}


def _told(preset: "Preset", found: "Reads") -> str:
    """What a preset reads, in words."""
    mine = " ".join(name for name in found.trajectory if name != "steps")
    needs = ", and ".join(need.replace("|", " or ") for need in preset.needs)
    return f"{mine}; {' '.join(found.step) or 'nothing'}" + f". Needs {needs}." * bool(needs)


def _list(as_json: bool) -> None:
    from motet.credit import PRESETS
    from motet.credit.fields import reads

    if as_json:
        print_json(
            [
                {
                    "name": name,
                    "paper": preset.paper,
                    "system": preset.system,
                    "formula": preset.formula,
                    "reduction": preset.reduction,
                    "options": preset.options,
                    "needs": preset.needs,
                    "reads": reads(preset),
                }
                for name, preset in PRESETS.items()
            ]
        )
        return
    rows = [
        (name, str(p.system or ""), p.paper, " ".join(f"{k}={v}" for k, v in p.options.items()))
        for name, p in PRESETS.items()
    ]
    console().print(make_table(("preset", "no.", "paper", "options"), rows, right=(1,)))
