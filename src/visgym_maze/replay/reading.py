"""Which episodes does a file hold? JSON lines of trajectories, whole or with a clear error."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from visgym_maze.dialogue.trajectory import StopReason, Trajectory, Turn
from visgym_maze.files import write_text
from visgym_maze.world.layout import Layout


class TrajectoryFileError(ValueError):
    """A file that can't be read as episodes; the message names the line and says what is wrong there."""


def write_trajectories(path: str | Path, trajectories: Iterable[Trajectory]) -> None:
    """Write one episode per line, as :func:`read_trajectories` reads them."""
    write_text(path, "".join(json.dumps(t.to_dict()) + "\n" for t in trajectories))


def read_trajectories(path: str | Path) -> list[Trajectory]:
    """Read what :func:`write_trajectories` wrote, or any program in the same format.

    Blank lines and fields that this version doesn't know are passed over. A last line that was cut off,
    as a killed program leaves it, is left out with a warning.

    Args:
        path: A file of JSON lines, each a :meth:`~visgym_maze.dialogue.trajectory.Trajectory.to_dict`.

    Returns:
        At least one episode, in the order of the file.

    Raises:
        TrajectoryFileError: If a line is no episode, or there are none.
        OSError: If the file can't be read.
    """
    path = Path(path)
    lines = path.read_bytes().split(b"\n")
    episodes: list[Trajectory] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                warnings.warn(f"{path}: line {number} is cut off and was left out", stacklevel=2)
                continue
            raise TrajectoryFileError(f"{path}, line {number}: no JSON in UTF-8 ({error})") from error
        try:
            episodes.append(_trajectory(record))
        except ValueError as error:
            raise TrajectoryFileError(f"{path}, line {number}: {error}") from error
    if not episodes:
        raise TrajectoryFileError(
            f"{path} holds no episodes; give a file of JSON lines, one Trajectory.to_dict() each"
        )
    return episodes


_NUMBER = (int, float)
_MAYBE_TEXT = (str, type(None))
_MAYBE_INT = (int, type(None))
_EPISODE = {
    "layout": dict,
    "turns": list,
    "stop_reason": _MAYBE_TEXT,
    "max_turns": int,
    "group": _MAYBE_INT,
    "rollout": _MAYBE_INT,
    "info": dict,
}
_TURN = {
    "text": str,
    "action": _MAYBE_TEXT,
    "failure": _MAYBE_TEXT,
    "well_formed": bool,
    "cell": list,
    "bumped": bool,
    "reward": _NUMBER,
    "feedback": str,
    "path": list,
}


def _trajectory(record: Any) -> Trajectory:
    """One episode out of what JSON gave; a ValueError says what is wrong with it."""
    data = _checked(record, _EPISODE, "the episode")
    reason = data["stop_reason"]
    if reason is not None and reason not in list(StopReason):  # Python 3.11 has no "text in Enum"
        raise ValueError(f"unknown stop_reason {reason!r}; known: {', '.join(StopReason)}")
    layout = Layout.from_dict(data["layout"])
    turns = tuple(_turn(turn, layout, number) for number, turn in enumerate(data["turns"], start=1))
    _check_way(layout, turns)
    data.update(layout=layout, turns=turns, stop_reason=None if reason is None else StopReason(reason))
    return Trajectory(**data)


def _turn(record: Any, layout: Layout, number: int) -> Turn:
    data = _checked(record, _TURN, f"turn {number}")
    # The comparison is False for a NaN too; below the bound, sums and squares of rewards stay finite.
    if not abs(data["reward"]) < 1e100:
        raise ValueError(f"turn {number}: {str(data['reward'])[:40]} is no finite reward")
    cells = [data["cell"], *data["path"]]
    for cell in cells:
        whole = isinstance(cell, list) and len(cell) == 2 and all(type(n) is int for n in cell)
        if not whole or layout.is_wall((cell[0], cell[1])):
            raise ValueError(f"turn {number}: {str(cell)[:40]} is no free [row, column] of its maze")
    cell, *path = ((row, column) for row, column in cells)
    data.update(cell=cell, path=tuple(path))
    return Turn(**data)


def _check_way(layout: Layout, turns: Sequence[Turn]) -> None:
    """The agent walks from cell to cell; a record in which it does not would be shown as if it could."""
    here = layout.start
    for number, turn in enumerate(turns, start=1):
        for cell in turn.path:
            if abs(cell[0] - here[0]) + abs(cell[1] - here[1]) != 1:
                raise ValueError(f"turn {number}: no single move leads from {here} to {cell}")
            here = cell
        if turn.cell != here:
            raise ValueError(f"turn {number}: the agent stands on {turn.cell}, its path ends on {here}")


def _checked(record: Any, types: dict[str, Any], what: str) -> dict[str, Any]:
    """The known fields of a record, each of its type."""
    if not isinstance(record, dict):
        raise ValueError(f"{what} has to be a JSON object, got {str(record)[:40]!r}")
    for name, kind in types.items():
        if name not in record:
            raise ValueError(f"{what} has no field {name!r}")
        value = record[name]
        # JSON's true is no number, though Python's True is one.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{name} of {what} can't be {str(value)[:40]!r}")
    return {name: record[name] for name in types}
