"""`motet tune`: voices learn from runs that are there."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.cli.output import console, json_option, make_table, note, print_json

if TYPE_CHECKING:
    from motet.tape import Tape
    from motet.train.builders import Built

PLAIN = ("agent_tuning", {"eta": 1.0})
"""What is done without --by: imitate every reply of the runs whose answer was right."""


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "--newest", type=click.IntRange(1), metavar="N", help="The N newest runs; no RUN is named then."
)
@click.option("--method", metavar="NAME", help="Of those, only runs of this method or team.")
@click.option(
    "--by", "builder", metavar="BUILDER", help="What is made of the runs; `motet tune` alone lists them."
)
@click.option("--set", "settings", multiple=True, metavar="K=V", help="A setting of the builder.")
@click.option("-m", "--model", default="torch:smollm2-135m", show_default=True, help="Weights to tune.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="VOICE=lora|full",
    help="How a voice is tuned; by default one adapter learns from all voices ('*=lora').",
)
@click.option(
    "--epochs", default=1, show_default=True, type=click.IntRange(1), help="Times through the data."
)
@click.option(
    "--batch", default=8, show_default=True, type=click.IntRange(1), help="Rows, or pairs, of a step."
)
@click.option("--lr", default=1e-3, show_default=True, help="Of the first step; it falls to 0.")
@click.option("--seed", default=0, show_default=True, help="Decides the order.")
@click.option("--out", metavar="DIR", help="Where the tuned voices go, a file each.")
@click.option(
    "--to", "form", metavar="FORMAT", help="Do not tune: write the data to --out for another trainer."
)
@json_option
def command(runs: tuple[str, ...], builder: str | None, as_json: bool, **given: Any) -> int:
    """Tune voices on runs that are there: what the team did well, its members learn.

    Without --by, every reply of a run whose answer was right is imitated. A BUILDER makes other data of runs:
    pairs for DPO, masked mistakes, a whole team for one model. First comes what is imitated, then what is
    preferred. Without any RUN: what builders there are.

    \b
    Examples:
      motet compare self_refine --suite 'arithmetic?difficulty=1' --n 40 --model local
      motet tune --newest 200 --method self_refine --out tuned
      motet run self_refine "What is 3 + 4?" --model torch:tuned/everybody.safetensors
      motet tune --newest 200 --by distill --to trl-sft --out data.jsonl
    """
    if not runs and not given["newest"]:
        _list(as_json)
        return 0
    if runs and given["newest"]:
        raise click.UsageError("name the runs, or say how many with --newest, not both")
    if not given["out"]:
        raise click.UsageError("say with --out where the result goes")
    built = build(chosen(runs, given["newest"], given["method"]), builder, given["settings"])
    made = {"counts": dict(built.counts), "rejected": dict(Counter(r.reason for r in built.rejected))}
    note(", ".join(f"{n} {name}" for name, n in built.counts.items()))
    for reason, n in made["rejected"].items():
        note(f"  left out: {n} × {reason}")
    if given["form"]:
        from motet.train.handoff import handoff

        handoff(built, given["form"], given["out"])
        document = {**made, "to": given["form"], "out": given["out"]}
    else:
        document = {**made, **learn(built, given)}
    if as_json:
        print_json(document)
    elif "tuned" in document:
        rows = [(name, *map(str, facts)) for name, facts in _facts(document)]
        console().print(make_table(("policy", "stage", "steps", "first loss", "last"), rows, right=[2, 3, 4]))
        for policy, file in document["tuned"].items():
            note(f"{policy}: --voice NAME=torch:{file}")
    else:
        note(f"written to {given['out']}")
    return 0


def chosen(runs: Sequence[str], newest: int | None, method: str | None) -> "list[Tape]":
    """The runs that are meant, oldest first.

    Raises:
        UnknownName: there is no such run. BadInput: none is left.
    """
    from motet.cli.runs import open_store
    from motet.errors import BadInput

    with open_store() as store:
        names = list(runs) or [tape.run for tape in store.runs(newest or 1)][::-1]
        tapes = [store.load(name) for name in names]
    found = [tape for tape in tapes if method in (None, tape.started.team)]
    if not found:
        others = ", ".join(sorted({tape.started.team for tape in tapes})) or "none at all"
        raise BadInput(f"none of these runs is of {method!r}; they are of {others}")
    return found


def build(tapes: "Sequence[Tape]", builder: str | None, settings: Sequence[str]) -> "Built":
    """The tuning data of some runs.

    Raises:
        UnknownName: no such builder. BadInput: the runs or the settings are not what it takes, or nothing in
            the runs is worth learning.
    """
    import inspect

    from motet.cli.words import pair, value_of
    from motet.errors import BadInput, UnknownName
    from motet.train.builders import BUILDERS

    name, options = (builder, dict[str, Any]()) if builder else PLAIN
    if name not in BUILDERS:
        raise UnknownName("builder of tuning data", name, BUILDERS)
    known = [
        p.name for p in inspect.signature(BUILDERS[name]).parameters.values() if p.kind is p.KEYWORD_ONLY
    ]
    for key, text in (pair("set", each, "K=V") for each in settings):
        if key not in known:
            raise UnknownName(f"setting of {name}", key, known)
        options = {**options, key: value_of(text)}
    built = BUILDERS[name](tapes, **options)
    if not (built.sft or built.dpo or built.kto):
        reasons = Counter(rejected.reason for rejected in built.rejected)
        told = "; ".join(f"{n} × {reason}" for reason, n in reasons.items())
        raise BadInput(
            f"{name} finds nothing to learn from in {len(tapes)} runs: {told or 'no reply is left'}"
        )
    return built


def learn(built: "Built", given: Mapping[str, Any]) -> dict[str, Any]:
    """Tune, imitation first and preferences after it, and save each policy.

    Returns:
        `tuned`: the file of each policy; `losses`: of every step, by stage and policy; `ledger`.
    """
    from motet.cli.words import pair
    from motet.models.trainable.weights import load_base
    from motet.train.engine import Adam
    from motet.train.made import engine_on, weights_of
    from motet.train.progress import shown
    from motet.train.rows import Ledger
    from motet.train.tune import Lesson, in_stages

    base = load_base(weights_of(given["model"], "every voice", "these runs"))
    asked = dict(pair("policy", each, "VOICE=lora|full") for each in given["policies"]) or {"*": "lora"}
    engine, policies = engine_on(base, asked)
    lesson = Lesson(
        epochs=given["epochs"], batch=given["batch"], adam=Adam(lr=given["lr"]), seed=given["seed"]
    )
    ledger, done = Ledger(), count(lesson.batch, lesson.batch)
    units = sum(sum(example.trained) for example in built.sft) + len(built.dpo) + len(built.kto)
    with shown(units * lesson.epochs, "tuning") as show:

        def on_step(policy: str, step: int, facts: Mapping[str, float]) -> None:
            show(min(next(done), units * lesson.epochs), facts)

        losses = in_stages(engine, built, base.vocabulary, policies, lesson, ledger=ledger, on_step=on_step)
    folder = Path(given["out"])
    folder.mkdir(parents=True, exist_ok=True)
    learned = {policy for found in losses.values() for policy in found}
    tuned = {policy: str(folder / f"{policy}.safetensors") for policy in sorted(learned)}
    for policy, file in tuned.items():
        engine.save(policy, file)
    return {
        "tuned": tuned,
        "losses": losses,
        "ledger": {"counts": ledger.counts, "rejected": ledger.rejected},
    }


def _facts(document: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (policy, (stage, str(len(found)), f"{found[0]:.4g}", f"{found[-1]:.4g}"))
        for stage, by_policy in document["losses"].items()
        for policy, found in by_policy.items()
    ]


def _list(as_json: bool) -> None:
    from motet.train.builders import BUILDERS, COLLECTORS

    known = [
        (name, COLLECTORS[name].name if name in COLLECTORS else "", _about(builder))
        for name, builder in BUILDERS.items()
    ]
    if as_json:
        print_json([{"name": name, "reads": team or None, "summary": words} for name, team, words in known])
    else:
        console().print(make_table(("builder", "reads runs of", "what it makes of them"), known))


def _about(builder: Any) -> str:
    return " ".join((builder.__doc__ or "").split("\n\n")[0].split())
