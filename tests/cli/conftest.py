"""Runs the command in this process, as a shell would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from visgym_maze.cli.app import build


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("COLUMNS", "200")  # so that no message is wrapped

    def call(*arguments: object) -> Result:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            build()([str(argument) for argument in arguments], prog_name="visgym-maze")
        out, err = capfd.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0, out, err)

    return call
