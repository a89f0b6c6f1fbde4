"""TRL's tools without TRL: what the model is shown, and what a wrong call costs."""

import pytest
from PIL import Image

from visgym_maze import MazeDialogue, Split, render
from visgym_maze.adapters.numbering import numbered
from visgym_maze.adapters.trl import MazeTools, seed_rows

LEVELS = Split.make("train", size=7, n=3)


def test_each_answer_shows_the_maze_as_it_is_then():
    env, twin = MazeTools(LEVELS), MazeDialogue(LEVELS[1], dialect="json")
    twin.reset()
    parts = [env.reset(seed=1), env.move("up"), env.move("left")]
    cells = [LEVELS[1].start]
    for word in ("up", "left"):
        twin.step(f'{{"name": "move", "arguments": {{"direction": "{word}"}}}}')
        cells.append(twin.cell)
    for shown, cell in zip(parts, cells, strict=True):
        (picture,) = [part["image"] for part in shown if part["type"] == "image"]
        assert isinstance(picture, Image.Image)
        assert picture.tobytes() == render(LEVELS[1], cell).tobytes()
    assert "goal" in parts[0][0]["text"]
    assert "14 answers left" in parts[1][0]["text"]


@pytest.mark.parametrize("direction", ["sideways", "stop", "", 3, None])
def test_a_direction_that_does_not_exist_costs_a_turn_and_moves_nothing(direction):
    env = MazeTools(LEVELS, max_turns=2)
    env.reset(seed=0)
    assert "No action was taken" in env.move(direction)[0]["text"]
    assert env.move(direction) == [
        {"type": "text", "text": "No action was taken (out of range). The episode is over."}
    ]
    assert env.get_reward() == 0.0


def test_a_row_without_a_seed_is_refused():
    with pytest.raises(ValueError, match="needs a column 'seed'; make its rows with seed_rows"):
        MazeTools(LEVELS).reset(prompt=[])
    with pytest.raises(RuntimeError, match="call reset"):
        MazeTools(LEVELS).move("up")


def test_rows_name_each_maze_once():
    rows = seed_rows(LEVELS, system="You walk.")
    assert [row["seed"] for row in rows] == [0, 1, 2]
    assert [message["role"] for message in rows[0]["prompt"]] == ["system", "user"]
    assert [message["role"] for message in seed_rows(LEVELS)[0]["prompt"]] == ["user"]


def test_a_seed_beyond_the_mazes_never_wraps_round():
    assert numbered(LEVELS, 2) == LEVELS[2]
    for seed in (3, 2**32, 2**63):
        with pytest.raises(ValueError, match="there are 3 mazes, so seeds go up to 2"):
            numbered(LEVELS, seed)
    with pytest.raises(ValueError, match="a seed must be 0 or a positive integer, got -1"):
        numbered(LEVELS, -1)
