"""Every test has a project of its own, and none reaches a host that is not this machine."""

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from motet.cli.doctor import KEYS

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)  # pytest --hypothesis-profile search
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Give each worker a core of its own: engines whose threads wait for each other crawl when they share.

    Programs that a shell starts in the background ignore Ctrl-C, and so would those that tests start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


@pytest.fixture(autouse=True)
def own_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "motet-home"))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "localhost", "::1"):
            raise AssertionError(f"a test tried to reach {address[0]!r}; tests stay on this machine")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
