"""How do episodes become pictures? One as a moving GIF, several side by side on a sheet."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace

from PIL import Image, ImageDraw, ImageFont

from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.replay.grouping import advantages
from visgym_maze.view.frames import render
from visgym_maze.view.style import RGB, Style
from visgym_maze.world.layout import Cell

_SIDE = 240  # pixels of a maze's longer side, as far as whole pixels per cell allow
_CAPTION = 20
_GAP = 8
_TURN_MS, _END_MS = 450, 1800
_INK, _PAPER = (28, 33, 48), (255, 255, 255)
_GOOD, _BAD = (23, 128, 61), (196, 40, 45)
_STYLE = Style(wall=(198, 202, 210), goal=(229, 72, 77), agent=(45, 91, 227))
_TRAIL: RGB = (150, 176, 243)


def episode_gif(trajectory: Trajectory) -> bytes:
    """An episode as an animated GIF that repeats: one frame per cell entered, with the turn below.

    Args:
        trajectory: The episode.

    Returns:
        A complete GIF file. Its last frame stays longest and says how the episode ended.
    """
    frames = [_captioned(picture, text) for picture, text in _moments(trajectory)]
    frames.append(_captioned(_maze(trajectory), _ending(trajectory), _colour(trajectory)))
    file = io.BytesIO()
    durations = [_TURN_MS] * (len(frames) - 1) + [_END_MS]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return file.getvalue()


def contact_sheet(
    trajectories: Sequence[Trajectory], *, captions: Sequence[str] | None = None, columns: int = 4
) -> bytes:
    """Several episodes side by side, each with the way that it walked.

    Args:
        trajectories: The episodes, for example a group; at least one.
        captions: What stands below each; by default how it ended, its reward and its advantage.
        columns: Most pictures in a row.

    Returns:
        A complete PNG file.

    Raises:
        ValueError: If there are no episodes, or not as many captions as episodes.
    """
    if not trajectories:
        raise ValueError("a contact sheet needs at least one episode")
    if captions is None:
        found = advantages(trajectories)
        captions = [_scored(t, advantage) for t, advantage in zip(trajectories, found, strict=True)]
    tiles = [_captioned(_maze(t), c, _colour(t)) for t, c in zip(trajectories, captions, strict=True)]
    columns = min(columns, len(tiles))
    width, height = max(t.width for t in tiles) + _GAP, max(t.height for t in tiles) + _GAP
    rows = -(-len(tiles) // columns)
    sheet = Image.new("RGB", (columns * width + _GAP, rows * height + _GAP), _PAPER)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        sheet.paste(tile, (_GAP + column * width, _GAP + row * height))
    file = io.BytesIO()
    sheet.save(file, "PNG", optimize=True)
    return file.getvalue()


def _moments(trajectory: Trajectory) -> Iterator[tuple[Image.Image, str]]:
    """The picture at the start, after every cell entered, and after turns that entered none."""
    visited = [trajectory.layout.start]
    yield _maze(trajectory, visited), "start"
    for number, turn in enumerate(trajectory.turns, start=1):
        said = turn.action if turn.failure is None else f"no action ({turn.failure})"
        text = f"turn {number}: {said}{', wall' if turn.bumped else ''}"
        for cell in turn.path:
            visited.append(cell)
            yield _maze(trajectory, visited), text
        if not turn.path:
            yield _maze(trajectory, visited), text


def _maze(trajectory: Trajectory, visited: Sequence[Cell] | None = None) -> Image.Image:
    """The maze with a line along the cells that were visited, by default all, and the agent at their end."""
    layout = trajectory.layout
    if visited is None:
        visited = [layout.start, *(cell for turn in trajectory.turns for cell in turn.path)]
    size = max(_SIDE // max(layout.shape), 4)
    picture = Image.fromarray(render(layout, None, replace(_STYLE, cell=size)))
    points = [(column * size + size // 2, row * size + size // 2) for row, column in visited]
    pen = ImageDraw.Draw(picture)
    if len(points) > 1:
        pen.line(points, fill=_TRAIL, width=max(size // 5, 1), joint="curve")
    (x, y), radius = points[-1], size * 0.3
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_STYLE.agent)
    return picture


def _captioned(picture: Image.Image, text: str, colour: RGB = _INK) -> Image.Image:
    """The picture with a line of text below, cut to its width."""
    tile = Image.new("RGB", (max(picture.width, _SIDE), picture.height + _CAPTION), _PAPER)
    tile.paste(picture, (0, 0))
    # The built-in font has Latin letters only, and what JSON calls an action can be any text.
    plain = text.encode("ascii", "replace").decode()[:60]
    ImageDraw.Draw(tile).text((2, picture.height + 3), plain, colour, ImageFont.load_default(12))
    return tile


def _colour(trajectory: Trajectory) -> RGB:
    return _GOOD if trajectory.success else _BAD


def _ending(trajectory: Trajectory) -> str:
    reason = "solved" if trajectory.success else str(trajectory.stop_reason or "unfinished").replace("_", " ")
    return f"{reason}, reward {trajectory.total_reward:.2f}"


def _scored(trajectory: Trajectory, advantage: float | None) -> str:
    return _ending(trajectory) + ("" if advantage is None else f", adv. {advantage:+.2f}")
