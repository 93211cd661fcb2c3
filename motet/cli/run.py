"""`motet run`: one team, one prompt."""

import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from motet.cli.output import console, json_option, note, print_json

if TYPE_CHECKING:
    from motet.run import Run
    from motet.tape import Live
    from motet.types import Task, TaskKind

KINDS = ("text", "number", "choice", "math", "code", "sql")


class Options(Struct, frozen=True):
    """The options of `motet run`."""

    model: str | None
    voices: tuple[str, ...]
    settings: tuple[str, ...]
    system: str
    target: str | None
    kind: "TaskKind"
    choices: tuple[str, ...]
    tests: str
    meta: tuple[str, ...]
    budget: str | None
    seed: int
    reuse: bool


@click.command(no_args_is_help=True)
@click.argument("method")
@click.argument("prompt")
@click.option("-m", "--model", help="Who sings every voice that is not cast (local, if you do not say).")
@click.option(
    "--voice", "voices", multiple=True, metavar="NAME=MODEL", help="Who sings a voice; again for a group."
)
@click.option("--set", "settings", multiple=True, metavar="KNOB=VALUE", help="Set a knob of the method.")
@click.option("--system", default="", metavar="TEXT", help="Instructions for the voices that are cast here.")
@click.option("--target", metavar="ANSWER", help="The right answer; the run is marked against it.")
@click.option(
    "--kind", default="text", type=click.Choice(KINDS), help="What an answer looks like.", show_default=True
)
@click.option(
    "--choice", "choices", multiple=True, metavar="TEXT", help="An option of a multiple-choice prompt."
)
@click.option("--tests", default="", metavar="@FILE", help="Python tests that mark a program.")
@click.option(
    "--meta",
    multiple=True,
    metavar="KEY=VALUE",
    help="What comes with the prompt: documents, database, repository, …; KEY=@PATH reads a file or folder.",
)
@click.option("--budget", metavar="LIMITS", help="Hard limits: tokens=N,calls=N,money=DOLLARS,seconds=N.")
@click.option("--seed", default=0, show_default=True, help="Goes into every call.")
@click.option(
    "--reuse", is_flag=True, help="Take replies that the tape holds already; ask only for the others."
)
@json_option
def command(method: str, prompt: str, as_json: bool, **options: Any) -> int:
    """Set a team to work on one prompt.

    METHOD is a name from `motet methods`, or FILE.py:NAME for a team of your own. PROMPT may be - for stdin.
    The answer goes to stdout, who is speaking to stderr. The run is kept: `motet show last`.

    \b
    Examples:
      motet run self_consistency "What is 17 * 23?" --set n=5 --model openai:gpt-5-mini
      motet run chase_sql "Which pets are cows?" --kind sql --meta database=@pets.sql
      motet run ragenta "Who founded Oslo?" --meta documents=@notes
      motet run review.py:review - --voice writer=local --voice critic=sim:skill=0.9 < task.txt
    """
    run = perform(method, prompt, Options(**options))
    if as_json:
        print_json(run.record())
    elif run.ok:
        _print_answer(run.answer)
    _sum_up(run)
    return 0 if run.ok else 1


def perform(method: str, prompt: str, options: Options) -> "Run":
    """Find the team, cast it, run it and mark it.

    Raises:
        BadInput, UnknownName: before anything is asked of a model. KeyboardInterrupt: says what was kept.
    """
    from motet.cli.words import cast, configure, find_team, read_budget
    from motet.viewer.live import LiveView

    team = cast(configure(find_team(method), options.settings), options.model, options.voices, options.system)
    budget = read_budget(options.budget) if options.budget else None
    task = _task(sys.stdin.read() if prompt == "-" else prompt, options)
    view, names = LiveView(console(stderr=True)), list[str]()

    def watch(event: "Live") -> None:
        if run := getattr(event, "run", None):
            names.append(run)
        view(event)

    try:
        run = team.run(task, seed=options.seed, budget=budget, reuse=options.reuse, on_event=watch)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_what_is_kept(names)) from None
    if options.target is not None or options.tests:
        mark(run, task)
    return run


def _task(prompt: str, options: Options) -> "Task":
    """What is asked, when it can be asked and marked."""
    from motet.cli.words import read, read_meta
    from motet.types import Task

    if not prompt.strip():
        raise click.UsageError("the prompt is empty")
    if (options.kind == "choice") != (len(options.choices) > 1):
        raise click.UsageError("--kind choice goes with two or more --choice TEXT, and they with it")
    if options.kind == "code" and options.target is not None:
        raise click.UsageError("a program is marked by --tests @FILE, not by --target")
    if options.tests and options.kind != "code":
        raise click.UsageError("--tests goes with --kind code")
    return Task(
        prompt,
        target=options.target,
        kind=options.kind,
        choices=options.choices,
        tests=read(options.tests[1:]) if options.tests.startswith("@") else options.tests,
        meta=read_meta(options.meta),
    )


def mark(run: "Run", task: "Task") -> None:
    """Put the mark of a run on its tape: 0 when it has no answer."""
    import asyncio
    import time

    from motet.evals.scorers import scorer
    from motet.tape import Scored, project_store

    if run.ok:
        score = asyncio.run(scorer("by_kind")(task, run.answer))
        scored = Scored("by_kind", score.value, time.time(), detail=score.detail)
    else:
        scored = Scored("by_kind", 0.0, time.time(), detail=str(run.error))
    store = project_store()
    store.put_event(run.id, len(run.tape.events), scored)
    store.flush()
    run.tape.events.append(scored)


def _print_answer(answer: str) -> None:
    """To a terminal without what would act on it; to a file or a pipe as it came."""
    from motet.viewer.words import clean

    click.echo(clean(answer) if sys.stdout.isatty() else answer)


def _sum_up(run: "Run") -> None:
    from motet.viewer.words import count, money, seconds, told

    if run.error:
        note(f"motet: no answer: {told(run.error)}")
    marked = "" if run.tape.score is None else f" · score {run.tape.score:g}"
    usage = run.usage
    spent = (
        f"{count(usage.calls, 'call')} · {usage.tokens:,} tokens · {money(run.cost)} · {seconds(run.wall_s)}"
    )
    note(f"{run.id}: {spent}{marked}")


def _what_is_kept(names: list[str]) -> str:
    if not names:
        return "stopped before the run began; nothing was spent"
    return (
        f"stopped; what was answered so far is kept in {names[0]} (motet show {names[0]}). "
        "The same command with --reuse goes on from there"
    )
