"""Which episodes have been played? A file of JSON lines that grows by one as each episode ends."""

from __future__ import annotations

import json
from pathlib import Path

from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze.files import write_bytes


def is_lost(episode: Trajectory) -> bool:
    """Whether it ended because the policy failed to answer, which is no result of the policy's play."""
    return episode.stop_reason is StopReason.ERROR


class EpisodeFile:
    """Trajectories on disk, one :meth:`~visgym_maze.dialogue.trajectory.Trajectory.to_dict` a line.

    Args:
        path: The file; it and its folder are made by the first episode.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def read(self) -> list[Trajectory]:
        """All episodes so far. What a killed writer has left of a line is cut off the file.

        Raises:
            ValueError: If a whole line holds no episode.
        """
        if not self.path.exists():
            return []
        self._repair()
        episodes: list[Trajectory] = []
        for number, line in enumerate(self.path.read_bytes().splitlines(), start=1):
            try:
                episodes.append(Trajectory.from_dict(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{self.path}, line {number} holds no episode ({error}); delete the line to play it "
                    "again, or choose another file"
                ) from error
        return episodes

    def drop_lost(self) -> int:
        """Take episodes out that ended because the policy failed; the others stay as they are, byte for byte.

        Returns:
            How many there were.

        Raises:
            ValueError: If a whole line holds no episode.
        """
        lost = [is_lost(episode) for episode in self.read()]
        if any(lost):
            lines = self.path.read_bytes().splitlines(keepends=True)
            write_bytes(self.path, b"".join(line for line, gone in zip(lines, lost, strict=True) if not gone))
        return sum(lost)

    def append(self, episode: Trajectory) -> None:
        """Add an episode; it is out of this process's hands on return."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(episode.to_dict()).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(line)

    def _repair(self) -> None:
        """Drop a last line without its end. Whatever is whole stays as it is, byte for byte."""
        with self.path.open("r+b") as file:
            data = file.read()
            file.truncate(data.rfind(b"\n") + 1)
