"""`motet play`: people, programs and models take the seats of an environment."""

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from motet.cli.output import console, json_option, make_table, note, print_json

if TYPE_CHECKING:
    from motet.run import Run
    from motet.tape import Live, Tape
    from motet.types import Failure


@click.command(no_args_is_help=True)
@click.argument("env")
@click.option("--voice", "voices", multiple=True, metavar="SEAT=WHO", help="Who plays a seat.")
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Set an option of the world.")
@click.option(
    "--seed", default=0, show_default=True, help="Seed of the first episode; the next has the next."
)
@click.option("--episodes", default=1, show_default=True, type=click.IntRange(1), help="How many to play.")
@click.option("--at-once", default=8, show_default=True, type=click.IntRange(1), help="Episodes at a time.")
@click.option("--budget", metavar="LIMITS", help="Hard limits of each episode: tokens=N,calls=N,seconds=N.")
@json_option
def command(env: str, as_json: bool, **options: Any) -> int:
    """Play an environment of `motet envs`.

    WHO is person, random, perfect (where there is one), or any model's name. A seat that nobody is given is
    played by the perfect player, or at random where there is none. Every move is kept: `motet show last`.
    It is marked by what its seat got, so that `motet export RUN --to trl-sft` and the like can read it.

    \b
    Examples:
      motet play tic_tac_toe --voice x=person
      motet play kuhn --voice first=local --voice second=perfect --episodes 20
      motet play social_deduction --voice player_1=person --voice player_2=local --json
    """
    runs = perform(env, **options)
    if as_json:
        print_json(report(env, runs))
    else:
        _show(runs)
    return 0 if all(run.ok for run in runs) and not any(lost.silent for lost in lost_calls(runs)) else 1


def perform(
    env: str,
    voices: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int,
    episodes: int,
    at_once: int,
    budget: str | None,
) -> "list[Run]":
    """Cast the seats and play the episodes.

    Raises:
        BadInput, UnknownName: before anything is asked of a model.
    """
    import asyncio

    from motet.cli.words import pair, read_budget, value_of
    from motet.envs.collect import collect
    from motet.envs.play import seat_players

    who = dict(pair("voice", given, "SEAT=WHO") for given in voices)
    chosen = {
        name: value_of(text) for name, text in (pair("set", given, "OPTION=VALUE") for given in settings)
    }
    team = seat_players(env, who, **chosen)
    limits = read_budget(budget) if budget else None
    by_hand = "person" in who.values()
    # A person learns from the seat alone: others' moves may be secret.
    watch = _narrate if episodes == 1 and not by_hand else None
    at_once = 1 if by_hand else at_once

    async def episode(seed: int) -> "Run":
        playing = team.configured(seed=seed)
        return await playing.arun(f"Play {env}, episode {seed}.", seed=seed, budget=limits, on_event=watch)

    runs = asyncio.run(collect(episode, range(seed, seed + episodes), at_once=at_once))
    for run in runs:
        if run.ok:
            _mark(run)
    return runs


def _mark(run: "Run") -> None:
    """Put the marks of its moves on the tape of a run."""
    import time

    from motet.envs.play import marks_of
    from motet.tape import project_store

    store = project_store()
    for scored in marks_of(run, time.time()):
        store.put_event(run.id, len(run.tape.events), scored)
        run.tape.events.append(scored)
    store.flush()


def report(env: str, runs: "list[Run]") -> dict[str, Any]:
    """The JSON document: returns of each episode, their means, and the run records."""
    from motet.envs.play import returns_of

    returns = [returns_of(run) if run.ok else None for run in runs]
    return {"env": env, "returns": returns, "mean": _means(runs), "runs": [run.record() for run in runs]}


class Lost(NamedTuple):
    """A seat whose calls failed: how many of how many, and the first failure."""

    seat: str
    failed: int
    of: int
    first: "Failure"

    @property
    def silent(self) -> bool:
        """Whether it never answered."""
        return self.failed == self.of


def lost_calls(runs: "list[Run]") -> list[Lost]:
    """The seats that lost calls to failures. An episode goes on without the move, so they are told apart."""
    asked: dict[str, list[Failure | None]] = {}
    for call in (call for run in runs for call in run.calls):
        asked.setdefault(call.voice, []).append(call.failure)
    failures = {seat: [f for f in found if f] for seat, found in asked.items()}
    return [Lost(seat, len(f), len(asked[seat]), f[0]) for seat, f in failures.items() if f]


def _means(runs: "list[Run]") -> dict[str, float]:
    from motet.envs.play import returns_of

    played = [returns_of(run) for run in runs if run.ok]
    return {seat: sum(r[seat] for r in played) / len(played) for seat in played[0]} if played else {}


def _show(runs: "list[Run]") -> None:
    from motet.viewer.words import told

    failed = [run for run in runs if not run.ok]
    for run in failed:
        note(f"motet: {run.id} was not played to its end: {told(run.error) if run.error else 'stopped'}")
    for lost in lost_calls(runs):
        note(f"motet: {lost.failed} of {lost.of} calls of {lost.seat} failed: {told(lost.first)}")
    if means := _means(runs):
        refused = dict.fromkeys(means, 0)
        for run in runs:
            for seat in (seat for step in run.tape.steps for seat in step.invalid):
                refused[seat] = refused.get(seat, 0) + 1
        players = _players(runs[0].tape, list(means))
        rows = [(seat, players[seat], f"{mean:+.3f}", str(refused[seat])) for seat, mean in means.items()]
        played = len(runs) - len(failed)
        console().print(
            make_table(("seat", "player", f"mean return of {played}", "refused"), rows, right=[2, 3])
        )
    note(f"{runs[-1].id}: {sum(len(run.tape.steps) for run in runs)} steps · motet show {runs[-1].id}")


def _players(tape: "Tape", seats: list[str]) -> dict[str, str]:
    names = tape.started.voices["players"].split(", ")
    return dict(zip(seats, names, strict=True))


def _narrate(event: "Live") -> None:
    from motet.tape import Stepped
    from motet.viewer.words import clean

    if isinstance(event, Stepped):
        for seat, action in event.actions.items():
            refused = f"  ({event.invalid[seat]})" if seat in event.invalid else ""
            note(clean(f"{seat}: {action}{refused}"))
