"""`motet train`: a training run by its name or from a file."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.cli.output import console, json_option, make_table, note, print_json

if TYPE_CHECKING:
    from motet.train.loop import Trained

FORM = "expected `train(*, out, resume, **plan)` that returns what `motet.train.train` returns"


@click.command()
@click.argument("recipe", required=False)
@click.option("--out", metavar="DIR", help="Keep checkpoints, curve, tapes and report here.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in DIR, if there is one.")
@click.option("--iterations", type=click.IntRange(1), help="How many times to collect and update.")
@click.option("--seed", type=int, help="Decides all draws.")
@click.option("--set", "settings", multiple=True, metavar="K=V", help="Another setting of the plan.")
@json_option
def command(
    recipe: str | None, out: str | None, resume: bool, settings: tuple[str, ...], as_json: bool, **given: Any
) -> int:
    """Train policies by a recipe. Without a name: what recipes there are.

    RECIPE is one of these, or a FILE.py with a function `train(*, out, resume, **plan)` that returns what
    `motet.train.train` returns. A run that was stopped or killed goes on with --resume.

    \b
    Examples:
      motet train bandit
      motet train kuhn_selfplay --out runs/kuhn --set groups=256
      motet train kuhn_selfplay --out runs/kuhn --set groups=256 --resume
    """
    if recipe is None:
        _list(as_json)
        return 0
    from motet.cli.words import pair

    plan = {name: value for name, value in given.items() if value is not None}
    plan |= {name: _value(text) for name, text in (pair("set", each, "K=V") for each in settings)}
    if resume and not out:
        raise click.UsageError("--resume goes on from a folder: say which with --out DIR")
    try:
        done = find_recipe(recipe)(out=out, resume=resume, **plan)
    except KeyboardInterrupt:
        how = f"go on with --out {out} --resume" if out else "nothing was kept; with --out DIR it would be"
        raise click.Abort from KeyboardInterrupt(f"stopped; {how}")
    if as_json:
        print_json(document(recipe, done))
    else:
        _show(done)
    return 0


def find_recipe(name: str) -> "Callable[..., Trained]":
    """The recipe of this name or in this file.

    Raises:
        UnknownName: there is no such recipe. BadInput: the file cannot be loaded or holds no `train`.
    """
    from motet.errors import BadInput, UnknownName
    from motet.train.recipes import RECIPES

    if not name.endswith(".py"):
        if name not in RECIPES:
            raise UnknownName("recipe", name, [*RECIPES, "FILE.py"])
        return RECIPES[name]
    if not Path(name).is_file():
        raise BadInput(f"there is no file {name!r}; a recipe of your own is a file with a function `train`")
    import runpy

    try:
        found = runpy.run_path(name, run_name="motet_recipe").get("train")
    except (SyntaxError, ImportError) as error:
        raise BadInput(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise BadInput(f"{name} has no function `train`, it holds {found!r} there; {FORM}")
    return partial(_own, name, found)


def _own(name: str, recipe: "Callable[..., Trained]", **settings: Any) -> "Trained":
    from motet.errors import BadInput
    from motet.train.loop import Trained

    try:
        signature(recipe).bind(**settings)
    except TypeError as error:
        raise BadInput(f"`train` of {name} does not take {settings!r} ({error}); {FORM}") from None
    if not isinstance(done := recipe(**settings), Trained):
        raise BadInput(f"`train` of {name} returned {done!r}; {FORM}")
    return done


def document(recipe: str, done: "Trained") -> dict[str, Any]:
    """The JSON document: the curve, line by line, and what became of the calls."""
    return {
        "recipe": recipe,
        "iterations": int(done.curve[-1]["iteration"]),
        "stopped": done.stopped,
        "folder": str(done.folder) if done.folder else None,
        "ledger": {"counts": dict(done.ledger.counts), "rejected": dict(done.ledger.rejected)},
        "curve": done.curve,
    }


def _show(done: "Trained") -> None:
    from motet.train.report import summary

    rows = [
        (name, f"{first:.4g}", f"{last:.4g}", line) for name, first, last, line in summary(done.curve, 32)
    ]
    console().print(make_table(("", "first", "last", ""), rows, right=[1, 2]))
    note(str(done.ledger))
    if done.stopped:
        note(f"stopped early: {done.stopped}")
    if done.folder:
        note(f"report: {done.folder / 'report.html'}")


def _list(as_json: bool) -> None:
    from motet.train.recipes import RECIPES

    known = {name: (recipe.__doc__ or "").split("\n\n")[0] for name, recipe in RECIPES.items()}
    if as_json:
        print_json([{"name": name, "summary": " ".join(words.split())} for name, words in known.items()])
    else:
        console().print(make_table((), [(name, " ".join(words.split())) for name, words in known.items()]))


def _value(text: str) -> Any:
    """A number, true or false, or the text itself."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
