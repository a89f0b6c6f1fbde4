"""Advantages of single turns: what is compared, and which tokens get it."""

from __future__ import annotations

import pytest
import torch

from visgym_maze import Layout, MazeDialogue
from visgym_maze_skyrl.credit import over_tokens, returns_from_turns, turn_advantages

LAYOUT = Layout.from_ascii("#####\n#S..#\n#.#.#\n#..G#\n#####")


def play(*actions):
    dialogue = MazeDialogue(LAYOUT, max_turns=6)
    dialogue.reset()
    for action in actions:
        dialogue.step(f"<action>{action}</action>")
    return dialogue.trajectory()


SOLVED = play("right", "right", "down", "down", "stop")
LATE = play("left", "right", "right", "down", "down", "stop")
FAILED = play("right", "left", "right", "left", "right", "left")


def test_a_reward_counts_less_the_earlier_the_turn():
    assert returns_from_turns(SOLVED, 0.5) == pytest.approx([1 / 16, 1 / 8, 1 / 4, 1 / 2, 1])


def test_turns_are_compared_with_those_that_began_in_the_same_cell():
    solved, late, failed = turn_advantages([SOLVED, LATE, FAILED], 0.9)
    assert solved[0] > late[0] > failed[0], "all three began at the start; the bump cost one turn"
    assert late[1] == pytest.approx(solved[0]), "back at the start, it did as well as the first"
    assert solved[1] > failed[1], "the cell right of the start, where one went on and one went back"
    assert solved[2:] == pytest.approx([0] * 3, abs=1e-3), "both went the same way from there"


def test_equal_returns_and_lonely_cells_give_nothing():
    assert turn_advantages([FAILED, FAILED], 0.9) == [[0.0] * 6] * 2
    assert turn_advantages([SOLVED], 0.9) == [[0.0] * 5]


def test_a_lost_rollout_has_no_turns():
    assert turn_advantages([None, SOLVED, SOLVED], 1.0)[0] == []


def test_sampled_tokens_get_the_number_of_their_turn():
    mask = torch.tensor([[0, 1, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1], [1, 1, 0, 0, 0, 0]])
    tokens = over_tokens([[0.5, -1.0], [1.0, 2.0, 3.0]], mask)
    assert tokens.tolist() == [[0, 0.5, 0.5, 0, -1, 0], [1, 0, 0, 2, 0, 3], [0] * 6]


def test_rows_that_are_not_those_rollouts_are_refused():
    with pytest.raises(ValueError, match="rollout 0 has 3 turns, but the tokens of 1"):
        over_tokens([[1.0, 2.0, 3.0]], torch.tensor([[1, 1, 0]]))
