"""Prices come from a table, and what is not in it is unknown."""

import socket
import subprocess
import sys

import pytest

from motet.models.prices import price
from motet.types import Usage

USAGE = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


def test_known_models_have_prices():
    assert price("gpt-5-mini", "openai", USAGE) == pytest.approx(2.25)
    assert price("gpt-5-mini", "https://api.openai.com/v1", USAGE) == pytest.approx(2.25)
    assert price("claude-sonnet-4-5", "anthropic", Usage(1000, 1000)) == pytest.approx(0.018)


def test_cached_input_is_cheaper():
    cached = Usage(input_tokens=1_000_000, output_tokens=1_000_000, cached_tokens=500_000)
    assert 0 < price("gpt-5-mini", "openai", cached) < price("gpt-5-mini", "openai", USAGE)


@pytest.mark.parametrize(
    ("model", "provider"),
    [("no-such-model", "openai"), ("gpt-5-mini", "no-such-provider"), ("gpt-5-mini", None),
     ("gpt-5-mini", "http://127.0.0.1:8080/v1")],
)  # fmt: skip
def test_unknown_is_none_and_not_zero(model, provider):
    assert price(model, provider, USAGE) is None


def test_unknown_usage_has_no_price():
    assert price("gpt-5-mini", "openai", Usage(calls=1)) is None


def test_no_network_is_touched(monkeypatch):
    def refuse(*args):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert price("gpt-5-nano", "openai", USAGE) is not None


def test_heavy_packages_are_imported_late():
    code = (
        "import sys, motet.models.openai_api, motet.models.providers\n"
        "print([m for m in ('openai', 'any_llm', 'genai_prices', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
