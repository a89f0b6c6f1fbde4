"""How is a split written down, and is what a file says about its mazes true?"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visgym_maze.world.algorithms import GENERATORS
from visgym_maze.world.endpoints import ENDPOINTS
from visgym_maze.world.generation import check_size, resolve
from visgym_maze.world.layout import Layout
from visgym_maze.world.solver import UNREACHABLE, solve

if TYPE_CHECKING:
    from visgym_maze.world.splits import Split, SplitSpec

MANIFEST_FORMAT = "visgym-maze/split/1"


def to_manifest(split: Split) -> dict[str, Any]:
    """A JSON-ready record of the spec, every maze and the key."""
    return {
        "format": MANIFEST_FORMAT,
        "spec": asdict(split.spec),
        "key": split.key,
        "levels": [layout.to_dict() for layout in split.levels],
    }


def read_manifest(path: str | Path, make_spec: type[SplitSpec]) -> tuple[SplitSpec, tuple[Layout, ...], str]:
    """The spec, the mazes and the key that a file holds.

    Raises:
        ValueError: If it is no manifest, or the spec contradicts itself or the mazes.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no split manifest: no JSON in UTF-8 ({error})") from error
    if not isinstance(data, dict) or data.get("format") != MANIFEST_FORMAT:
        raise ValueError(f"{path} is not a split manifest of format {MANIFEST_FORMAT}")
    try:
        spec = make_spec(**data["spec"])
        height, width = spec.size
        spec = replace(spec, size=check_size((height, width)))
        levels, key = tuple(Layout.from_dict(level) for level in data["levels"]), data["key"]
        resolve(spec.generator, GENERATORS, "maze generator")
        resolve(spec.endpoints, ENDPOINTS, "endpoint policy")
        faults = (fault for layout in levels if (fault := _contradiction(layout, spec)))
        fault = next(faults, None)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is a malformed split manifest: {error!r}") from None
    if fault:
        raise ValueError(f"{path} holds {fault}")
    return spec, levels, key


def _contradiction(layout: Layout, spec: SplitSpec) -> str | None:
    """What the spec says and a maze is not."""
    if layout.shape != spec.size:
        height, width = spec.size
        return f"{layout!r}, but says that its mazes are {height}x{width}"
    solution = solve(layout)
    if spec.max_moves is not None and not 0 <= solution.moves <= spec.max_moves:
        return f"{layout!r} of {solution.moves} moves, but says max_moves={spec.max_moves}"
    # A tree over the rooms has one opening less than rooms; loops need more.
    rooms = (layout.height // 2) * (layout.width // 2)
    floor, tree = layout.walls.count(0), 2 * rooms - 1
    joined = sum(distance != UNREACHABLE for distance in solution.table) == floor
    if not joined or (floor < tree if spec.generator == "braided" else floor != tree):
        return f"{layout!r}, but says generator={spec.generator!r}, which makes no such maze"
    return None
