"""What does the policy look at, and how does it choose?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visgym_maze import Action, MazeDialogue, spell, transition

FEATURES = ("wall ahead", "nearer to the goal", "been there", "stop on the goal", "stop elsewhere", "move")


def features(dialogue: MazeDialogue) -> NDArray[np.float64]:
    """One row per action, one column per entry of ``FEATURES``."""
    layout, cell = dialogue.layout, dialogue.cell
    visited = {layout.start, *(c for turn in dialogue.turns for c in turn.path)}
    rows = np.zeros((len(Action), len(FEATURES)))
    for action in Action:
        if action is Action.STOP:
            rows[action, 3 if cell == layout.goal else 4] = 1
            continue
        after, wall = transition(layout, cell, action)
        nearer = np.abs(np.subtract(layout.goal, after)).sum() < np.abs(np.subtract(layout.goal, cell)).sum()
        rows[action] = wall, nearer, not wall and after in visited, 0, 0, 1
    return rows


class LinearPolicy:
    """Softmax over weighted features; remembers what it did, for the gradient."""

    def __init__(self, seed: int) -> None:
        self.weights = np.zeros(len(FEATURES))
        self.gradients: dict[int, NDArray[np.float64]] = {}
        self._rng = np.random.default_rng(seed)

    def act(self, dialogues: Sequence[MazeDialogue]) -> list[str]:
        """One sampled action per episode."""
        answers: list[str] = []
        for dialogue in dialogues:
            rows = features(dialogue)
            logits = rows @ self.weights
            chances = np.exp(logits - logits.max())
            chances /= chances.sum()
            action = Action(int(self._rng.choice(len(Action), p=chances)))
            gradient = rows[action] - chances @ rows
            self.gradients[id(dialogue)] = self.gradients.get(id(dialogue), 0) + gradient
            answers.append(spell(action))
        return answers
