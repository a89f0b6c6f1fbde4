"""What is built is what works: the wheel in an environment that holds nothing but its declared needs."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="needs hatchling: install the extra 'dev'")
ROOT = Path(__file__).parents[2]
NEEDS = ("gymnasium", "numpy", "pillow", "cloudpickle", "typing_extensions", "farama-notifications")
"""The three declared dependencies, and what gymnasium itself depends on."""
TESTERS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "hypothesis", "sortedcontainers")


def build(source: Path, target: str, folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of an environment with the wheel, its needs, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    link(NEEDS, site)
    zipfile.ZipFile(wheel).extractall(site)
    return folder / "bin" / "python"


def link(names: Iterable[str], site: Path) -> None:
    """Let an environment have packages of this one."""
    for name in names:
        found = distribution(name)
        tops = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(found.locate_file(top))))


def run(python: Path, *arguments: str, **variables: str) -> str:
    """Far away from the repository, and without any of its settings."""
    environment = {"PATH": os.defpath, **variables}
    done = subprocess.run(
        [str(python), *arguments], cwd=python.parent, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_plays_in_an_empty_environment(python):
    program = """
import gymnasium, visgym_maze
from visgym_maze import MazeDialogue, OraclePolicy, Split, evaluate

picture, _ = gymnasium.make("VisGymMaze/Maze2D-Easy-v0").reset(seed=0)
dialogue = MazeDialogue(Split.make("eval", size=9, n=1)[0])
dialogue.reset()
dialogue.step("<action>up</action>")
print(visgym_maze.__file__)
report, _ = evaluate(OraclePolicy(), Split.make("eval", 9, 8, max_moves=14))
print(picture.shape, len(dialogue.turns), report.successes)
"""
    file, played = run(python, "-c", program).splitlines()
    assert Path(file).is_relative_to(python.parents[1])
    assert played == "(225, 225, 3) 1 8"


def test_a_project_that_depends_on_it_trains(python):
    source = str(ROOT / "examples" / "downstream" / "src")
    lines = run(python, "-m", "maze_agent.train", PYTHONPATH=source).splitlines()
    before, after = (int(line.split()[1].split("/")[0]) for line in lines[:2])
    assert after >= before + 16


def test_the_tests_of_the_environment_need_nothing_that_it_does_not_need(python, tmp_path):
    link(TESTERS, tmp_path)
    options = ("-q", "--collect-only", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"))
    collected = run(python, "-m", "pytest", *options, str(ROOT / "tests"), PYTHONPATH=str(tmp_path))
    assert "tests/dialogue/test_episode.py::" in collected
    assert "tests/skyrl/" not in collected


def test_the_wheel_holds_what_the_code_reads_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"visgym_maze", "visgym_maze_skyrl", "visgym_maze_verifiers"}
    for top in tops:
        files = [path for path in (ROOT / "src" / top).rglob("*") if path.is_file()]
        kept = {str(path.relative_to(ROOT / "src")) for path in files if "__pycache__" not in path.parts}
        assert kept <= names
        assert f"{top}/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_source_archive_builds_the_same_wheel(wheel, tmp_path):
    archive = build(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    twin = build(source, "wheel", tmp_path / "wheel")

    def contents(path: Path) -> dict[str, int]:
        return {info.filename: info.CRC for info in zipfile.ZipFile(path).infolist()}

    assert contents(twin) == contents(wheel)
