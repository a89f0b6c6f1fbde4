"""Every Python block of the README runs as it stands."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_readme_runs(number):
    names: dict[str, object] = {}
    for earlier in BLOCKS[: number + 1]:  # a reader runs them in order
        exec(compile(earlier, f"README block {number}", "exec"), names)


def test_the_readme_has_blocks_and_its_two_commands():
    assert len(BLOCKS) >= 3
    assert "./dev train" in README
    assert "./dev test" in README
