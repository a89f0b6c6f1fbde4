"""What was a supervisor told? Kept in the folder of its run, so that the run outlives the cluster's memory.

A lost head takes the table of jobs along, but not the shared file system.
"""

from __future__ import annotations

import json
from pathlib import Path

from visgym_maze.files import write_text
from visgym_maze_skyrl.recipe import Recipe, RecipeError
from visgym_maze_skyrl.runlog import RUN_FILE, check_run, make_folder

ORDERS_FILE = "supervise.json"


def record(folder: Path, arguments: list[str], recipe: Recipe, passed: list[str]) -> None:
    """Keep the arguments of a run that begins or goes on.

    Args:
        folder: The folder of the run.
        arguments: Of the supervisor.
        recipe: The settings that they make.
        passed: Overrides in SkyRL's own names.

    Raises:
        RecipeError: If the folder cannot be written to, or holds a run with other settings.
    """
    make_folder(folder)
    if (folder / RUN_FILE).exists():
        check_run(folder, recipe, passed, resume=True)
    write_text(folder / ORDERS_FILE, json.dumps(arguments, indent=1) + "\n")


def recorded(folder: Path) -> list[str]:
    """The arguments of the run in a folder.

    Raises:
        RecipeError: If there is none, or its record is damaged.
    """
    file = folder / ORDERS_FILE
    try:
        arguments = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecipeError(
            f"there is no supervised run in {folder}; name the folder of all runs with --runs"
        ) from error
    except (OSError, ValueError) as error:
        raise RecipeError(f"{file} cannot be read: {error}") from error
    if not isinstance(arguments, list) or not all(isinstance(text, str) for text in arguments):
        raise RecipeError(f"{file} is no list of arguments; submit the run again with its settings")
    return arguments
