"""Files of episodes: whole ones, torn ones, and ones that another program got wrong."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visgym_maze.replay import TrajectoryFileError, read_trajectories, replay_page, write_trajectories


@pytest.fixture
def file(tmp_path):
    return tmp_path / "episodes.jsonl"


@pytest.fixture(scope="module")
def record(solved):
    return json.dumps(solved[0].to_dict())


def changed(record, change):
    """The record after a change, as a line."""
    data = json.loads(record)
    change(data)
    return json.dumps(data)


def test_what_was_written_is_read(file, solved, wandering):
    write_trajectories(file, [*solved, *wandering])
    assert read_trajectories(file) == [*solved, *wandering]


def test_a_last_line_that_was_cut_off_is_left_out_with_a_warning(file, record, solved):
    file.write_text(record + "\n" + record[: len(record) // 2])
    with pytest.warns(UserWarning, match="line 2 is cut off"):
        assert read_trajectories(file) == [solved[0]]


def test_a_line_that_was_cut_off_in_the_middle_of_a_file_is_an_error(file, record):
    file.write_text(record[:50] + "\n" + record + "\n")
    with pytest.raises(TrajectoryFileError, match=r"line 1: no JSON in UTF-8 \(Unterminated string"):
        read_trajectories(file)


@pytest.mark.parametrize("text", [b"", b"\n\n  \n"])
def test_a_file_without_episodes_is_an_error(file, text):
    file.write_bytes(text)
    with pytest.raises(TrajectoryFileError, match="holds no episodes; give a file of JSON lines"):
        read_trajectories(file)


def test_a_file_of_another_encoding_is_an_error(file, record):
    file.write_bytes(record.encode("utf-16") + b"\n")
    with pytest.raises(TrajectoryFileError, match="line 1: no JSON in UTF-8"):
        read_trajectories(file)


def test_a_byte_order_mark_and_windows_line_ends_are_read(file, record, solved):
    file.write_bytes(b"\xef\xbb\xbf" + record.encode() + b"\r\n")
    assert read_trajectories(file) == [solved[0]]


def test_fields_of_a_later_version_are_passed_over(file, record, solved):
    def grow(data):
        data["colour"] = data["turns"][0]["mood"] = data["layout"]["floors"] = 3

    file.write_text(changed(record, grow))
    assert read_trajectories(file) == [solved[0]]


FAULTS = [
    (lambda d: d.pop("turns"), "the episode has no field 'turns'"),
    (lambda d: d["turns"][1].pop("path"), "turn 2 has no field 'path'"),
    (lambda d: d.update(stop_reason="bored"), "unknown stop_reason 'bored'; known: goal, wrong_stop"),
    (lambda d: d.update(max_turns="15"), "max_turns of the episode can't be '15'"),
    (lambda d: d.update(group=True), "group of the episode can't be 'True'"),
    (lambda d: d["turns"].append([]), r"turn \d+ has to be a JSON object, got '\[\]'"),
    (lambda d: d["turns"][0].update(text=None), "text of turn 1 can't be 'None'"),
    (lambda d: d["turns"][0].update(reward="1"), "reward of turn 1 can't be '1'"),
    (lambda d: d["turns"][0].update(reward=float("nan")), "turn 1: nan is no finite reward"),
    (lambda d: d["turns"][0].update(reward=1e300), r"turn 1: 1e\+300 is no finite reward"),
    (lambda d: d["turns"][0].update(cell=[0, 0]), r"turn 1: \[0, 0\] is no free \[row, column\]"),
    (lambda d: d["turns"][1].update(path=[list(reversed(d["turns"][0]["cell"]))]), "turn 2: "),
    (lambda d: d["turns"][0].update(path=[]), r"turn 1: the agent stands on .*, its path ends on \(1, 1\)"),
    (lambda d: d["turns"][0].update(path=[[1, 1], 7]), r"turn 1: 7 is no free \[row, column\]"),
    (lambda d: d["turns"][0].update(cell=[1.0, 1]), r"turn 1: \[1.0, 1\] is no free"),
    (lambda d: d["layout"].update(key="0" * 32), "this maze has key .*, its record says 0000"),
    (lambda d: d["layout"].update(maze=[1, 2]), "the record of a maze is"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS)
def test_a_wrong_field_is_named(file, record, change, message):
    file.write_text(record + "\n" + changed(record, change) + "\n")
    with pytest.raises(TrajectoryFileError, match=f"line 2: {message}"):
        read_trajectories(file)


@pytest.mark.parametrize("line", ["[]", "3", "null", '"text"', "[" * 100_000])
def test_json_that_is_no_episode_is_an_error(file, record, line):
    file.write_text(line + "\n" + record + "\n")
    with pytest.raises(TrajectoryFileError, match="line 1"):
        read_trajectories(file)


@given(text=st.text(st.characters(codec=None)), key=st.text())
@settings(max_examples=50, deadline=None)
def test_any_text_goes_through_file_and_page(tmp_path_factory, solved, text, key):
    turn = solved[0].turns[0]._replace(text=text, feedback=text)
    episode = dataclasses.replace(solved[0], turns=(turn,), info={key: text})
    file = tmp_path_factory.mktemp("any") / "episodes.jsonl"
    write_trajectories(file, [episode])
    assert read_trajectories(file) == [episode]
    assert replay_page({text: [episode]}, text).count("<") == replay_page({"a": solved}).count("<")
