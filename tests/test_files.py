"""Files are whole or absent, whatever happens while they are written."""

from pathlib import Path

import pytest

from visgym_maze.files import locked, write_bytes, write_text


def test_missing_folders_are_made_and_nothing_is_left_beside(tmp_path):
    path = tmp_path / "a" / "b.txt"
    write_text(path, "é")
    assert path.read_bytes() == "é".encode()
    write_bytes(str(path), b"second")
    assert path.read_bytes() == b"second"
    assert [p.name for p in path.parent.iterdir()] == ["b.txt"]


def test_a_failure_keeps_the_old_content_and_cleans_up(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_are_those_of_a_plain_file(tmp_path):
    write_text(tmp_path / "written", "")
    (tmp_path / "plain").touch()
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_is_held_by_one_at_a_time(tmp_path):
    with (
        locked(tmp_path, RuntimeError("first")),
        pytest.raises(RuntimeError, match="second"),
        locked(tmp_path, RuntimeError("second")),
    ):
        pass
    with locked(tmp_path, RuntimeError("third")):
        pass
