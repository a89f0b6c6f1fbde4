"""What does an agent inside the maze see? A ray-caster in numpy.

The eye always stands at the same place of a cell and looks along a row or a column. So the cells that
each ray passes, and how far away, are the same everywhere; they are worked out once per picture size,
and a picture only has to look up which of those cells are walls.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.style import RGB, Style, style_named
from visgym_maze.world.dynamics import DELTAS, MOVES, Action
from visgym_maze.world.layout import Cell, Layout

_BACK = 0.45  # the eye stands this far behind the cell's centre, to see the floor that it stands on
_SEAM = 0.04  # width of the dark lines between cells, in cells: they make distances countable
_DARK = (0.55, 0.7, 0.8)  # brightness of ceiling, seams, and walls that run along the line of sight


class _Rays(NamedTuple):
    """Where the rays of a picture go, in cells ahead of the agent and to its right.

    Attributes:
        ahead: Cell entered at each crossing of a cell border, int16 of shape ``(crossings, width)``.
        right: The same, to the right.
        distance: Depth of the crossing, in cells, float32 of the same shape.
        shade: Brightness of a wall there, float32 of the same shape.
        floor_ahead: Cell of the floor or ceiling at each pixel, int16 of shape ``(height, width)``.
        floor_right: The same, to the right.
        floor_shade: Brightness there, float32 of shape ``(height, width)``.
        rise: Height of each pixel row above or below the horizon, in pixels, float32.
        plane: Distance of the picture plane, in pixels.
    """

    ahead: NDArray[np.int16]
    right: NDArray[np.int16]
    distance: NDArray[np.float32]
    shade: NDArray[np.float32]
    floor_ahead: NDArray[np.int16]
    floor_right: NDArray[np.int16]
    floor_shade: NDArray[np.float32]
    rise: NDArray[np.float32]
    plane: float


def _fade(distance: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    return 1.0 / (1.0 + 0.12 * distance)


def _seam(position: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Whether a position, in cells from a cell's centre, lies at a border between cells."""
    return np.abs((np.abs(position) + 0.5) % 1.0 - 0.5) > 0.5 - _SEAM


@lru_cache(maxsize=16)
def _rays(height: int, width: int, fov: float, reach: int) -> _Rays:
    plane = width / 2 / math.tan(math.radians(fov) / 2)
    across = (np.arange(width) - (width - 1) / 2) / plane  # to the right, per cell of depth
    borders = np.arange(reach) + 0.5
    # Each ray crosses one border ahead per cell of depth, and borders to its side.
    fronts = np.broadcast_to((borders + _BACK)[:, None], (reach, width))
    sides = borders[:, None] / np.maximum(np.abs(across), 1e-9)[None, :]
    depth = np.concatenate([fronts, sides])
    order = np.argsort(depth, axis=0, kind="stable")
    depth = np.take_along_axis(depth, order, axis=0)
    is_front = order < reach
    along = np.where(is_front, depth * across, depth - _BACK)
    shade = _fade(depth) * np.where(is_front, 1.0, _DARK[2]) * np.where(_seam(along), _DARK[1], 1.0)

    rise = np.abs(np.arange(height) + 0.5 - height / 2)
    floor_depth = (0.5 * plane / np.maximum(rise, 0.25))[:, None]
    floor_across = floor_depth * across
    floor_along = np.broadcast_to(floor_depth - _BACK, floor_across.shape)
    lines = _seam(floor_across) | _seam(floor_along)
    floor_shade = _fade(floor_depth) * np.where(lines, _DARK[1], 1.0)
    floor_shade[: height // 2] *= _DARK[0]
    far = 2.0**14  # beyond any maze, and within int16
    return _Rays(
        ahead=np.cumsum(is_front, axis=0).astype(np.int16),
        right=(np.cumsum(~is_front, axis=0) * np.sign(across)).astype(np.int16),
        distance=depth.astype(np.float32),
        shade=shade.astype(np.float32),
        floor_ahead=np.clip(np.rint(floor_along), -far, far).astype(np.int16),
        floor_right=np.clip(np.rint(floor_across), -far, far).astype(np.int16),
        floor_shade=floor_shade.astype(np.float32),
        rise=rise.astype(np.float32),
        plane=plane,
    )


def _tint(colour: RGB, shade: NDArray[np.float32]) -> NDArray[np.uint8]:
    return (np.array(colour, dtype=np.float32) * shade[..., None]).astype(np.uint8)


@lru_cache(maxsize=16)
def _open_space(height: int, width: int, fov: float, reach: int, style: Style) -> NDArray[np.uint8]:
    """Floor and ceiling without any wall; read only."""
    frame = _tint(style.floor, _rays(height, width, fov, reach).floor_shade)
    frame.flags.writeable = False
    return frame


def render_first_person(
    layout: Layout,
    cell: Cell,
    heading: Action,
    *,
    height: int = 224,
    width: int = 224,
    fov: float = 90.0,
    style: str | Style = "visgym",
) -> NDArray[np.uint8]:
    """Draw what the agent sees. The goal is a cell with coloured floor and ceiling.

    Args:
        layout: The maze.
        cell: Where the agent stands.
        heading: Where it looks: one of the four moves.
        height: Of the picture, in pixels.
        width: Of the picture, in pixels.
        fov: Horizontal field of view, in degrees, above 0 and below 180.
        style: Name of a style or a :class:`~visgym_maze.view.style.Style`, for the colours.

    Returns:
        A fresh C-contiguous uint8 array of shape ``(height, width, 3)``, RGB.

    Raises:
        ValueError: If the heading is no move, the cell is a wall, or the picture has no size.
    """
    style = style_named(style)
    if heading not in MOVES:
        raise ValueError(f"heading must be one of the moves {[m.word for m in MOVES]}, got {heading!r}")
    if layout.is_wall(cell):
        raise ValueError(f"nobody can stand in {cell}: it is a wall")
    check_picture(height, width, fov)
    reach = max(layout.shape)
    rays = _rays(height, width, fov, reach)
    forward, right = DELTAS[heading], DELTAS[(heading - 1) % 4]

    # The first wall on each ray. Rays end at the wall ring, so what lies beyond may be clipped to it.
    rows = np.clip(cell[0] + rays.ahead * forward[0] + rays.right * right[0], 0, layout.height - 1)
    columns = np.clip(cell[1] + rays.ahead * forward[1] + rays.right * right[1], 0, layout.width - 1)
    hit = layout.grid[rows, columns].argmax(axis=0)[None]
    distance = np.take_along_axis(rays.distance, hit, axis=0)[0]
    walls = _tint(style.wall, np.take_along_axis(rays.shade, hit, axis=0)[0])

    frame = _open_space(height, width, fov, reach, style).copy()
    down, over = layout.goal[0] - cell[0], layout.goal[1] - cell[1]
    goal_ahead, goal_right = down * forward[0] + over * forward[1], down * right[0] + over * right[1]
    if goal_ahead >= 0:
        on_goal = (rays.floor_ahead == goal_ahead) & (rays.floor_right == goal_right)
        frame[on_goal] = _tint(style.goal, rays.floor_shade[on_goal])
    in_front = rays.rise[:, None] < 0.5 * rays.plane / distance
    np.copyto(frame, walls[None], where=in_front[..., None])
    return frame


def check_picture(height: int, width: int, fov: float) -> None:
    """Check the measures of a picture.

    Raises:
        ValueError: If it has no size, or a field of view of nothing or half the world.
    """
    if height < 8 or width < 8:
        raise ValueError(f"a picture needs at least 8x8 pixels, got {height}x{width}")
    if not 0.0 < fov < 180.0:
        raise ValueError(f"fov must lie between 0 and 180 degrees, got {fov}")
