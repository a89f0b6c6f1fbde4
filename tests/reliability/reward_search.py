"""Can a policy that never reaches the goal be paid like one that does? A search tries, reward by reward.

Episodes that fail are drawn at random and then bred: the best of a generation are mixed and changed. Solved
episodes are bred the other way, for the lowest return: the shortest path with as much waste as the turn cap
allows. A reward is safe if the best failure stays under the worst success, in every maze.

    python tests/reliability/reward_search.py --out docs/results/reliability/reward_search.json
    python tests/reliability/reward_search.py --mazes 2 --generations 5
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from visgym_maze import Layout, MazeDialogue, RewardSpec, Split, StopReason, solve
from visgym_maze.files import write_text
from visgym_maze.world.dynamics import DELTAS, MOVES

SPECS = {
    "default": RewardSpec(),
    "success 0.8 + format 0.2": RewardSpec(success=0.8, format=0.2),
    "progress 0.3": RewardSpec(progress=0.3),
    "progress 0.5": RewardSpec(progress=0.5),
    "progress 0.9": RewardSpec(progress=0.9),
    "progress 0.3, bump -0.05": RewardSpec(progress=0.3, bump=-0.05),
    "progress 0.5, format 0.2": RewardSpec(progress=0.5, format=0.2),
    "step -0.01": RewardSpec(step=-0.01),
    "step -0.01, bump -0.05, invalid -0.05": RewardSpec(step=-0.01, bump=-0.05, invalid=-0.05),
    "efficiency 0.5": RewardSpec(efficiency=0.5),
    "progress 0.3, paid at the end": RewardSpec(progress=0.3, per_turn=False),
    "step -0.1": RewardSpec(step=-0.1),
    "bump -0.2": RewardSpec(bump=-0.2),
    "progress 0.9, format 0.9": RewardSpec(progress=0.9, format=0.9),
}
"""The rewards of the documentation, and some that nobody should choose."""

TURNS = 15
_MOVES = [f"<action>{move.word}</action>" for move in MOVES]
_WASTE = ["", "left", "<action>fly</action>", "I go. <action>left</action>", "<action>left</action> done"]
_ANSWERS = [*_MOVES, "<action>stop</action>", *_WASTE]
_STOP = 4

Genes = np.ndarray[Any, np.dtype[np.int64]]


def play(layout: Layout, reward: RewardSpec, genes: Genes) -> tuple[float, bool]:
    """Return and success of one episode with these answers."""
    episode = MazeDialogue(layout, max_turns=TURNS, reward=reward, observe="text")
    episode.reset()
    for gene in genes:
        if episode.done:
            break
        episode.step(_ANSWERS[gene])
    trajectory = episode.trajectory()
    return trajectory.total_reward, trajectory.stop_reason is StopReason.GOAL


def breed(
    first: list[Genes],
    score: Callable[[Genes], float],
    change: Callable[[Genes], Genes],
    generations: int,
    rng: np.random.Generator,
) -> tuple[float, Genes]:
    """The best found by keeping a fifth of each generation and filling up with their changed children."""
    ranked = sorted(((score(genes), i, genes) for i, genes in enumerate(first)), reverse=True)
    for _ in range(generations):
        kept = ranked[: max(len(first) // 5, 2)]
        children = []
        for i in range(len(first) - len(kept)):
            (_, _, one), (_, _, other) = (kept[rng.integers(len(kept))] for _ in range(2))
            cut = rng.integers(TURNS)
            child = change(np.concatenate([one[:cut], other[cut:]]))
            children.append((score(child), i, child))
        ranked = sorted(kept + children, key=lambda entry: entry[0], reverse=True)
    return ranked[0][0], ranked[0][2]


def best_failure(
    layout: Layout, reward: RewardSpec, rng: np.random.Generator, size: int, generations: int
) -> tuple[float, Genes]:
    """The highest return of an episode that does not succeed."""

    def score(genes: Genes) -> float:
        total, succeeded = play(layout, reward, genes)
        return -np.inf if succeeded else total

    def change(genes: Genes) -> Genes:
        genes = genes.copy()
        genes[rng.integers(TURNS, size=rng.integers(1, 4))] = rng.integers(len(_ANSWERS))
        return genes

    # Half of them never stop: whoever stops at random seldom gets far.
    first = [rng.integers(len(_ANSWERS) if i % 2 else _STOP, size=TURNS) for i in range(size)]
    return breed(first, score, change, generations, rng)


def worst_success(
    layout: Layout, reward: RewardSpec, rng: np.random.Generator, size: int, generations: int
) -> float:
    """The lowest return of an episode that succeeds in the last turn that it has."""
    path = [_ANSWERS.index(f"<action>{action.word}</action>") for action in solve(layout).path()]
    spare = TURNS - len(path) - 1

    def answers(genes: Genes) -> Genes:
        """The first genes say what is wasted, the others where."""
        sequence = list(path)
        for i in range(spare):
            # A wall or nonsense changes no cell, so the path still leads to the goal.
            waste = 5 + int(genes[i]) % len(_WASTE)
            place = int(genes[-1 - i]) % (len(sequence) + 1)
            sequence.insert(place, _into_a_wall(layout, sequence[:place], rng) if genes[i] % 2 else waste)
        return np.array([*sequence, _STOP])

    def score(genes: Genes) -> float:
        total, succeeded = play(layout, reward, answers(genes))
        return -total if succeeded else -np.inf

    def change(genes: Genes) -> Genes:
        genes = genes.copy()
        genes[rng.integers(len(genes))] = rng.integers(1000)
        return genes

    first = [rng.integers(1000, size=2 * TURNS) for _ in range(size)]
    return -breed(first, score, change, generations, rng)[0]


def _into_a_wall(layout: Layout, so_far: list[int], rng: np.random.Generator) -> int:
    """A move that bumps at the end of those; nonsense where all ways are open."""
    episode = MazeDialogue(layout, max_turns=99, observe="text")
    episode.reset()
    for gene in so_far:
        episode.step(_ANSWERS[gene])
    row, column = episode.cell
    walls = [i for i, m in enumerate(MOVES) if layout.is_wall((row + DELTAS[m][0], column + DELTAS[m][1]))]
    return int(rng.choice(walls)) if walls else 5


def search(mazes: int, size: int, generations: int, seed: int = 0) -> list[dict[str, Any]]:
    """One row per reward: the least margin over the mazes."""
    layouts = list(Split.make("train", 7, mazes, max_moves=TURNS - 3))
    rows = []
    for name, reward in track(SPECS.items(), "rewards", console=Console(stderr=True)):
        rng = np.random.default_rng(seed)
        found = []
        for layout in layouts:
            failure, genes = best_failure(layout, reward, rng, size, generations)
            success = worst_success(layout, reward, rng, size // 4, generations)
            found.append((success - failure, failure, success, [_ANSWERS[g] for g in genes]))
        margin, failure, success, answers = min(found, key=lambda entry: entry[0])
        rows.append(
            {
                "reward": name,
                "best_failure": round(failure, 4),
                "worst_success": round(success, 4),
                "margin": round(margin, 4),
                "safe": margin > 0,
                "failing_answers": answers,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mazes", type=int, default=8)
    parser.add_argument("--size", type=int, default=400, help="episodes of a generation")
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the result to this file")
    arguments = parser.parse_args()
    rows = search(arguments.mazes, arguments.size, arguments.generations, arguments.seed)
    for row in rows:
        print(f"{row['margin']:8.3f}  {'safe' if row['safe'] else 'NOT SAFE':8}  {row['reward']}")
    options = f"--mazes {arguments.mazes} --size {arguments.size} --generations {arguments.generations}"
    result = {
        "command": f"python tests/reliability/reward_search.py {options} --seed {arguments.seed}",
        "rows": rows,
    }
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
