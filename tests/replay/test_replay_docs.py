"""The Python of the guide runs as it stands."""

import re
from pathlib import Path

GUIDE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")


def test_the_guide_makes_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    exec(compile(block, "guide", "exec"), {})
    assert Path("oracle.html").stat().st_size > 10_000


def test_its_pictures_are_there():
    names = re.findall(r"assets/[\w.-]+\.(?:png|gif)", GUIDE)
    assert len(names) == 5
    assert all((Path(__file__).parents[2] / "docs" / name).is_file() for name in names)
