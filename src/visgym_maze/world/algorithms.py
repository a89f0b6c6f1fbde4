"""Which corridors does a maze have? One function per generation algorithm.

Every function takes ``(height, width, rng)`` and returns the walls as ``height * width`` bytes. Sizes are
odd and count the wall ring; the rooms lie at odd rows and columns, and each algorithm opens the
walls between some of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

MazeGenerator = Callable[[int, int, np.random.Generator], bytes]
"""``(height, width, rng) -> walls``; any picklable object with this call can be handed in."""

Neighbours = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=64)
def _rooms(height: int, width: int) -> tuple[tuple[int, ...], Neighbours]:
    """Flat indices of all rooms, and for each room the positions (in that list) of its neighbours."""
    columns, rows = (width - 1) // 2, (height - 1) // 2
    cells = tuple((2 * r + 1) * width + 2 * c + 1 for r in range(rows) for c in range(columns))
    neighbours = tuple(
        tuple(
            (r + dr) * columns + c + dc
            for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))
            if 0 <= r + dr < rows and 0 <= c + dc < columns
        )
        for r in range(rows)
        for c in range(columns)
    )
    return cells, neighbours


def _carve(height: int, width: int, edges: list[tuple[int, int]]) -> bytes:
    """Open all rooms, and the wall between the two rooms of each edge."""
    cells, _ = _rooms(height, width)
    walls = bytearray(b"\x01" * (height * width))
    for cell in cells:
        walls[cell] = 0
    for a, b in edges:
        walls[(cells[a] + cells[b]) // 2] = 0
    return bytes(walls)


def _stdlib_random(rng: np.random.Generator) -> random.Random:
    """A ``random.Random``, whose scalar draws cost a fraction of numpy's, started from ``rng``."""
    return random.Random(int(rng.integers(2**63)))


def wilson(height: int, width: int, rng: np.random.Generator) -> bytes:
    """A uniform spanning tree by loop-erased random walks (D. B. Wilson, STOC 1996)."""
    draw = _stdlib_random(rng).random
    _, neighbours = _rooms(height, width)
    count = len(neighbours)
    visited = bytearray(count)
    exits = [0] * count
    visited[int(draw() * count)] = 1
    edges: list[tuple[int, int]] = []
    for first in range(count):
        room = first
        while not visited[room]:
            options = neighbours[room]
            exits[room] = room = options[int(draw() * len(options))]
        room = first
        while not visited[room]:
            visited[room] = 1
            edges.append((room, exits[room]))
            room = exits[room]
    return _carve(height, width, edges)


def wilson_visgym(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Wilson's algorithm with the sequence of draws that VisGym's maze makes.

    From a generator in the same state it returns the same walls as VisGym; several times slower
    than :func:`wilson`, and equal to it in distribution.
    """
    randint = random.Random(int(rng.integers(2**32))).randint
    rows, columns = (height - 1) // 2, (width - 1) // 2
    steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
    unvisited = [(r, c) for r in range(rows) for c in range(columns)]
    visited = {unvisited.pop(randint(0, len(unvisited) - 1))}
    edges: list[tuple[int, int]] = []
    while unvisited:
        first = unvisited[randint(0, len(unvisited) - 1)]
        exits: dict[tuple[int, int], tuple[int, int]] = {}
        room = first
        while room not in visited:
            while True:
                dr, dc = steps[randint(0, 3)]
                after = room[0] + dr, room[1] + dc
                if 0 <= after[0] < rows and 0 <= after[1] < columns:
                    break
            exits[room] = room = after
        room = first
        while room not in visited:
            after = exits[room]
            edges.append((room[0] * columns + room[1], after[0] * columns + after[1]))
            visited.add(room)
            unvisited.remove(room)
            room = after
    return _carve(height, width, edges)


def dfs(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Randomised depth-first search: long winding corridors, few junctions."""
    draw = _stdlib_random(rng).random
    _, neighbours = _rooms(height, width)
    visited = bytearray(len(neighbours))
    stack = [int(draw() * len(neighbours))]
    visited[stack[0]] = 1
    edges: list[tuple[int, int]] = []
    while stack:
        options = [room for room in neighbours[stack[-1]] if not visited[room]]
        if not options:
            stack.pop()
            continue
        room = options[int(draw() * len(options))]
        visited[room] = 1
        edges.append((stack[-1], room))
        stack.append(room)
    return _carve(height, width, edges)


def prim(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Randomised Prim: grow from one room by a random border wall; many short dead ends."""
    draw = _stdlib_random(rng).random
    _, neighbours = _rooms(height, width)
    visited = bytearray(len(neighbours))
    first = int(draw() * len(neighbours))
    visited[first] = 1
    border = [(first, room) for room in neighbours[first]]
    edges: list[tuple[int, int]] = []
    while border:
        pick = int(draw() * len(border))
        border[pick], border[-1] = border[-1], border[pick]
        edge = border.pop()
        room = edge[1]
        if visited[room]:
            continue
        visited[room] = 1
        edges.append(edge)
        border.extend((room, other) for other in neighbours[room] if not visited[other])
    return _carve(height, width, edges)


def kruskal(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Randomised Kruskal: join components along walls in random order (union-find)."""
    _, neighbours = _rooms(height, width)
    edges = [(a, b) for a, others in enumerate(neighbours) for b in others if a < b]
    _stdlib_random(rng).shuffle(edges)
    parent = list(range(len(neighbours)))

    def root(room: int) -> int:
        while parent[room] != room:
            parent[room] = parent[parent[room]]
            room = parent[room]
        return room

    kept: list[tuple[int, int]] = []
    for a, b in edges:
        root_a, root_b = root(a), root(b)
        if root_a != root_b:
            parent[root_a] = root_b
            kept.append((a, b))
    return _carve(height, width, kept)


@dataclass(frozen=True)
class Braided:
    """A maze with loops: a spanning tree in which some of the remaining walls are opened.

    Attributes:
        base: The algorithm that makes the tree.
        openness: Share of the walls between rooms, still closed in the tree, that is opened (0-1).
    """

    base: MazeGenerator = wilson
    openness: float = 0.15

    def __post_init__(self) -> None:
        if not 0.0 <= self.openness <= 1.0:
            raise ValueError(f"openness is a share between 0 and 1, got {self.openness}")

    def __call__(self, height: int, width: int, rng: np.random.Generator) -> bytes:
        """The walls of a maze with loops."""
        walls = bytearray(self.base(height, width, rng))
        cells, neighbours = _rooms(height, width)
        between = ((cells[a] + cells[b]) // 2 for a, others in enumerate(neighbours) for b in others if a < b)
        closed = [wall for wall in between if walls[wall]]
        # At least one loop if there is a wall to open: a braided maze without any is just a tree.
        count = min(len(closed), max(1, round(self.openness * len(closed)))) if self.openness else 0
        for wall in _stdlib_random(rng).sample(closed, count):
            walls[wall] = 0
        return bytes(walls)


GENERATORS: dict[str, MazeGenerator] = {
    "wilson": wilson,
    "wilson-visgym": wilson_visgym,
    "dfs": dfs,
    "prim": prim,
    "kruskal": kruskal,
    "braided": Braided(),
}
"""The algorithms that can be asked for by name."""
