"""How does a run outlive faults? A child process trains; this one starts it again until the run is done."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from visgym_maze_skyrl.backend import BACKENDS, choose_backend
from visgym_maze_skyrl.cluster.orders import record, recorded
from visgym_maze_skyrl.cluster.resources import wait_for
from visgym_maze_skyrl.recipe import Recipe, RecipeError, output_folder, override, recipe_named
from visgym_maze_skyrl.runlog import RUN_FILE, StepLog

BAD_SETTINGS, GAVE_UP, NO_NODES = 2, 3, 4
"""Exit codes beside 0 (the run is complete) and 128 + signal (it was stopped)."""


@dataclass
class Supervisor:
    """Trains until the run is complete, is stopped, or gets nowhere.

    Attributes:
        recipe: The settings.
        backend: ``local`` or ``skyrl``.
        overrides: The recipe as ``key=value``, for the child.
        faults: Restarts without a new step in between before it gives up.
        pause: Seconds before a restart; a dead node is noticed only after some.
        patience: Seconds to wait for nodes.
    """

    recipe: Recipe
    backend: str
    overrides: list[str]
    faults: int = 3
    pause: float = 10.0
    patience: float = 7200.0
    _signal: int = 0
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return output_folder(self.recipe).absolute()

    def run(self) -> int:
        """Go on until there is an exit code; call it from the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        best, left = self._last_step(), self.faults
        while not self._is_complete():
            if not self._nodes_are_there():
                return self._stopped() if self._signal else NO_NODES
            code = self._attempt()
            if self._signal:
                return self._stopped()
            if code == 0 and self._is_complete():
                break
            if code == BAD_SETTINGS:
                _say("the settings are at fault; not tried again")
                return BAD_SETTINGS
            step = self._last_step()
            left, best = (self.faults, step) if step > best else (left, best)
            _say(f"fault: {_reason(code)} at step {step}; {left} restarts left until a new step is reached")
            if left == 0:
                return GAVE_UP
            left -= 1
            self._sleep()
            if self._signal:
                return self._stopped()
        _say(f"the run is complete: {self.recipe.steps} steps in {self.folder}")
        return 0

    def _attempt(self) -> int:
        """Train in a child process, from the newest checkpoint if there is one; returns its exit code."""
        resume = ["--resume"] if (self.folder / RUN_FILE).exists() else []
        _say(f"training starts{' again' if resume else ''} on the backend {self.backend}")
        module = [sys.executable, "-m", "visgym_maze_skyrl.cluster.attempt", str(os.getpid())]
        arguments = ["--recipe", self.recipe.name, "--backend", self.backend, *resume, *self.overrides]
        # A session of its own: Ctrl-C in a terminal reaches the supervisor alone.
        self._child = subprocess.Popen([*module, *arguments], env=self._environment(), start_new_session=True)
        if self._signal:  # asked to stop before there was a child to tell
            self._child.send_signal(signal.SIGINT)
        return self._child.wait()

    def _environment(self) -> dict[str, str]:
        # Time for a lost node's successor to join, where SkyRL alone would wait three minutes.
        environment = {"SKYRL_RAY_PG_TIMEOUT_IN_S": str(int(self.patience)), **os.environ}
        if self.backend == "skyrl":
            return environment
        # Ray marks its jobs so, upon which SkyRL's worker asks Ray for its GPU; this backend has neither.
        return {k: v for k, v in environment.items() if not k.startswith("RAY_EXPERIMENTAL_NOSET_")}

    def _nodes_are_there(self) -> bool:
        if "RAY_ADDRESS" not in os.environ:  # no job of a cluster
            return True
        kind, count = ("GPU", self._gpus()) if self._gpus() else ("CPU", 1)
        there = wait_for(
            kind, count, seconds=self.patience, say=_say, stopped=lambda: bool(self._signal), pause=self.pause
        )
        if not there and not self._signal:
            _say(f"the cluster had no {count} {kind} within {self.patience:g} s; resume the run when it has")
        return there

    def _gpus(self) -> int:
        if self.backend == "local":
            return self.recipe.gpus
        return max(1, self.recipe.gpus) * self.recipe.nodes

    def _is_complete(self) -> bool:
        try:
            report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
            return int(report["steps_done"]) >= self.recipe.steps
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _last_step(self) -> int:
        return max((record["step"] for record in StepLog(self.folder / "metrics.jsonl").read()), default=0)

    def _sleep(self) -> None:
        until = time.monotonic() + self.pause
        while not self._signal and time.monotonic() < until:
            time.sleep(min(0.2, self.pause))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """The first signal lets the child end its step and write a checkpoint, the second ends it."""
        first, self._signal = not self._signal, number
        if self._child is not None and self._child.returncode is None:
            self._child.send_signal(signal.SIGINT if first else signal.SIGKILL)

    def _stopped(self) -> int:
        _say("stopped; a resumed run goes on from the newest checkpoint")
        return 128 + self._signal


def _reason(code: int) -> str:
    if code < 0:
        return f"the trainer was killed by {signal.Signals(-code).name}"
    return f"the trainer ended with code {code}" if code else "the trainer ended before its last step"


def _say(text: str) -> None:
    print(f"supervise: {text}", flush=True)


def chosen_backend(recipe: Recipe, wanted: str) -> str:
    """The backend of a supervised run: GPUs may be on other nodes than this one."""
    if wanted == "skyrl" or (wanted == "auto" and recipe.gpus):
        return "skyrl"
    return choose_backend(wanted)[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Train, and go on after faults.")
    parser.add_argument("--again", metavar="FOLDER", help="go on with the run in FOLDER, settings as before")
    parser.add_argument("--recipe", default="tiny", metavar="NAME")
    parser.add_argument("--backend", default="auto", choices=BACKENDS)
    parser.add_argument("--faults", type=int, default=3, help="restarts without a new step (default: 3)")
    parser.add_argument("--pause", type=float, default=10.0, help="seconds before a restart (default: 10)")
    parser.add_argument("--patience", type=float, default=7200.0, help="seconds to wait for nodes")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the supervisor; returns the exit code of the job."""
    argv = sys.argv[1:] if argv is None else argv
    a = _parser().parse_intermixed_args(argv)
    try:
        if a.again:
            argv = recorded(Path(a.again))
            a = _parser().parse_intermixed_args(argv)
        recipe, passed = override(recipe_named(a.recipe), a.overrides)
        backend = chosen_backend(recipe, a.backend)
        supervisor = Supervisor(recipe, backend, a.overrides, a.faults, a.pause, a.patience)
        record(supervisor.folder, argv, recipe, passed)
    except RecipeError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_SETTINGS
    return supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
