"""Where do the actions of one turn lead?"""

from __future__ import annotations

from typing import NamedTuple

from visgym_maze.world.dynamics import Action, transition
from visgym_maze.world.layout import Cell, Layout

_STOP = Action.STOP


class Walk(NamedTuple):
    """What the actions of a turn did.

    Attributes:
        path: The cells entered, in order.
        heading: The last move tried, or where the agent looked before.
        bumped: Whether a wall was in the way.
        stopped: Whether the agent stopped.
    """

    path: tuple[Cell, ...]
    heading: Action
    bumped: bool
    stopped: bool


def walk(
    layout: Layout, cell: Cell, heading: Action, actions: tuple[Action, ...], ends_on_goal: bool
) -> Walk:
    """Play actions in order, up to the first wall or stop.

    Args:
        layout: The maze.
        cell: Where the agent stands.
        heading: Where it looks.
        actions: What it does.
        ends_on_goal: Whether it goes no further once it has reached the goal.
    """
    path: tuple[Cell, ...] = ()
    for action in actions:
        if action is _STOP:
            return Walk(path, heading, False, True)
        heading = action
        cell, bumped = transition(layout, cell, action)
        if bumped:
            return Walk(path, heading, True, False)
        path = (*path, cell)
        if ends_on_goal and cell == layout.goal:
            break
    return Walk(path, heading, False, False)
