"""`motet show`: one run, as a transcript, a record, or played again."""

import click

from motet.cli.output import console, json_option, print_json


@click.command(no_args_is_help=True)
@click.argument("run")
@click.option("--full", is_flag=True, help="Show long texts whole.")
@click.option("--replay", is_flag=True, help="Play the run again as it happened; no model is asked.")
@click.option(
    "--speed", default=1.0, show_default=True, type=click.FloatRange(0, min_open=True), help="Of a replay."
)
@json_option
def command(run: str, full: bool, replay: bool, speed: float, as_json: bool) -> None:
    """Show who said what to whom in a run.

    RUN is an id, its unique beginning, or `last`.

    \b
    Examples:
      motet show last
      motet show 20260102-0304 --json
      motet show last --replay --speed 4
    """
    from motet.cli.runs import open_store

    if replay and as_json:
        raise click.UsageError("--replay draws a picture; it cannot be combined with --json")
    with open_store() as store:
        tape = store.load(run)
    if as_json:
        from motet.tape.record import run_record

        print_json(run_record(tape))
    elif replay:
        from motet.viewer.live import LiveView
        from motet.viewer.replay import play

        play(tape, LiveView(console()), speed=speed)
    else:
        from motet.viewer.transcript import transcript

        console().print(transcript(tape, full=full))
