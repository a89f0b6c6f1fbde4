"""The command that shows episodes: page, GIF and sheet, and bad files."""

import pytest
from PIL import Image

from visgym_maze import GroupSampler, OraclePolicy, RandomPolicy, Split, rollout
from visgym_maze.replay import write_trajectories


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two groups of four random rollouts, and one maze walked by the oracle."""
    folder = tmp_path_factory.mktemp("episodes")
    levels = Split.make("eval", size=7, n=2)
    groups = GroupSampler(levels, 4, shuffle=False).take(2)
    write_trajectories(folder / "random.jsonl", rollout(RandomPolicy(seed=0), groups))
    oracle = GroupSampler(levels, 1, shuffle=False).take(1)
    write_trajectories(folder / "oracle.jsonl", rollout(OraclePolicy(), oracle))
    return folder


def test_a_page_of_two_files(run, files, tmp_path):
    out = tmp_path / "replay.html"
    data = run("replay", files / "random.jsonl", files / "oracle.jsonl", "-o", out, "--json").data
    assert (data["file"], data["episodes"], data["mazes"]) == (str(out), 9, 2)
    assert data["solved"] >= 1
    assert data["bytes"] == out.stat().st_size
    assert out.read_text().startswith("<!doctype html>")


def test_one_episode_as_gif_and_its_group_as_sheet(run, files, tmp_path):
    both = (files / "oracle.jsonl", files / "random.jsonl")
    assert run("replay", *both, "-o", tmp_path / "one.gif").code == 0
    with Image.open(tmp_path / "one.gif") as gif:
        assert gif.n_frames > 2
    assert run("replay", *both, "--episode", 6, "-o", tmp_path / "group.png").code == 0
    assert run("replay", *both, "--episode", 0, "-o", tmp_path / "single.png").code == 0
    with Image.open(tmp_path / "single.png") as single, Image.open(tmp_path / "group.png") as group:
        assert group.width > 3 * single.width


def test_files_of_one_name_keep_their_folders(run, files, tmp_path):
    other = tmp_path / "oracle.jsonl"
    other.write_bytes((files / "random.jsonl").read_bytes())
    out = tmp_path / "replay.html"
    assert run("replay", files / "oracle.jsonl", other, "-o", out, "--json").data["episodes"] == 9


def test_a_torn_last_line_is_reported_and_left_out(run, files, tmp_path):
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes((files / "random.jsonl").read_bytes()[:-100])
    result = run("replay", torn, "-o", tmp_path / "replay.html", "--json")
    assert result.data["episodes"] == 7
    assert f"warning: {torn}: line 8 is cut off and was left out" in result.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no episodes; give a file of JSON lines"),
        (b"{}\n", "line 1: the episode has no field 'layout'"),
        (b"\xff\n{}\n", "line 1: no JSON in UTF-8"),
    ],
)
def test_a_bad_file_is_one_clear_line(run, tmp_path, content, message):
    (tmp_path / "bad.jsonl").write_bytes(content)
    result = run("replay", tmp_path / "bad.jsonl", "-o", tmp_path / "replay.html")
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "replay.html").exists()


def test_what_cannot_be_is_said(run, files, tmp_path):
    file = files / "oracle.jsonl"
    assert "there is no " in run("replay", tmp_path / "none.jsonl").err
    assert "is a folder, where a file is needed" in run("replay", tmp_path).err
    assert ".html, .gif or .png, got" in run("replay", file, "-o", tmp_path / "replay.mp4").err
    assert "there are 1, numbered from 0" in run("replay", file, "--episode", 1, "-o", tmp_path / "x.gif").err
