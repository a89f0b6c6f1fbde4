"""What would an expert have answered? Oracle transcripts for supervised fine-tuning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.dialogue.parsing import spell
from visgym_maze.world.dynamics import Action
from visgym_maze.world.layout import Layout
from visgym_maze.world.seeding import Seed, as_generator
from visgym_maze.world.solver import solve


def demonstrate(
    levels: Iterable[Layout], *, detours: float = 0.0, rng: Seed = 0, **options: Any
) -> Iterator[MazeDialogue]:
    """Let the oracle play each maze.

    Args:
        levels: The mazes.
        detours: Probability that a move is a random one, as long as enough turns are left to finish
            afterwards. Such a transcript shows how to come back from off the path.
        rng: Seed or generator for detours and for the choice among equally good moves.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.

    Yields:
        Finished episodes; ``dialogue.messages`` is the transcript.

    Raises:
        ValueError: If ``detours`` is no probability, or a maze can't be solved within the turn cap.
    """
    if not 0.0 <= detours < 1.0:
        raise ValueError(f"detours is a probability below 1, got {detours}")
    source = as_generator(rng)
    for layout in levels:
        dialogue = MazeDialogue(layout, **options)
        dialogue.reset()
        solution = solve(layout)
        while not dialogue.done:
            left = dialogue.max_turns - len(dialogue.turns)
            distance = solution.distance(dialogue.cell)
            # A random move costs at most two turns: itself and the way back.
            spare = left - distance - (dialogue.goal_rule == "stop")
            if distance and spare >= 2 and detours and source.random() < detours:
                action = Action(int(source.integers(4)))
            else:
                best = solution.optimal_actions(dialogue.cell)
                action = best[int(source.integers(len(best)))] if len(best) > 1 else best[0]
            dialogue.step(spell(action, dialogue.dialect))
        if not dialogue.trajectory().success:
            raise ValueError(
                f"{layout!r} needs {solution.moves} moves and cannot be solved within "
                f"{dialogue.max_turns} turns; draw the mazes with max_moves"
            )
        yield dialogue
