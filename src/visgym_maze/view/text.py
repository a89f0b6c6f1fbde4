"""How does a maze look as text? ASCII with the agent, and coordinates."""

from __future__ import annotations

from visgym_maze.world.layout import Cell, Layout

AGENT_CHAR = "A"


def ascii_view(layout: Layout, agent: Cell | None = None) -> str:
    """Lines of ``#`` (wall), ``.`` (floor), ``G`` (goal) and ``A`` (agent, shown over the goal)."""
    rows = [line.replace("S", ".") for line in layout.to_ascii().split("\n")]
    if agent is not None:
        row, column = agent
        rows[row] = rows[row][:column] + AGENT_CHAR + rows[row][column + 1 :]
    return "\n".join(rows)


def coordinates(layout: Layout, agent: Cell) -> str:
    """One line that names the agent's and the goal's cell, row first."""
    return f"agent (row {agent[0]}, column {agent[1]}); goal (row {layout.goal[0]}, column {layout.goal[1]})"
