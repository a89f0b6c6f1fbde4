"""What would an expert have answered? Oracle transcripts for supervised fine-tuning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from visgym_maze.dialogue.dialects import spell
from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.policies import best_actions
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
        detours: Probability that a turn is one random move, as long as enough turns are left to
            finish afterwards. Such a transcript shows how to come back from off the path.
        rng: Seed or generator for detours and for the choice among equally good moves.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.

    Yields:
        Finished episodes; ``dialogue.messages`` is the transcript.

    Raises:
        ValueError: If ``detours`` is no probability, or a maze can't be solved within the turn cap.
    """
    if not 0.0 <= detours < 1.0:
        raise ValueError(f"detours is a probability from 0 to below 1, got {detours}")
    source = as_generator(rng)

    def pick(best: tuple[Action, ...]) -> Action:
        choice = int(source.integers(len(best))) if len(best) > 1 else 0
        return best[choice]

    for layout in levels:
        dialogue = MazeDialogue(layout, **options)
        dialogue.reset()
        while not dialogue.done:
            if detours and _can_spare_a_turn(dialogue) and source.random() < detours:
                actions = (Action(int(source.integers(4))),)
            else:
                actions = best_actions(dialogue, pick)
            dialogue.step(spell(actions, dialogue.dialect))
        if not dialogue.trajectory().success:
            raise ValueError(
                f"{layout!r} needs {solve(layout).moves} moves and cannot be solved within "
                f"{dialogue.max_turns} turns; draw the mazes with max_moves=moves_within(max_turns)"
            )
        yield dialogue


def _can_spare_a_turn(dialogue: MazeDialogue) -> bool:
    """Whether the goal is not reached yet, and still can be after one move in the wrong direction."""
    distance = solve(dialogue.layout).distance(dialogue.cell)
    actions = distance + 1 + (dialogue.goal_rule == "stop")
    left = dialogue.max_turns - len(dialogue.turns) - 1
    return distance > 0 and actions <= left * dialogue.max_moves_per_turn
