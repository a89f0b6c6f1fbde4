"""What can an agent do, and where does it end up?"""

from __future__ import annotations

from enum import IntEnum

from visgym_maze.world.layout import Cell, Layout


class Action(IntEnum):
    """The five actions; the numbers of the moves are those of VisGym's maze."""

    RIGHT = 0
    UP = 1
    LEFT = 2
    DOWN = 3
    STOP = 4

    @property
    def word(self) -> str:
        """The name used in prompts and answers, for example ``"left"``."""
        return self.name.lower()


MOVES: tuple[Action, ...] = (Action.RIGHT, Action.UP, Action.LEFT, Action.DOWN)
DELTAS: tuple[Cell, ...] = ((0, 1), (-1, 0), (0, -1), (1, 0), (0, 0))
"""``(row, column)`` change of each action, indexed by its number."""

ACTION_BY_WORD: dict[str, Action] = {action.word: action for action in Action}


def transition(layout: Layout, cell: Cell, action: Action) -> tuple[Cell, bool]:
    """Move one cell.

    Args:
        layout: The maze.
        cell: Where the agent stands.
        action: What it does. ``STOP`` moves nothing.

    Returns:
        The cell afterwards, and whether the agent bumped into a wall (it then stays put).
    """
    delta = DELTAS[action]
    row, column = cell[0] + delta[0], cell[1] + delta[1]
    if layout.walls[row * layout.width + column]:
        return cell, True
    return (row, column), False
