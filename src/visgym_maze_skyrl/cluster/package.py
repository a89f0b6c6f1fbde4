"""Which files travel with a job? Those of these packages that an allow-list names, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import visgym_maze
import visgym_maze_skyrl

_ALLOWED = (
    "**/*.py",
    "py.typed",
    "replay/page.*",
    *(
        f"assets/*/{name}"
        for name in (
            "chat_template.jinja",
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "processor_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "warmstart.json",
        )
    ),
)


def packed_files() -> dict[str, Path]:
    """What is sent, by its name in the job's working directory.

    A name has to be on the list, so that no ``.env``, key or checkpoint can get in by lying there.
    """
    found: dict[str, Path] = {}
    for module in (visgym_maze, visgym_maze_skyrl):
        root = Path(str(module.__file__)).parent
        for pattern in _ALLOWED:
            for path in root.glob(pattern):
                name = path.relative_to(root.parent)
                if path.is_file() and not any(part.startswith(".") for part in name.parts):
                    found[name.as_posix()] = path
    return dict(sorted(found.items()))


def pack(folder: Path) -> Path:
    """Copy the files into an empty folder, which becomes the job's working directory."""
    for name, path in packed_files().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return folder
