import json
from dataclasses import asdict
from pathlib import Path

import pytest

from visgym_maze import STYLES, MazeDialogue, PromptTemplate, TopDown, generate
from visgym_maze.dialogue.prompts import PROMPTS, prompt_named


def test_a_prompt_file_takes_the_place_of_a_named_prompt(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"first": "Go. $goal_help", "later": "$feedback!", "system": "You walk."}))
    dialogue = MazeDialogue(generate(7, rng=0), prompt=str(path))
    system, first = dialogue.reset()
    assert system == {"role": "system", "content": "You walk."}
    assert first["content"][0]["text"].startswith("Go. Once you stand on the goal")
    later = dialogue.step("?").messages[0]
    assert later["content"][0]["text"] == "No action was taken (no action).!"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"first": "a"}, "needs the texts"),
        ({"first": "a", "later": "b", "last": "c"}, "unknown prompt text 'last'"),
        ({"first": "a", "later": "$nobody"}, r"unknown \$nobody"),
        ({"first": "a", "later": "5 $"}, "malformed"),
        ({"first": "a", "later": 3}, "values are all strings"),
        (["first"], "a JSON object"),
    ],
)
def test_bad_prompt_files_are_refused(tmp_path: Path, data: object, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=message):
        prompt_named(str(path))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown prompt 'nobody'"):
        prompt_named("nobody")


@pytest.mark.parametrize("name", PROMPTS)
def test_named_prompts_survive_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(asdict(PROMPTS[name])))
    assert PromptTemplate.load(path) == PROMPTS[name]


def test_the_task_names_the_colours_of_the_picture() -> None:
    layout = generate(7, rng=0)
    for style in STYLES:
        text = MazeDialogue(layout, style=style).reset()[0]["content"][0]["text"]
        assert TopDown(STYLES[style]).legend(picture=True) in text
    assert "Grey cells are walls, white cells are free, the blue disc is you and the red cell" in (
        TopDown().legend(picture=True)
    )
    contrast = TopDown(STYLES["contrast"]).legend(picture=True)
    assert "Black cells are walls" in contrast
    assert "green cell is the goal" in contrast


def test_the_task_explains_text_where_there_is_no_picture() -> None:
    text = MazeDialogue(generate(7, rng=0), observe="text").reset()[0]["content"][0]["text"]
    assert "drawn in characters" in text
    assert "picture" not in text


@pytest.mark.parametrize("dialect", ["tag", "tuple", "json"])
def test_the_task_tells_how_several_moves_are_written(dialect: str) -> None:
    layout = generate(7, rng=0)
    one = MazeDialogue(layout, dialect=dialect).reset()[0]["content"][0]["text"]
    four = MazeDialogue(layout, dialect=dialect, max_moves_per_turn=4).reset()[0]["content"][0]["text"]
    assert "Up to" not in one
    assert "Up to 4 actions fit into one answer" in four
