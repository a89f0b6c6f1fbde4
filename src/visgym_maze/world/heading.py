"""What can an agent that looks somewhere do, and how far is it from the goal? Turning counts."""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from functools import lru_cache

from visgym_maze.world.dynamics import DELTAS, MOVES, Action, transition
from visgym_maze.world.layout import Cell, Layout


class HeadedAction(IntEnum):
    """The four actions of an agent with a heading."""

    TURN_LEFT = 0
    TURN_RIGHT = 1
    FORWARD = 2
    STOP = 3


def headed_transition(
    layout: Layout, cell: Cell, heading: Action, action: HeadedAction
) -> tuple[Cell, Action, bool]:
    """Turn by a quarter, or move one cell ahead.

    Returns:
        The cell and the heading afterwards, and whether the agent bumped into a wall.
    """
    if action is HeadedAction.FORWARD:
        after, bumped = transition(layout, cell, heading)
        return after, heading, bumped
    # The moves are numbered counter-clockwise: right, up, left, down.
    turn = {HeadedAction.TURN_LEFT: 1, HeadedAction.TURN_RIGHT: -1}.get(action, 0)
    return cell, MOVES[(heading + turn) % 4], False


@lru_cache(maxsize=1024)
def headed_distances(layout: Layout) -> dict[tuple[Cell, Action], int]:
    """Actions from every cell and heading to the goal, any heading there; what can't reach it is absent."""
    distances = {(layout.goal, heading): 0 for heading in MOVES}
    queue = deque(distances)
    while queue:
        cell, heading = here = queue.popleft()
        delta = DELTAS[heading]
        behind = cell[0] - delta[0], cell[1] - delta[1]
        # The states from which one action leads here.
        sources = [(cell, MOVES[(heading + turn) % 4]) for turn in (1, -1)]
        if not layout.is_wall(behind):
            sources.append((behind, heading))
        for source in sources:
            if source not in distances:
                distances[source] = distances[here] + 1
                queue.append(source)
    return distances
