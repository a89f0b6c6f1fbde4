"""How does a maze look as text? In characters, and as a position in words."""

from __future__ import annotations

from visgym_maze.view.tiles import AGENT, FLOOR, FOG, GOAL, TRAIL, WALL, cell_indices
from visgym_maze.world.dynamics import DELTAS, MOVES
from visgym_maze.world.layout import Cell, Layout

AGENT_CHAR = "A"

TEXTS: dict[str, str] = {
    "ascii": "The maze is drawn in characters, seen from above: # is a wall, . is free, A is you, G is the "
    "goal, + is where you have been and ? is hidden.",
    "position": "You are told where you and the goal are, and which ways are free. Rows count down from "
    "the top, columns from the left.",
}
"""Sentences that explain each kind of text."""

_CHARS = {WALL: "#", FLOOR: ".", GOAL: "G", AGENT: AGENT_CHAR, TRAIL: "+", FOG: "?"}
_TO_CHARS = bytes(ord(_CHARS.get(value, "?")) for value in range(256))


def grid_text(cells: bytes, width: int, agent: Cell | None = None) -> str:
    """Lines of characters, one for each palette index in ``cells``, ``A`` where the agent stands."""
    text = cells.translate(_TO_CHARS).decode("ascii")
    if agent is not None:
        place = agent[0] * width + agent[1]
        text = text[:place] + AGENT_CHAR + text[place + 1 :]
    return "\n".join(text[start : start + width] for start in range(0, len(text), width))


def ascii_view(layout: Layout, agent: Cell | None = None) -> str:
    """Lines of ``#`` (wall), ``.`` (floor), ``G`` (goal) and ``A`` (agent, shown over the goal)."""
    return grid_text(cell_indices(layout).tobytes(), layout.width, agent)


def coordinates(layout: Layout, agent: Cell) -> str:
    """One line that names the agent's and the goal's cell, row first."""
    return f"agent (row {agent[0]}, column {agent[1]}); goal (row {layout.goal[0]}, column {layout.goal[1]})"


def position_text(layout: Layout, agent: Cell, fog: int | None = None) -> str:
    """The same in sentences, with the ways that are free; a goal further than ``fog`` isn't named."""
    row, column = agent
    free = [m.word for m in MOVES if not layout.is_wall((row + DELTAS[m][0], column + DELTAS[m][1]))]
    away = max(abs(row - layout.goal[0]), abs(column - layout.goal[1]))
    hidden = fog is not None and away > fog
    goal = "out of sight" if hidden else f"in row {layout.goal[0]}, column {layout.goal[1]}"
    ways = ", ".join(free) or "nowhere"
    return f"You are in row {row}, column {column}. The goal is {goal}. Free ways: {ways}."
