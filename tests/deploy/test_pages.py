"""The pages about HyperPod say what the recipe says, and name files that are there."""

import re
from pathlib import Path

import pytest

from visgym_maze_skyrl.deploy.alerts import rules
from visgym_maze_skyrl.deploy.deployment import Deployment
from visgym_maze_skyrl.hyperpod_recipe import ENGINE_SOURCES, HYPERPOD

pytestmark = pytest.mark.train
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hyperpod.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "deploy" / "README.md").read_text(encoding="utf-8")


def test_every_setting_is_in_the_table_with_its_source():
    lines = PAGE.splitlines()
    for name, setting in HYPERPOD.items():
        assert f"| `{name}` | `{setting.value}` | {setting.source} |" in lines
    for name, source in ENGINE_SOURCES.items():
        assert f"| `{name}` | {source} |" in lines


def test_every_alert_is_explained():
    made = {rule["alert"] for rule in rules(Deployment())["groups"][0]["rules"]}
    assert set(re.findall(r"^\| `([A-Z]\w+)` \|", PAGE, flags=re.MULTILINE)) == made


def test_files_that_are_named_exist():
    named = set(re.findall(r"deploy/[\w/.-]+\.(?:yaml|json|md)|deploy/image/Dockerfile", PAGE + GUIDE))
    assert len(named) >= 9
    assert [name for name in named if not (ROOT / name).is_file()] == []
    folders = set(re.findall(r"^\| `(\w+)/` \|", GUIDE, flags=re.MULTILINE))
    assert folders == {path.name for path in (ROOT / "deploy").iterdir() if path.is_dir()}
