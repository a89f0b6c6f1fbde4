"""Is the lock file what the package asks for, down to the hashes?"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

packaging = pytest.importorskip("packaging.requirements")
ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def asked_for():
    extras = PROJECT["optional-dependencies"]
    return [packaging.Requirement(r) for r in PROJECT["dependencies"] + extras["train"] + extras["cli"]]


@pytest.mark.parametrize("requirement", asked_for(), ids=str)
def test_every_dependency_is_locked_at_a_version_that_is_allowed(requirement):
    found = re.search(
        rf"^{re.escape(requirement.name)}(?:\[.*\])?==([^ ;]+)", LOCK, re.MULTILINE | re.IGNORECASE
    )
    assert found, "run the command at the top of requirements.lock"
    assert found[1] in requirement.specifier


def test_everything_that_is_locked_has_a_hash_and_comes_from_no_special_place():
    entries = re.split(r"^(?=\S)", re.sub(r"^#.*\n", "", LOCK, flags=re.MULTILINE), flags=re.MULTILINE)
    entries = [entry for entry in entries if entry.strip()]
    assert len(entries) > 80
    for entry in entries:
        assert re.match(r"[\w.\-\[\],]+==", entry), entry.splitlines()[0]
        assert "--hash=sha256:" in entry, entry.splitlines()[0]
    assert "://" not in LOCK
