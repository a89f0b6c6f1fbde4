"""What is kept of a run while it goes on? Append-only logs that a resumed run continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from visgym_maze.files import write_text
from visgym_maze_skyrl.recipe import Recipe, RecipeError, differences, recipe_record

RUN_FILE = "run.json"
EVALUATION_MODES = {"greedy", "sampled"}
"""What every evaluation plays; each gets a line of its own."""


class FolderInUseError(RecipeError):
    """Another process writes to the folder of the run."""


class StepLog:
    """A JSON-lines file whose records carry a ``step``.

    Args:
        path: The file; made on the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, record: dict[str, Any]) -> None:
        """Add one line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def read(self) -> list[dict[str, Any]]:
        """All whole records; a line that a crash has torn is left out."""
        if not self.path.is_file():
            return []
        records: list[dict[str, Any]] = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and "step" in record:
                records.append(record)
        return records

    def keep_up_to(self, step: int) -> None:
        """Drop what a crashed run has written after ``step``, which is played again."""
        kept = [record for record in self.read() if record["step"] <= step]
        write_text(self.path, "".join(json.dumps(record) + "\n" for record in kept))


def make_folder(folder: Path) -> None:
    """Make the folder of a run, and see that it can be written to.

    Raises:
        RecipeError: If it can't.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise RecipeError(
            f"cannot write to the folder {folder} ({error.strerror}); choose another with output=FOLDER"
        ) from error


def check_run(folder: Path, recipe: Recipe, passed: list[str], *, resume: bool) -> None:
    """See that the folder is free, or holds a run with these settings. Call it with the folder locked.

    Raises:
        RecipeError: If it holds a run already, none to resume, or one with other settings.
    """
    run_file = folder / RUN_FILE
    if not resume:
        if run_file.exists():
            raise RecipeError(
                f"the folder {folder} holds a run; go on with --resume, or choose another with output=FOLDER"
            )
        return
    if not run_file.exists():
        raise RecipeError(f"there is no run to resume in {folder}; start one without --resume")
    try:
        record = json.loads(run_file.read_text(encoding="utf-8"))
        changed = differences(recipe, record["recipe"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecipeError(
            f"{run_file} is damaged, so the run's settings are unknown; start another with output=FOLDER"
        ) from error
    before = record.get("passed", [])
    if sorted(passed) != sorted(before):
        changed["SkyRL's own settings"] = (" ".join(before) or "none", " ".join(passed) or "none")
    if changed:
        name, (old, new) = next(iter(changed.items()))
        raise RecipeError(
            f"the run in {folder} was made with {name}={old}, now it is {new}; resume it with the same "
            "settings, or start another with output=FOLDER"
        )


def record_run(folder: Path, recipe: Recipe, passed: list[str]) -> None:
    """Claim the folder, once everything about the input has been found good."""
    record = {"recipe": recipe_record(recipe), "passed": passed}
    write_text(folder / RUN_FILE, json.dumps(record, indent=1) + "\n")


def owes_evaluation(folder: Path, recipe: Recipe, step: int) -> bool:
    """Whether an evaluation after ``step`` steps is due and not logged whole: the run died before."""
    due = step % recipe.eval_every == 0 or step == recipe.steps
    logged = {r.get("mode") for r in StepLog(folder / "evaluations.jsonl").read() if r["step"] == step}
    return due and logged != EVALUATION_MODES


def is_finished(folder: Path, recipe: Recipe, step: int | None) -> bool:
    """Whether a run whose newest checkpoint is that of ``step`` has nothing left to do."""
    exported = (folder / "exports" / f"global_step_{step}").is_dir()
    return (
        step is not None and step >= recipe.steps and exported and not owes_evaluation(folder, recipe, step)
    )
