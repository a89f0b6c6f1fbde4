"""Keys in the environment of a training run stay there: nothing that it writes or prints holds one."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.train

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_grpo.py"
NAMES = (
    "OPENAI_API_KEY",
    "WANDB_API_KEY",
    "HF_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "RAY_AUTH_TOKEN",
)
KEYS = {name: f"sk-never-{i}-{'x7Qz' * 8}" for i, name in enumerate(NAMES)}


def contents(path: Path) -> list[bytes]:
    """A file as it is, and what is packed in it."""
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        return [raw, gzip.decompress(raw)]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return [raw, *(archive.read(name) for name in archive.namelist())]
    return [raw]


def test_no_key_of_the_environment_is_written_or_printed(tmp_path):
    command = [sys.executable, str(EXAMPLE), "--recipe", "smoke", f"output={tmp_path / 'run'}", "threads=1"]
    environment = {**os.environ, **KEYS, "WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path)}
    done = subprocess.run(
        [*command, "logger=wandb"], env=environment, capture_output=True, check=True, cwd=tmp_path
    )
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert any("wandb" in str(path) for path in files)
    written = {str(path.relative_to(tmp_path)): contents(path) for path in files}
    written["output"] = [done.stdout, done.stderr]
    found = [
        (name, key)
        for name, parts in written.items()
        for key in KEYS
        if any(KEYS[key].encode() in part for part in parts)
    ]
    assert found == []
