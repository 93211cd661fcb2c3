"""Experience: problems that were solved before, kept from run to run and found again by what they share."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from motet.errors import BadInput
from motet.memory import BM25
from motet.tape.keys import digest


class Episode(Struct, frozen=True):
    """A problem and how it was solved."""

    problem: str
    solution: str


class Experience:
    """A long-term memory of solved problems, which grows as runs write back to it.

    Args:
        episodes: what it begins with.
    """

    def __init__(self, episodes: Iterable[Episode] = ()) -> None:
        self.episodes: list[Episode] = []
        self._file: Path | None = None
        self._index = BM25()
        for episode in episodes:
            self.keep(episode)

    @classmethod
    def read(cls, path: str | Path) -> "Experience":
        """Read what `write` wrote.

        Raises:
            BadInput: the file cannot be read, or a line of it is no episode.
        """
        try:
            return cls(msgspec.json.Decoder(Episode).decode_lines(Path(path).read_bytes()))
        except (OSError, msgspec.DecodeError) as error:
            raise BadInput(f"{path}: {error}; expected lines of {{problem, solution}}") from error

    @classmethod
    def kept_in(cls, path: str | Path) -> "Experience":
        """The experience that a file holds, and into which it grows; begun where there is none yet.

        The command line makes it of a path: `--set experience=FILE`.

        Raises:
            BadInput: the file can be neither read nor made, or a line of it is no episode.
        """
        try:
            with Path(path).open("a+b") as file:
                file.seek(0)
                if (text := file.read()) and not text.endswith(b"\n"):
                    file.write(b"\n")
        except OSError as error:
            raise BadInput(f"{error}; expected a file that can be written") from error
        found = cls.read(path)
        found._file = Path(path)
        return found

    def write(self, path: str | Path) -> None:
        """Write it to a file, an episode a line."""
        Path(path).write_bytes(msgspec.json.Encoder().encode_lines(self.episodes))

    def keep(self, episode: Episode) -> None:
        """Add an episode; the same problem with the same solution is kept once."""
        if episode not in self.episodes:
            self.episodes.append(episode)
            self._index.add(episode.problem)
            if self._file:
                with self._file.open("ab") as file:
                    file.write(msgspec.json.encode(episode) + b"\n")

    def recall(self, problem: str, k: int) -> list[Episode]:
        """The `k` episodes whose problems share the rarest words with this one, best first."""
        ranked = sorted(zip(self._index.scores(problem), self.episodes, strict=True), key=lambda row: -row[0])
        return [episode for score, episode in ranked[:k] if score > 0]

    def __repr__(self) -> str:
        return f"Experience({len(self.episodes)} episodes, {digest(self.episodes)[:12]})"
