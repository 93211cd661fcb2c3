"""`motet methods`: the published methods that can be run."""

from typing import TYPE_CHECKING, Any

import click

from motet.cli.output import console, json_option, make_table, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from motet.methods import Method
    from motet.viewer.diagram import Diagram

TOLD = ("Idea", "Deviates", "Failure")


@click.command()
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or tell all about one and draw who speaks to whom in it.

    The drawing is read off a run on simulated voices, as are `steps` and `edges` of the JSON document. Calls
    are what one run makes, as a formula in the knobs.

    \b
    Examples:
      motet methods
      motet methods self_consistency
      motet methods debate --json
    """
    from motet.errors import UnknownName
    from motet.methods import METHODS

    if name is not None and name not in METHODS:
        raise UnknownName("method", name, METHODS)
    if name is None and as_json:
        print_json([method.listing() for method in METHODS.values()])
    elif name is None:
        console().print(_listed(list(METHODS.values())))
    elif as_json:
        print_json(METHODS[name].listing() | _told(METHODS[name]) | _drawn(_diagram(name)))
    else:
        _tell(METHODS[name])


def _listed(methods: "list[Method]") -> "Table":
    """The methods by family: what each does, and below it its voices, knobs, calls, and paper."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for family in dict.fromkeys(method.family for method in methods):
        made.add_row(Text(f"\n{family}", "bold"))
        for method in (m for m in methods if m.family == family):
            knobs = f"knobs {_knobs(method)}" if method.team.knobs else ""
            facts = (f"voices {_voices(method)}", knobs, f"calls {method.calls}")
            lines = (" · ".join(filter(None, facts)), method.source)
            words = Text("\n").join([Text(method.summary), *(Text(line, "dim") for line in lines)])
            made.add_row(Text(f"  {method.name}", "cyan"), words)
    return made


def _voices(method: "Method") -> str:
    return ", ".join(f"{v} (a group)" if group else v for v, group in method.team.voices.items())


def _knobs(method: "Method") -> str:
    return ", ".join(f"{k}={v!r}" for k, v in method.team.knobs.items())


def _tell(method: "Method") -> None:
    import inspect

    from rich.text import Text

    from motet.evals.lab.card import section
    from motet.viewer.lanes import lanes
    from motet.viewer.words import count

    rows = [
        ("family", method.family),
        ("paper", method.source),
        ("calls", method.calls),
        ("voices", _voices(method)),
        ("knobs", _knobs(method) or "none"),
        ("try", _try(method)),
        ("when it helps", f"motet lab {method.name}"),
    ]
    click.echo(f"{method.name}\n\n{inspect.cleandoc(method.team.__doc__ or '')}\n")
    page, made = console(), _diagram(method.name)
    page.print(make_table((), rows))
    for word in TOLD:
        if words := section(method, word):
            page.print(f"\n{word}", style="bold")
            page.print(Text(words[0].upper() + words[1:]))
    length = f"{count(made.calls, 'call')} and {count(made.steps, 'step')}"
    page.print(f"\nwho speaks to whom, in a run of {length}\n", style="dim")
    page.print(lanes(made, page.width))


def _try(method: "Method") -> str:
    """A command that gives the method something of the kind that it is for."""
    from motet.evals.lab.examples import SUM, example

    name, task = method.name, example(method.name).task
    if task == SUM:
        return f'motet run {name} "What is 17 * 23?" --model local'
    if task.kind == "code" and not task.meta:
        return f"motet compare {name} --suite mini-code --n 5 --model local"
    kind = "" if task.kind == "text" else f" --kind {task.kind}"
    wanted = [key for key in task.meta if key in method.team.knobs or len(task.meta) == 1]
    meta = "".join(f" --meta {key}=@PATH" for key in wanted)
    return f'motet run {name} "{task.prompt}"{kind}{meta} --model local'


def _diagram(name: str) -> "Diagram":
    from motet.evals.lab.subject import subject
    from motet.viewer.diagram import diagram

    return diagram(subject(name).show().tape)


def _told(method: "Method") -> dict[str, str]:
    from motet.evals.lab.card import section

    return {word.lower(): section(method, word) for word in TOLD}


def _drawn(made: "Diagram") -> dict[str, Any]:
    """The drawing as data: the steps with equal ones told once, and every edge."""
    return {"steps": made.rows, "edges": made.edges}
