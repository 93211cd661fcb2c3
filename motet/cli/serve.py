"""`motet serve`: a team that other processes can ask, or the server on which agents find each other."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from motet.cli.output import json_option, note, print_json

if TYPE_CHECKING:
    from motet.remote.performer import Performer

WEB = "web"
JOIN_S = 30.0  # for the server of agents to answer


class Options(Struct, frozen=True):
    """The options of `motet serve`."""

    model: str | None
    voices: tuple[str, ...]
    settings: tuple[str, ...]
    protocol: str
    host: str
    port: int
    name: str
    about: str
    join: str | None
    budget: str | None


@click.command(no_args_is_help=True)
@click.argument("what")
@click.option("-m", "--model", help="Who sings every voice that is not cast (local, if you do not say).")
@click.option(
    "--voice", "voices", multiple=True, metavar="NAME=MODEL", help="Who sings a voice; again for a group."
)
@click.option("--set", "settings", multiple=True, metavar="KNOB=VALUE", help="Set a knob of the method.")
@click.option(
    "--protocol",
    default="a2a",
    type=click.Choice(("a2a", "agent")),
    show_default=True,
    help="A2A, or one POST of JSON.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--name", default="", help="By which the agent is known (the team's, if you do not say).")
@click.option("--about", default="", metavar="TEXT", help="What it can do, in a sentence.")
@click.option("--join", metavar="URL", help="Register the agent with a server of agents while it is served.")
@click.option(
    "--budget",
    metavar="LIMITS",
    help="Hard limits of each request: tokens=N,calls=N,money=DOLLARS,seconds=N.",
)
@json_option
def command(what: str, as_json: bool, **options: Any) -> int:
    """Serve a team to other processes, until Ctrl-C.

    WHAT is a team as in `motet run` (direct for a single model), or web: the server on which agents find each
    other and form groups. Each request is a run on this project's tape: `motet runs`.

    Where others can reach it (--host) it demands the token in MOTET_SERVE_TOKEN. A voice by name shows the
    token in MOTET_AGENT_TOKEN.

    \b
    Examples:
      motet serve self_consistency --set n=5 --model openai:gpt-5-mini
      motet run self_refine "What is 17 * 23?" --voice writer=a2a:http://127.0.0.1:8000
      motet serve web --port 9000
      motet serve review.py:review --join http://127.0.0.1:9000 --about "reviews texts"
    """
    from motet.remote.a2a import PUBLIC
    from motet.remote.door import serving

    chosen, token = Options(**options), os.getenv("MOTET_SERVE_TOKEN", "")
    performer = None if what == WEB else _performer(what, chosen)
    app = _app(performer, chosen, token)
    public = PUBLIC if performer and chosen.protocol == "a2a" else ()
    with (
        _told_to_stop() as told,
        serving(app, host=chosen.host, port=chosen.port, token=token, public=public) as bound,
    ):
        address = _as_others_see(bound, chosen.host)
        with _joined(performer, chosen, address, token):
            made = _document(what, performer, chosen, address, bool(token))
            print_json(made) if as_json else _tell(made)
            told.wait()
    return 0


def _performer(what: str, options: Options) -> "Performer":
    """The team, cast and ready to be asked.

    Raises:
        BadInput, UnknownName: before the door opens.
    """
    from motet.cli.words import cast, configure, find_team, read_budget
    from motet.remote.performer import Performer

    team = cast(configure(find_team(what), options.settings), options.model, options.voices)
    budget = read_budget(options.budget) if options.budget else None
    return Performer(team, name=options.name, about=options.about, budget=budget)


def _app(performer: "Performer | None", options: Options, token: str) -> Any:
    from motet.cli.words import read_budget
    from motet.remote.a2a import a2a_app
    from motet.remote.agents import agent_app
    from motet.remote.web import Registry, web_app

    if performer:
        return a2a_app(performer, token=bool(token)) if options.protocol == "a2a" else agent_app(performer)
    of_teams = {"--model": options.model, "--voice": options.voices, "--set": options.settings}
    of_teams |= {"--name": options.name, "--about": options.about, "--join": options.join}
    if given := [option for option, value in of_teams.items() if value]:
        raise click.UsageError(f"{', '.join(given)}: goes with a team; {WEB} is a server of agents")
    budget = read_budget(options.budget) if options.budget else None
    return web_app(Registry(anywhere=bool(token)), budget=budget)


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C or SIGTERM, either of which is how a server ends well."""
    told = threading.Event()
    before = {each: signal.signal(each, lambda *_: told.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _joined(performer: "Performer | None", options: Options, address: str, token: str) -> Iterator[None]:
    """Known to a server of agents for as long as the block lasts."""
    import asyncio

    from motet.errors import MotetError
    from motet.remote.client import Web

    if not (performer and options.join):
        yield
        return
    web = Web(options.join, token=os.getenv("MOTET_AGENT_TOKEN", ""), timeout_s=JOIN_S)
    voice = f"{options.protocol}:{address}"
    asyncio.run(web.register(performer.name, performer.about, voice, token=token))
    try:
        yield
    finally:
        with suppress(MotetError):  # that server may have gone before us
            asyncio.run(web.forget(performer.name))


def _as_others_see(address: str, host: str) -> str:
    """The address with this machine's name, when it is bound to all of its addresses."""
    return (
        f"http://{socket.gethostname()}:{address.rpartition(':')[2]}"
        if host in ("0.0.0.0", "::")
        else address
    )


def _document(
    what: str, performer: "Performer | None", options: Options, address: str, token: bool
) -> dict[str, Any]:
    made: dict[str, Any] = {"address": address, "serves": what, "token": token}
    if performer:
        made |= {"name": performer.name, "about": performer.about, "protocol": options.protocol}
        made |= {"voice": f"{options.protocol}:{address}", "joined": options.join}
    return made


def _tell(made: dict[str, Any]) -> None:
    if "voice" in made:
        click.echo(f"{made['name']} is served at {made['address']}. To make it a voice:")
        click.echo(f'  motet run self_refine "…" --voice writer={made["voice"]}')
    else:
        click.echo(f"Agents find each other at {made['address']}. To let a team join them:")
        click.echo(f'  motet serve TEAM --port 0 --about "…" --join {made["address"]}')
    if made["token"]:
        click.echo("There, MOTET_AGENT_TOKEN is to be what MOTET_SERVE_TOKEN is here.")
    note("Ctrl-C ends it.")
