"""A short run of the program that kills trainings, which looks at every part of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.train


def test_killed_and_let_down_runs_end_as_if_nothing_had_happened(tmp_path):
    program = Path(__file__).with_name("kills.py")
    out = tmp_path / "kills.json"
    subprocess.run(
        [sys.executable, program, "--kills", "2", "--writes", "3", "--out", out], check=True, timeout=600
    )
    result = json.loads(out.read_text())
    assert result["killed"]["kills"] == 3
    assert result["failing_writes"]["runs"] == 3
    assert result["failing_writes"]["writes_of_a_run"] > 40
    assert result["killed"]["wrong"] == result["failing_writes"]["wrong"] == []
