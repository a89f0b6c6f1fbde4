"""Which corridors does a maze have? One function per generation algorithm.

Every function takes ``(height, width, rng)`` and returns the walls as ``height * width`` bytes. Sizes are
odd and count the wall ring; the rooms lie at odd rows and columns, and each algorithm opens the
walls between some of them. Rooms are named by their flat index in the walls, so the wall between two
neighbours lies halfway between them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat

import numpy as np

MazeGenerator = Callable[[int, int, np.random.Generator], bytes]
"""``(height, width, rng) -> walls``; any picklable object with this call can be handed in."""

_SIDES = 12  # a multiple of 1, 2, 3 and 4: one draw picks among up to four neighbours without bias


Neighbours = tuple[tuple[int, ...], ...]
"""Indexed by flat cell: the neighbouring rooms of a room, nothing for all other cells."""


@lru_cache(maxsize=64)
def _lattice(height: int, width: int) -> tuple[tuple[int, ...], Neighbours]:
    """All rooms, row by row, and the neighbouring rooms of each."""
    rooms = tuple(r * width + c for r in range(1, height, 2) for c in range(1, width, 2))
    known = set(rooms)
    neighbours: list[tuple[int, ...]] = [()] * (height * width)
    for room in rooms:
        others = (room + 2, room + 2 * width, room - 2, room - 2 * width)
        neighbours[room] = tuple(other for other in others if other in known)
    return rooms, tuple(neighbours)


@lru_cache(maxsize=64)
def _choices(height: int, width: int) -> Neighbours:
    """The neighbours of each room, repeated to ``_SIDES`` entries."""
    _, neighbours = _lattice(height, width)
    return tuple(others and others * (_SIDES // len(others)) for others in neighbours)


@lru_cache(maxsize=64)
def _doors(height: int, width: int) -> tuple[tuple[int, int], ...]:
    """All pairs of neighbouring rooms, each once."""
    rooms, neighbours = _lattice(height, width)
    return tuple((room, other) for room in rooms for other in neighbours[room] if room < other)


def _dice(rng: np.random.Generator, block: int) -> Iterator[int]:
    """Endless throws from 0 to ``_SIDES - 1``, ``block`` at a time: scalar draws cost far more."""
    return chain.from_iterable((rng.random(block) * _SIDES).astype(np.uint8).tobytes() for _ in repeat(None))


def _solid(height: int, width: int) -> bytearray:
    return bytearray(b"\x01" * (height * width))


def wilson(height: int, width: int, rng: np.random.Generator) -> bytes:
    """A uniform spanning tree by loop-erased random walks (D. B. Wilson, STOC 1996)."""
    rooms, _ = _lattice(height, width)
    choices = _choices(height, width)
    throws = _dice(rng, 4 * len(rooms))
    walls = _solid(height, width)
    exits = [0] * len(walls)
    walls[rooms[0]] = 0  # neither the root nor the order of the walks changes the distribution
    for first in rooms:
        room = first
        while walls[room]:
            exits[room] = room = choices[room][next(throws)]
        room = first
        while walls[room]:
            after = exits[room]
            walls[room] = walls[(room + after) // 2] = 0
            room = after
    return bytes(walls)


def wilson_visgym(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Wilson's algorithm with the sequence of draws that VisGym's maze makes.

    From a generator in the same state it returns the same walls as VisGym; several times slower
    than :func:`wilson`, and equal to it in distribution.
    """
    bits = random.Random(int(rng.integers(2**32))).getrandbits

    def below(n: int) -> int:
        """``random.Random.randint(0, n - 1)``: as many bits as ``n`` has, again while too large."""
        size = n.bit_length()
        draw = bits(size)
        while draw >= n:
            draw = bits(size)
        return draw

    rooms, neighbours = _lattice(height, width)
    steps = (2, 2 * width, -2, -2 * width)
    walls = _solid(height, width)
    unvisited = list(rooms)
    walls[unvisited.pop(below(len(unvisited)))] = 0
    exits = [0] * len(walls)
    while unvisited:
        first = room = unvisited[below(len(unvisited))]
        while walls[room]:
            after = room + steps[below(4)]
            if after in neighbours[room]:
                exits[room] = room = after
        room = first
        while walls[room]:
            after = exits[room]
            walls[room] = walls[(room + after) // 2] = 0
            unvisited.remove(room)
            room = after
    return bytes(walls)


def dfs(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Randomised depth-first search: long winding corridors, few junctions."""
    rooms, neighbours = _lattice(height, width)
    throws = _dice(rng, 2 * len(rooms))
    walls = _solid(height, width)
    stack = [rooms[int(rng.integers(len(rooms)))]]
    walls[stack[0]] = 0
    while stack:
        room = stack[-1]
        options = [other for other in neighbours[room] if walls[other]]
        if not options:
            stack.pop()
            continue
        other = options[next(throws) % len(options)]
        walls[other] = walls[(room + other) // 2] = 0
        stack.append(other)
    return bytes(walls)


def prim(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Randomised Prim: grow from one room by a random border wall; many short dead ends."""
    rooms, neighbours = _lattice(height, width)
    walls = _solid(height, width)
    first = rooms[int(rng.integers(len(rooms)))]
    walls[first] = 0
    border = [(first, other) for other in neighbours[first]]
    while border:
        pick = int(rng.random() * len(border))
        border[pick], border[-1] = border[-1], border[pick]
        inside, room = border.pop()
        if walls[room]:
            walls[room] = walls[(inside + room) // 2] = 0
            border += [(room, other) for other in neighbours[room] if walls[other]]
    return bytes(walls)


def kruskal(height: int, width: int, rng: np.random.Generator) -> bytes:
    """Randomised Kruskal: join components along walls in random order (union-find)."""
    doors = _doors(height, width)
    walls = _solid(height, width)
    parent = {room: room for room in _lattice(height, width)[0]}

    def root(room: int) -> int:
        while parent[room] != room:
            parent[room] = room = parent[parent[room]]
        return room

    for index in rng.permutation(len(doors)).tolist():
        a, b = doors[index]
        root_a, root_b = root(a), root(b)
        if root_a != root_b:
            parent[root_a] = root_b
            walls[a] = walls[b] = walls[(a + b) // 2] = 0
    return bytes(walls)


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
        closed = [wall for a, b in _doors(height, width) if walls[wall := (a + b) // 2]]
        # At least one loop if there is a wall to open: a braided maze without any is just a tree.
        count = min(len(closed), max(1, round(self.openness * len(closed)))) if self.openness else 0
        for index in rng.permutation(len(closed))[:count].tolist():
            walls[closed[index]] = 0
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
