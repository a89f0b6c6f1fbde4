"""How does the trainer live as a child of the supervisor? It hears one signal, and never outlives it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from visgym_maze_skyrl.recipe import RecipeError, override, recipe_named
from visgym_maze_skyrl.runlog import FolderInUseError
from visgym_maze_skyrl.train import parse_arguments, train

IN_USE = 5
"""Exit code while the folder is held, as by the trainer of a node that is cut off but not dead yet."""

_PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> int:
    """Train once, on the backend that the supervisor has chosen.

    Args:
        argv: The process id of the supervisor, then arguments as for ``examples/train_grpo.py``.

    Returns:
        0 after the end or a stop, 2 for bad settings, 5 if another trainer holds the folder,
        130 if interrupted before the first step.
    """
    arguments = parse_arguments(argv[1:])
    try:
        _belong_to(int(argv[0]))
        recipe, passed = override(recipe_named(arguments.recipe), arguments.overrides)
        if arguments.backend == "local" and "RAY_ADDRESS" in os.environ:
            from visgym_maze_skyrl.cluster.placed import join, train_on_node

            join()  # so that the run's numbers are published
            if recipe.gpus:
                train_on_node(recipe, passed, resume=arguments.resume)
                return 0
        train(recipe, backend=arguments.backend, passed=passed, resume=arguments.resume)
    except FolderInUseError as error:
        print(f"error: {error}", file=sys.stderr)
        return IN_USE
    except RecipeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _belong_to(supervisor: int) -> None:
    """Die with the supervisor, and leave it to it to say when to stop.

    Ray stops a job with SIGTERM to every process of it. The supervisor turns it into the SIGINT on which
    the trainer ends its step and writes a checkpoint; Ray's workers start their children with SIGINT
    blocked.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:  # it died before that call
            sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
