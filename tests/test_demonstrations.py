import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from visgym_maze import (
    FirstPerson,
    Layout,
    MazeDialogue,
    PromptTemplate,
    StopReason,
    TopDown,
    demonstrate,
    generate,
    picture_urls,
    solve,
    write_demonstrations,
)
from visgym_maze.view.first_person import render_first_person

Loader = Callable[..., list[dict[str, Any]]]
LEVELS = [generate(7, rng=seed, max_moves=8) for seed in range(5)]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loader:
    """The loader of Hugging Face's datasets, quiet, with a cache of its own."""
    datasets = pytest.importorskip("datasets", reason="needs datasets: install the extra 'demos'")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()

    def from_disk(kind: str, **where: Any) -> list[dict[str, Any]]:
        return list(datasets.load_dataset(kind, split="train", **where))

    return from_disk


class TestOracle:
    def test_it_takes_a_shortest_path(self) -> None:
        for layout, dialogue in zip(LEVELS, demonstrate(LEVELS), strict=True):
            trajectory = dialogue.trajectory()
            assert trajectory.layout == layout
            assert (trajectory.success, trajectory.moves) == (True, solve(layout).moves)
            assert [message["role"] for message in dialogue.messages] == ["user", "assistant"] * len(
                dialogue.turns
            )

    @pytest.mark.parametrize("goal_rule", ["stop", "reach"])
    @pytest.mark.parametrize("several", [1, 3])
    def test_detours_leave_the_path_and_still_arrive(self, goal_rule: str, several: int) -> None:
        options: dict[str, Any] = {"goal_rule": goal_rule, "max_moves_per_turn": several}
        played = list(demonstrate(LEVELS, detours=0.5, rng=1, **options))
        assert all(dialogue.stop_reason is StopReason.GOAL for dialogue in played)
        longer = [
            d.trajectory().moves > solve(d.layout).moves or any(t.bumped for t in d.turns) for d in played
        ]
        assert any(longer)

    def test_the_same_seed_gives_the_same_transcripts(self) -> None:
        first, again, other = (
            [d.messages for d in demonstrate(LEVELS, detours=0.4, rng=seed)] for seed in (7, 7, 8)
        )
        assert first == again != other

    def test_several_moves_shorten_the_transcript(self) -> None:
        layout = LEVELS[0]
        (dialogue,) = demonstrate([layout], max_moves_per_turn=4)
        assert len(dialogue.turns) == -(-(solve(layout).moves + 1) // 4)

    def test_mazes_that_take_too_long_are_named(self) -> None:
        with pytest.raises(
            ValueError, match="cannot be solved within 3 turns; draw the mazes with max_moves"
        ):
            list(demonstrate(LEVELS, max_turns=3))
        with pytest.raises(ValueError, match="detours is a probability"):
            next(demonstrate(LEVELS, detours=1.0))


def test_openai_messages_load_back(tmp_path: Path, load: Loader) -> None:
    prompt = PromptTemplate(first="$legend $answer_help", later="$feedback", system="You walk through mazes.")
    played = list(demonstrate(LEVELS, prompt=prompt))
    path = write_demonstrations(played, tmp_path, format="openai")
    assert path == tmp_path / "messages.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["messages"] for line in lines] == [dialogue.messages for dialogue in played]
    rows = load("json", data_files=str(path))
    assert [[m["role"] for m in row["messages"]] for row in rows] == [
        [m["role"] for m in d.messages] for d in played
    ]


def test_sharegpt_loads_back_as_its_catalogue_says(tmp_path: Path, load: Loader) -> None:
    prompt = PromptTemplate(first="$legend", later="$feedback", system="You walk through mazes.")
    played = list(demonstrate(LEVELS, prompt=prompt))
    path = write_demonstrations(played, tmp_path, format="sharegpt")
    entry = json.loads((tmp_path / "dataset_info.json").read_text())["visgym_maze"]
    assert tmp_path / entry["file_name"] == path
    assert entry["formatting"] == "sharegpt"
    rows = load("json", data_files=str(path))
    assert len(rows) == len(played)
    for row, dialogue in zip(rows, played, strict=True):
        turns, images, system = (row[entry["columns"][name]] for name in ("messages", "images", "system"))
        assert system == "You walk through mazes."
        assert [turn["from"] for turn in turns] == ["human", "gpt"] * len(dialogue.turns)
        assert [turn["value"].count("<image>") for turn in turns] == [1, 0] * len(dialogue.turns)
        assert [turn["value"] for turn in turns[1::2]] == [turn.text for turn in dialogue.turns]
        assert len(images) == len(dialogue.turns)
        cells = [dialogue.layout.start, *(turn.cell for turn in dialogue.turns[:-1])]
        assert_pictures(dialogue, [Image.open(tmp_path / image) for image in images], cells)


def assert_pictures(dialogue: MazeDialogue, images: list[Image.Image], cells: list[tuple[int, int]]) -> None:
    camera = TopDown().camera(dialogue.layout)
    for image, cell in zip(images, cells, strict=True):
        with image:
            assert np.array_equal(np.asarray(image.convert("RGB")), camera.frame(cell))


def test_a_datasets_folder_loads_back_with_its_pictures(tmp_path: Path, load: Loader) -> None:
    played = list(demonstrate(LEVELS))
    write_demonstrations(iter(played), tmp_path / "set", format="datasets")
    rows = load(str(tmp_path / "set"))
    assert len(rows) == len(played)
    for row, dialogue in zip(rows, played, strict=True):
        shown = [part["type"] for m in row["messages"] if m["role"] == "user" for part in m["content"]]
        assert shown == ["text", "image"] * len(dialogue.turns)
        answers = [m["content"][0]["text"] for m in row["messages"] if m["role"] == "assistant"]
        assert answers == [turn.text for turn in dialogue.turns]
        cells = [dialogue.layout.start, *(turn.cell for turn in dialogue.turns[:-1])]
        assert_pictures(dialogue, row["images"], cells)


def test_pictures_of_other_views_are_written_as_they_were_shown(tmp_path: Path, load: Loader) -> None:
    (dialogue,) = demonstrate(LEVELS[:1], view=FirstPerson(height=64, width=64))
    write_demonstrations([dialogue], tmp_path / "set", format="datasets")
    (row,) = load(str(tmp_path / "set"))
    first = dialogue.turns[0]
    seen = render_first_person(
        dialogue.layout, first.cell, solve(dialogue.layout).path()[0], height=64, width=64
    )
    assert np.array_equal(np.asarray(row["images"][1].convert("RGB")), seen)


@pytest.mark.parametrize("name", ["sharegpt", "datasets"])
def test_the_same_picture_is_written_once(tmp_path: Path, name: str) -> None:
    played = list(demonstrate(LEVELS[:2] * 3))
    write_demonstrations(played, tmp_path, format=name)
    different = {url for dialogue in played for url in picture_urls(dialogue.messages)}
    assert len(list((tmp_path / "images").iterdir())) == len(different)


def test_transcripts_that_would_teach_nonsense_are_refused(tmp_path: Path) -> None:
    layout = LEVELS[0]
    waiting, aborted, tricky = (MazeDialogue(layout) for _ in range(3))
    for dialogue in (waiting, aborted, tricky):
        dialogue.reset()
    aborted.step("hm")
    aborted.abort(StopReason.TIMEOUT)
    tricky.step("<image> <action>stop</action>")
    for dialogue in (waiting, aborted):
        with pytest.raises(ValueError, match="transcript 0 does not end with an answer"):
            write_demonstrations([dialogue], tmp_path)
    with pytest.raises(ValueError, match="holds the text <image>"):
        write_demonstrations([tricky], tmp_path, format="sharegpt")
    with pytest.raises(ValueError, match="no transcripts"):
        write_demonstrations([], tmp_path)
    with pytest.raises(ValueError, match="unknown format 'csv'; known: openai, sharegpt, datasets"):
        write_demonstrations([], tmp_path, format="csv")
    assert list(tmp_path.glob("*")) == []


def test_text_only_transcripts_need_no_pictures(tmp_path: Path) -> None:
    corridor = Layout.from_ascii("#####\n#S.G#\n#####")
    path = write_demonstrations(demonstrate([corridor], observe="text"), tmp_path, format="sharegpt")
    (record,) = json.loads(path.read_text())
    assert record["images"] == []
    assert "#A.G#" in record["conversations"][0]["value"]
