"""`motet export`: runs in the formats of other tools."""

from pathlib import Path

import click

from motet.cli.output import json_option, note, print_json

NEED_NO_MARK = ("jsonl", "otel", "adp", "inspect")


@click.command(no_args_is_help=True)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--to", "form", required=True, metavar="FORMAT", help="One of those below.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to; stdout, if you do not say.",
)
@json_option
def command(runs: tuple[str, ...], form: str, out: Path | None, as_json: bool) -> None:
    """Write runs in the format of another tool.

    \b
    jsonl    everything, losslessly; read back by motet.tape.export.jsonl.import_jsonl
    otel     OpenTelemetry spans (GenAI conventions) as OTLP JSON
    adp      Agent Data Protocol trajectories, for fine-tuning
    inspect  a log for Inspect's viewer; give it a FILE.json

    \b
    For trainers, from runs with marks:
    trl-sft, trl-dpo, trl-kto   TRL's conversational data sets
    verl, openrlhf, verifiers   prompts with gold answers, and what was said

    \b
    Examples:
      motet export last --to jsonl
      motet export 20260102 20260103 --to inspect --out logs/debate.json
    """
    from motet.cli.runs import open_store
    from motet.tape.export import export

    with open_store() as store:
        tapes = [store.load(run) for run in runs]
    text = export(tapes, form, out)
    if not text:
        why = (
            "no call said anything" if form in NEED_NO_MARK else "no good mark, or no two replies to compare"
        )
        note(f"nothing of these runs goes into {form}: {why}")
    if as_json:
        document = {"to": form, "runs": [tape.run for tape in tapes], "out": str(out) if out else None}
        print_json(document | ({} if out else {"content": text}))
    elif out:
        note(f"{len(tapes)} {'run' if len(tapes) == 1 else 'runs'} written to {out}")
    else:
        click.echo(text, nl=False)
