"""Does a training run survive being killed anywhere, and a disk that fails at any write?

A short run is done once without harm. Then it is begun again and again, killed (SIGKILL) at random times or
let down by its disk at one write after the other, and resumed. The resumed run has to end with the same mazes
in the same order, the same weights, the same state of the optimiser and the same evaluations, bit for bit.

    python tests/reliability/kills.py --kills 200 --out docs/results/reliability/kills.json
    python tests/reliability/kills.py --kills 3 --writes 5
"""

from __future__ import annotations

import argparse
import dataclasses
import errno
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from safetensors import SafetensorError
from safetensors.torch import load_file

from visgym_maze.files import write_text
from visgym_maze_skyrl.local.experiment import LocalExperiment
from visgym_maze_skyrl.recipe import RECIPES, Recipe
from visgym_maze_skyrl.train import train

torch.set_num_threads(1)  # threads of OpenMP do not survive a fork, and who waits for them hangs
assert LocalExperiment  # imported once here, so that no run of the many has to

STEPS = 4
RECIPE = dataclasses.replace(
    RECIPES["smoke"], steps=STEPS, checkpoint_every=1, eval_every=2, eval_levels=4, max_turns=9, threads=1,
    reward_step=-0.01, reward_bump=-0.1,
)  # fmt: skip


def in_child(work: Callable[[], Any]) -> int:
    """Start some work in a process of its own, whose output is dropped; its process id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        if not os.environ.get("SHOW_ERRORS"):
            os.dup2(silent, 2)
        work()
        code = 0
    except OSError as error:
        code = 3 if error.errno == errno.ENOSPC else 1
    except BaseException:
        if os.environ.get("SHOW_ERRORS"):
            raise
    finally:
        os._exit(code)


def wait(pid: int) -> int:
    """Exit code of a child; negative if a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(recipe: Recipe, folder: Path, *, resume: bool) -> int:
    """Train in a child to the end; its exit code."""
    return wait(in_child(lambda: train(dataclasses.replace(recipe, output=str(folder)), resume=resume)))


def state(folder: Path) -> dict[str, Any]:
    """All of a finished run that has to be the same again."""
    newest = folder / "checkpoints" / f"global_step_{STEPS}"
    lines = (folder / "groups.jsonl").read_text(encoding="utf-8").splitlines()
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {
        "mazes": [json.loads(line) for line in lines],
        "weights": torch.load(newest / "policy" / "model_world_size_1_rank_0.pt", weights_only=True),
        "optimiser": torch.load(newest / "policy" / "optim_world_size_1_rank_0.pt", weights_only=True),
        "evaluations": [
            {k: v for k, v in record.items() if "seconds" not in k} for record in report["evaluations"]
        ],
        "exports": {
            path.parts[-3]: load_file(path)
            for path in sorted(folder.glob("exports/global_step_*/policy/adapter_model.safetensors"))
        },
    }


def same(one: Any, other: Any) -> bool:
    """Equality, bit for bit where there are tensors."""
    if isinstance(one, torch.Tensor):
        local = [getattr(x, "to_local", lambda x=x: x)() for x in (one, other)]
        return torch.equal(*local)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def listed_exports_are_whole(folder: Path) -> bool:
    """Every export that is there under its name can be loaded."""
    try:
        for path in folder.glob("exports/global_step_*/policy"):
            load_file(path / "adapter_model.safetensors")
            json.loads((path / "adapter_config.json").read_text(encoding="utf-8"))
            json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, SafetensorError):
        return False
    return True


def newest_checkpoint(folder: Path) -> int:
    """Step of the newest checkpoint that is there under its name; 0 if there is none."""
    steps = [int(p.name.removeprefix("global_step_")) for p in folder.glob("checkpoints/global_step_*")]
    return max(steps, default=0)


def judge(folder: Path, expected: dict[str, Any]) -> list[str]:
    """Resume a broken run; what is wrong with it then."""
    wrong = [] if listed_exports_are_whole(folder) else ["an export that is listed is incomplete"]
    code = run(RECIPE, folder, resume=(folder / "run.json").exists())
    if code:
        return [*wrong, f"the resumed run ended with code {code}"]
    if not listed_exports_are_whole(folder):
        wrong.append("an export is incomplete after resuming")
    found = state(folder)
    return wrong + [f"other {key}" for key in expected if not same(found[key], expected[key])]


class FailingDisk:
    """Counts the writes of a run, and lets one of them fail.

    Args:
        fail_at: Number of the write that fails; 0 for none.
        torn: Whether half of it is written and the process dies, instead of an error of a full disk.
    """

    def __init__(self, fail_at: int = 0, *, torn: bool = False) -> None:
        self.fail_at, self.torn, self.writes = fail_at, torn, 0

    def install(self) -> None:
        """Stand between this process and what it writes files and names with."""
        save, rename, replace = torch.save, Path.rename, os.replace

        def guarded(original: Callable[..., Any], path_of: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                self.writes += 1
                if self.writes == self.fail_at:
                    if self.torn:
                        self._tear(path_of(*args), original, args, kwargs)
                    raise OSError(errno.ENOSPC, "No space left on device", str(path_of(*args)))
                return original(*args, **kwargs)

            return call

        def target_of_save(what: Any, file: Any, *_: Any) -> Any:
            return getattr(file, "name", file)

        torch.save = guarded(save, target_of_save)  # type: ignore[assignment]
        Path.rename = guarded(rename, lambda source, target: target)  # type: ignore[assignment, method-assign]
        Path.replace = guarded(Path.replace, lambda source, target: target)  # type: ignore[method-assign]
        os.replace = guarded(replace, lambda source, target: target)  # type: ignore[assignment]

    def _tear(self, path: Any, original: Callable[..., Any], args: Any, kwargs: Any) -> None:
        if original is not os.replace and Path(str(path)).suffix == ".pt":
            original(*args, **kwargs)
            size = Path(str(path)).stat().st_size
            os.truncate(path, size // 2)
        os._exit(9)


def count_writes(folder: Path) -> int:
    """How often an undisturbed run writes."""
    note = folder.with_suffix(".writes")

    def work() -> None:
        disk = FailingDisk()
        disk.install()
        train(dataclasses.replace(RECIPE, output=str(folder)))
        note.write_text(str(disk.writes))

    if wait(in_child(work)):
        raise SystemExit("the undisturbed run failed")
    return int(note.read_text())


def kill(number: int, root: Path, expected: dict[str, Any], duration: float) -> dict[str, Any]:
    """Kill a run at a random time, every other one twice, and resume it."""
    rng = np.random.default_rng([0, number])
    folder = root / f"kill{number}"
    for resume in (False, True)[: 1 + number % 2]:
        again = resume and (folder / "run.json").exists()
        recipe = dataclasses.replace(RECIPE, output=str(folder))
        pid = in_child(lambda r=recipe, a=again: train(r, resume=a))
        time.sleep(float(rng.random()) * duration)
        os.kill(pid, signal.SIGKILL)
        wait(pid)
    newest = newest_checkpoint(folder)
    return {"kill": number, "newest": newest, "faults": _judged(folder, expected)}


def let_down(point: tuple[int, bool], root: Path, expected: dict[str, Any]) -> dict[str, Any]:
    """Let one write of a run fail, and resume it."""
    write, torn = point
    folder = root / f"write{write}{'torn' if torn else 'full'}"

    def work() -> None:
        FailingDisk(write, torn=torn).install()
        train(dataclasses.replace(RECIPE, output=str(folder)))

    code = wait(in_child(work))
    return {"write": write, "torn": torn, "code": code, "faults": _judged(folder, expected)}


def _judged(folder: Path, expected: dict[str, Any]) -> list[str]:
    faults = judge(folder, expected)
    if not faults:
        shutil.rmtree(folder, ignore_errors=True)
    return faults


def in_parallel(jobs: int, what: str, work: Callable[[Any], dict[str, Any]], items: list[Any]) -> list[Any]:
    """Results of some work on each item, in processes that inherit all that is imported here."""
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        results = pool.imap_unordered(work, items)
        return list(track(results, what, total=len(items), console=Console(stderr=True)))


def counted(results: list[dict[str, Any]], key: str) -> dict[str, int]:
    """How often each value occurs."""
    return {str(value): count for value, count in sorted(Counter(r[key] for r in results).items())}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--writes", type=int, default=1_000, help="at most so many writes are let fail")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each in a thread of its own")
    parser.add_argument("--out", type=Path, help="also write the result to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        started = time.monotonic()
        if run(RECIPE, root / "whole", resume=False):
            raise SystemExit("the undisturbed run failed; SHOW_ERRORS=1 shows why")
        duration = time.monotonic() - started
        expected = state(root / "whole")
        writes = count_writes(root / "counted")
        if not same(state(root / "counted"), expected):
            raise SystemExit("two undisturbed runs differ, so nothing can be compared")
        options = f"--kills {arguments.kills} --writes {arguments.writes}"
        points = [(n, torn) for n in range(1, writes + 1) for torn in (False, True)]
        chosen = np.linspace(0, len(points) - 1, min(arguments.writes, len(points))).astype(int)
        numbers = list(range(arguments.kills))
        killed = in_parallel(
            arguments.jobs, "kills", partial(kill, root=root, expected=expected, duration=duration), numbers
        )
        down = in_parallel(
            arguments.jobs,
            "writes",
            partial(let_down, root=root, expected=expected),
            [points[i] for i in chosen],
        )
        options = f"--kills {arguments.kills} --writes {arguments.writes} --jobs {arguments.jobs}"
        result = {
            "command": f"python tests/reliability/kills.py {options}",
            "versions": {name: version(name) for name in ("torch", "transformers", "skyrl")},
            "seconds_of_a_run": round(duration, 1),
            "steps_of_a_run": STEPS,
            "killed": {
                "runs": len(killed),
                "kills": len(killed) + len(killed) // 2,
                "newest_checkpoint_when_resumed": counted(killed, "newest"),
                "wrong": [r for r in killed if r["faults"]],
            },
            "failing_writes": {
                "writes_of_a_run": writes,
                "runs": len(down),
                "exit_codes": counted(down, "code"),
                "wrong": [r for r in down if r["faults"]],
            },
        }
    print(json.dumps(result, indent=1))
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
