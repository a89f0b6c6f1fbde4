"""How much does it take, and does memory stay flat? Many episodes at once, many threads, a day of training.

python tests/reliability/load.py --out docs/results/reliability/load.json
python tests/reliability/load.py --dialogues 1000 --threads 8 --episodes 8000
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console
from rich.progress import track

import visgym_maze
from visgym_maze import MazeDialogue, Split, generate
from visgym_maze.files import write_text

MOVES = [f"<action>{word}</action>" for word in ("left", "right", "up", "down")]
GROUP = 8
DAY = 24 * 3600 // 10 * 128
"""Episodes of a day, at 16 groups of 8 every 10 seconds, the pace of one GPU with a small model."""


def resident() -> int:
    """Bytes of memory that this process holds."""
    gc.collect()
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def many_dialogues(count: int) -> dict[str, Any]:
    """Open so many episodes of mazes of their own, and play them in turn to their last turn."""
    mazes = list(Split.make("train", 9, count, max_moves=14))
    before, started = resident(), time.perf_counter()
    open_ones = [MazeDialogue(maze) for maze in mazes]
    for episode in open_ones:
        episode.reset()
    opened = resident() - before
    rng = np.random.default_rng(0)
    turns = 0
    while any(not episode.done for episode in open_ones):
        for episode, move in zip(open_ones, rng.integers(4, size=count), strict=True):
            if not episode.done:
                episode.step(MOVES[move])
                turns += 1
    seconds = time.perf_counter() - started
    return {
        "dialogues": count,
        "kilobytes_each_when_opened": round(opened / count / 1e3, 2),
        "kilobytes_each_after_15_turns": round((resident() - before) / count / 1e3, 2),
        "turns": turns,
        "seconds": round(seconds, 1),
    }


def play_group(seed: int) -> None:
    """A new maze and a group of rollouts of it, pictures included."""
    rng = np.random.default_rng(seed)
    maze = generate(9, rng=rng, max_moves=14)
    for _ in range(GROUP):
        episode = MazeDialogue(maze)
        episode.reset()
        for move in rng.integers(4, size=episode.max_turns):
            episode.step(MOVES[move])


def many_threads(threads: int, groups: int) -> dict[str, Any]:
    """Groups in threads at once."""
    play_group(0)
    before, started = resident(), time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(play_group, range(groups)))
    return {
        "threads": threads,
        "episodes": groups * GROUP,
        "grew_by_megabytes": round((resident() - before) / 1e6, 1),
        "seconds": round(time.perf_counter() - started, 1),
    }


def a_day(episodes: int) -> dict[str, Any]:
    """As many episodes as a day of training plays, one after the other; memory at every tenth."""
    groups, started, megabytes = episodes // GROUP, time.perf_counter(), []
    for i in track(range(groups), "episodes", console=Console(stderr=True)):
        play_group(i)
        if (i + 1) % max(groups // 10, 1) == 0:
            megabytes.append(round(resident() / 1e6, 1))
    return {
        "episodes": groups * GROUP,
        "resident_megabytes_at_each_tenth": megabytes,
        "seconds": round(time.perf_counter() - started, 1),
    }


def processes(count: int, steps: int) -> dict[str, Any]:
    """Environments in processes of their own, resetting by themselves."""
    started = time.perf_counter()
    envs = gymnasium.make_vec(
        "VisGymMaze/Maze2D-Easy-v0", num_envs=count, vectorization_mode="async", size=7, max_turns=15
    )
    envs.reset(seed=0)
    ended = 0
    for _ in range(steps):
        _, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
        ended += int((terminated | truncated).sum())
    envs.close()
    return {"environments": count, "steps": steps, "episodes_ended": ended,
            "seconds": round(time.perf_counter() - started, 1)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dialogues", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--episodes", type=int, default=DAY)
    parser.add_argument("--out", type=Path, help="also write the result to this file")
    arguments = parser.parse_args()
    result = {
        "command": "python tests/reliability/load.py "
        f"--dialogues {arguments.dialogues} --threads {arguments.threads} --episodes {arguments.episodes}",
        "cores": os.cpu_count(),
        "version": visgym_maze.__version__,
        "at_once": many_dialogues(arguments.dialogues),
        "in_threads": many_threads(arguments.threads, 10_000 // GROUP),
        "in_processes": processes(8, 2_000),
        "a_day": a_day(arguments.episodes),
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
