"""`motet train`: a training run by its name or from a file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.cli.output import console, json_option, make_table, note, print_json

if TYPE_CHECKING:
    from motet.train.loop import Trained

CAST = ("suite", "model", "voices", "policies", "held_out", "max_tokens")
"""Options that say who is trained on what; the others are of the plan."""
FORM = "expected `train(*, out, resume, **plan)` that returns what `motet.train.train` returns"


@click.command()
@click.argument("what", required=False)
@click.option("--suite", help="What a team is trained on: a name from `motet suites`, or a file.")
@click.option(
    "-m",
    "--model",
    help="Weights to train, `torch:…` or `local`; sings all that are not cast (smollm2-135m).",
)
@click.option(
    "--voice", "voices", multiple=True, metavar="NAME=MODEL", help="Who sings a voice, or has a seat."
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="VOICE=lora|full",
    help="How a voice is trained; '*=lora' shares one adapter. By default one for each that can be.",
)
@click.option("--held-out", type=click.IntRange(0), help="Tasks or starts to measure on, never trained on.")
@click.option("--max-tokens", type=click.IntRange(1), help="The most of a reply (64).")
@click.option("--credit", metavar="PRESET", help="One of `motet credit` (grpo).")
@click.option("--lr", type=float, help="Learning rate, short for --set adam.lr=….")
@click.option("--iterations", type=click.IntRange(1), help="How many times to collect and update.")
@click.option("--seed", type=int, help="Decides all draws.")
@click.option("--out", metavar="DIR", help="Keep checkpoints, curve, tapes and report here.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in DIR, if there is one.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="K=V",
    help="Of the plan (groups, adam.lr, loss.kl, options.omega, …), or NAME.KNOB=V of the team or the world.",
)
@json_option
def command(
    what: str | None, out: str | None, resume: bool, settings: tuple[str, ...], as_json: bool, **given: Any
) -> int:
    """Train a team on a suite, the seats of a world, or by a recipe. Without a name: what recipes there are.

    WHAT is a method or FILE.py:NAME with --suite, an environment, a recipe, or a FILE.py with a function
    `train(*, out, resume, **plan)` that returns what `motet.train.train` returns. What was stopped or killed
    goes on with --resume.

    \b
    Examples:
      motet train bandit
      motet train self_refine --suite arithmetic --held-out 20 --iterations 20 --out runs/refine
      motet train mine.py:review --suite items.jsonl --voice critic=sim:skill=0.9 --policy writer=lora
      motet train kuhn --model torch:tiny --voice second=perfect --credit rae --set group_size=16
      motet train kuhn_selfplay --out runs/kuhn --set groups=256 --resume
    """
    if what is None:
        _list(as_json)
        return 0
    if resume and not out:
        raise click.UsageError("--resume goes on from a folder: say which with --out DIR")
    cast = {name: given.pop(name) for name in CAST}
    plan, knobs = _plan(settings, given)
    try:
        done = _trainer(what, cast, knobs)(out=out, resume=resume, **plan)
    except KeyboardInterrupt:
        how = f"go on with --out {out} --resume" if out else "nothing was kept; with --out DIR it would be"
        raise click.Abort from KeyboardInterrupt(f"stopped; {how}")
    if as_json:
        print_json(document(what, done))
    else:
        _show(done)
    return 0


def _plan(settings: Sequence[str], given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings of the plan, dots spelled out, and `NAME.KNOB=V` of the team or the world."""
    from motet.cli.words import pair, value_of
    from motet.train.plan import Plan

    plan: dict[str, Any] = {}
    knobs = []
    dotted = [("adam.lr", given["lr"])] if given["lr"] is not None else []
    for name, text in (pair("set", each, "K=V") for each in settings):
        if "." in name and name.partition(".")[0] not in Plan.__struct_fields__:
            knobs.append(f"{name}={text}")
        else:
            dotted.append((name, value_of(text)))
    for name, value in dotted:
        first, _, rest = name.partition(".")
        plan = {**plan, first: {**plan.get(first, {}), rest: value} if rest else value}
    return plan | {k: v for k, v in given.items() if v is not None and k != "lr"}, knobs


def _trainer(what: str, cast: Mapping[str, Any], knobs: list[str]) -> "Callable[..., Trained]":
    """The recipe of this name, or what trains the team or the world of this name.

    Raises:
        UnknownName: there is none. BadInput: it cannot be trained so.
    """
    from motet.cli.train_cast import MODEL, Cast, trainer
    from motet.cli.words import pair
    from motet.envs.registry import ENVS
    from motet.errors import UnknownName
    from motet.methods import METHODS
    from motet.train.recipes import RECIPES

    if what in RECIPES or (what.endswith(".py") and not cast["suite"]):
        if told := [f"--{name.replace('_', '-')}" for name, value in cast.items() if value] + knobs:
            raise click.UsageError(f"{told[0]} is for teams and worlds, and {what} is a recipe")
        return find_recipe(what)
    if what not in ENVS and what not in METHODS and ".py" not in what:
        raise UnknownName("recipe, method or environment", what, [*RECIPES, *METHODS, *ENVS, "FILE.py"])
    policies = dict(pair("policy", each, "VOICE=lora|full") for each in cast["policies"])
    return trainer(
        what,
        Cast(
            model=cast["model"] or MODEL,
            suite=cast["suite"],
            voices=cast["voices"],
            policies=policies,
            held_out=cast["held_out"] or 0,
            max_tokens=cast["max_tokens"] or 64,
            knobs=knobs,
        ),
    )


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
    for voice, model in _tuned(done):
        note(f"run it: --voice {voice}={model}")


def _tuned(done: "Trained") -> Iterator[tuple[str, str]]:
    """The voices with weights of their own, and the names by which those run again."""
    folders = sorted(done.folder.glob("checkpoints/[0-9]*")) if done.folder else []
    for voice, members in done.team.parts.items():
        name = getattr(getattr(members[0], "model", None), "name", "")
        base, hash_, policy = name.partition("#")
        file = folders[-1] / f"{policy}.safetensors" if folders and hash_ else None
        if base.startswith("torch:") and file and file.exists():
            yield voice, f"torch:{file}"


def _list(as_json: bool) -> None:
    from motet.train.recipes import RECIPES

    known = {name: (recipe.__doc__ or "").split("\n\n")[0] for name, recipe in RECIPES.items()}
    if as_json:
        print_json([{"name": name, "summary": " ".join(words.split())} for name, words in known.items()])
    else:
        console().print(make_table((), [(name, " ".join(words.split())) for name, words in known.items()]))
