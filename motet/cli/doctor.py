"""`motet doctor`: is everything here that Motet needs?"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Literal

import click
from msgspec import Struct

from motet.cli.output import console, json_option, print_json

KEYS = (
    "OPENAI_API_KEY",
    "MOTET_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "MOTET_AGENT_TOKEN",
    "MOTET_SERVE_TOKEN",
)
SIGNS = {"ok": "[green]✓[/]", "warn": "[yellow]![/]", "fail": "[red]✗[/]"}


class Check(Struct, frozen=True, omit_defaults=True):
    """One line of the report. `fix` says what to do, where there is something to do."""

    state: Literal["ok", "warn", "fail"]
    name: str
    detail: str
    fix: str = ""


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Check this machine: packages, weights, sandbox, store, keys. No network is needed.

    \b
    Example:
      motet doctor
    """
    checks = [check for part in PARTS for check in part()]
    if as_json:
        print_json({"ok": all(c.state != "fail" for c in checks), "checks": checks})
    else:
        _print(checks)
    return int(any(check.state == "fail" for check in checks))


def _print(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    page = Table.grid(padding=(0, 1))
    page.add_column()
    page.add_column(no_wrap=True, style="bold")
    page.add_column(overflow="fold")
    for check in checks:
        page.add_row(SIGNS[check.state], Text(check.name), Text(check.detail))
        if check.fix:
            page.add_row("", "", Text(f"→ {check.fix}", "yellow"))
    console().print(page)


def check_python() -> Iterator[Check]:
    yield Check("ok", "python", f"{sys.version.split()[0]} at {sys.executable}")


def check_packages() -> Iterator[Check]:
    """What is required, then each extra."""
    from importlib import metadata

    groups: dict[str, list[str]] = {}
    for line in metadata.requires("motet") or []:
        if (named := re.match(r"[\w.-]+", line)) and named[0] != "motet":
            wanted_by = re.search(r"extra == ['\"](\w+)['\"]", line)
            groups.setdefault(wanted_by[1] if wanted_by else "", []).append(named[0])
    for extra, packages in groups.items():
        if extra in ("all", "dev"):  # sums of the others
            continue
        versions = {package: _version(package) for package in packages}
        missing = [package for package, version in versions.items() if version is None]
        detail = ", ".join(f"{package} {version or 'missing'}" for package, version in versions.items())
        if not extra:
            fix = f"pip install {' '.join(missing)}" if missing else ""
            yield Check("fail" if missing else "ok", f"motet {metadata.version('motet')}", detail, fix)
        else:
            fix = f"pip install 'motet[{extra}]'" if missing else ""
            yield Check("warn" if missing else "ok", f"extra {extra}", detail, fix)


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_weights() -> Iterator[Check]:
    from motet.cli.models import local_weights

    for weights in local_weights():
        if weights["present"]:
            yield Check("ok", f"local:{weights['name']}", f"weights at {weights['path']}")
        else:
            fix = f"motet models pull {weights['name']}"
            yield Check("warn", f"local:{weights['name']}", "weights are not fetched yet", fix)


def check_sandbox() -> Iterator[Check]:
    """Really runs a line of Python."""
    import asyncio

    from motet.errors import SandboxUnavailable
    from motet.tools.sandbox import default_sandbox

    try:
        outcome = asyncio.run(default_sandbox().run("print(6 * 7)"))
    except SandboxUnavailable as error:
        yield Check("warn", "sandbox", "none that is safe: code of models will not be run", str(error))
        return
    if outcome.ok and outcome.stdout.strip() == "42":
        yield Check("ok", "sandbox", f"ran a line of Python in {outcome.wall_s * 1000:.0f} ms")
    else:
        yield Check(
            "warn", "sandbox", f"a line of Python ended with {outcome.reason}: {outcome.stderr[-200:]}"
        )


def check_store() -> Iterator[Check]:
    """Opens the store, or sees whether one could be made."""
    from motet.errors import StoreError
    from motet.tape import Store, home

    path = (home() / "tape.db").absolute()
    fix = "set MOTET_HOME to a folder that can be written"
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.exists())
        writable = os.access(folder, os.W_OK)
        yield Check(
            "ok" if writable else "fail", "store", f"none yet; {path} would be made", "" if writable else fix
        )
        return
    try:
        store = Store(path)
        known = len(store.runs(1000))
        store.close()
    except StoreError as error:
        yield Check("fail", "store", str(error), fix)
        return
    if os.access(path, os.W_OK):
        yield Check("ok", "store", f"{path}, {known}{'+' if known == 1000 else ''} runs")
    else:
        yield Check("fail", "store", f"{path} cannot be written", fix)


def check_keys() -> Iterator[Check]:
    """Whether keys are set; never what they are."""
    there = [key for key in KEYS if os.environ.get(key)]
    absent = [key for key in KEYS if key not in there]
    detail = f"set: {', '.join(there) or 'none'}; not set: {', '.join(absent) or 'none'}"
    yield Check("ok", "keys", f"{detail} (local models need none)")


PARTS: tuple[Callable[[], Iterator[Check]], ...] = (
    check_python,
    check_packages,
    check_weights,
    check_sandbox,
    check_store,
    check_keys,
)
