"""The command line. Each command is a file of this folder, imported when it is needed."""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from typing import Any, NoReturn

import click

from motet.cli.output import note, print_json
from motet.errors import BadInput, MissingExtra, MotetError, UnknownName

SECTIONS: dict[str, tuple[str, ...]] = {
    "Begin here": ("demo", "doctor"),
    "Put teams to work": ("run", "compare", "lab", "play", "serve"),
    "Look at what was kept": ("show", "runs", "export"),
    "See what there is": ("methods", "suites", "models", "envs"),
    "Train": ("tune", "train", "credit"),
}
"""The commands, in the order in which help lists them; `run` is `motet.cli.run.command`."""

DONE, FAILED, WRONG_WORDS, STOPPED = 0, 1, 2, 130


class Motet(click.Group):
    """Loads a command when it is called for; turns errors into words, JSON documents and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"motet.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise UnknownName("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, names in SECTIONS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(section):
                formatter.write_dl([(f"{n:8}", c.get_short_help_str(120)) for n, c in commands if c])

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *rest: Any, **extra: Any
    ) -> NoReturn:
        """Run a command and leave with 0 (done), 1 (the work failed), 2 (wrong words) or 130 (stopped)."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        as_json = "--json" in takewhile(lambda word: word != "--", words)
        extra["standalone_mode"] = False
        try:
            code = super().main(words, prog_name or "motet", *rest, **extra) or DONE
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read our output has gone: `motet runs | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILED
        except click.Abort as stop:
            code = _tell(
                "stopped", str(stop.__cause__ or "") or "stopped; nothing was under way", STOPPED, as_json
            )
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            code = WRONG_WORDS
        except click.ClickException as error:
            code = _tell("usage", _in_words(error), WRONG_WORDS, as_json)
        except MotetError as error:
            code = _tell(
                _kind(error), str(error), WRONG_WORDS if isinstance(error, BadInput) else FAILED, as_json
            )
        except Exception as bug:  # the outermost boundary: a bug crashes, but one JSON document was promised
            if not as_json:
                raise
            traceback.print_exc()
            code = _tell("bug", f"{type(bug).__name__}: {bug}", FAILED, as_json)
        sys.exit(code)


def _tell(kind: str, message: str, code: int, as_json: bool) -> int:
    if as_json:
        print_json({"error": {"kind": kind, "message": message}})
    else:
        note(f"motet: {message}")
    return code


def _kind(error: MotetError) -> str:
    match error:
        case UnknownName():
            return "unknown_name"
        case BadInput():
            return "bad_input"
        case MissingExtra():
            return "missing_extra"
    return str(error.kind)


def _in_words(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    help_line = f" (see `{context.command_path} --help`)" if context else ""
    return error.format_message() + help_line


@click.group(cls=Motet, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="motet", message="%(prog)s %(version)s")
def main() -> None:
    """Teams of language models, written once as Python functions: run, recorded, compared.

    \b
    Begin with these; no key is needed:
      motet demo
      motet run self_consistency "What is 17 * 23?" --model local
      motet show last
    """
