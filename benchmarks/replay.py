"""How large is a replay, and how fast does a browser open it? 500 episodes in a headless Chromium."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from visgym_maze import GroupSampler, MazeDialogue, RandomPolicy, Split, Trajectory, rollout
from visgym_maze.files import write_text
from visgym_maze.replay import replay_page

EPISODES, GROUP_SIZE, SIZE = 504, 8, 9
LIMIT_SECONDS, LIMIT_BYTES = 2.0, 5_000_000


class Wordy:
    """Walks at random and never stops, after some characters of words made up from a seed.

    Args:
        characters: Length of what stands in front of an action.
    """

    def __init__(self, characters: int) -> None:
        self.count = characters // 7
        self.policy = RandomPolicy(seed=0)
        self.rng = np.random.default_rng(0)
        letters = self.rng.integers(ord("a"), ord("z") + 1, size=(2000, 6), dtype=np.uint8)
        self.words = [bytes(row).decode() for row in letters]

    def act(self, dialogues: list[MazeDialogue]) -> list[str]:
        actions = [text.replace("stop", "up") for text in self.policy.act(dialogues)]
        thoughts = [" ".join(self.words[i] for i in self._numbers()) for _ in dialogues]
        return [f"{thought}\n{action}" for thought, action in zip(thoughts, actions, strict=True)]

    def _numbers(self) -> list[int]:
        return self.rng.integers(len(self.words), size=self.count).tolist()


def episodes(characters: int) -> list[Trajectory]:
    """Groups of rollouts, 15 turns each."""
    mazes = EPISODES // GROUP_SIZE
    groups = GroupSampler(Split.make("eval", SIZE, mazes), GROUP_SIZE, shuffle=False).take(mazes)
    return rollout(Wordy(characters), groups)


def open_once(browser: Browser, file: Path) -> dict[str, float]:
    """Seconds until the list is there and the first maze is drawn, in a page of its own."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    begun = time.perf_counter()
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_selector("body[data-ready] #stage svg .agent")
    seconds = time.perf_counter() - begun
    painted = page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
    )
    begun = time.perf_counter()
    for _ in range(100):
        page.keyboard.press("j")
    step = (time.perf_counter() - begun) / 100
    rows = page.locator("#list li").count()
    page.close()
    if rows != EPISODES:
        raise RuntimeError(f"the list has {rows} episodes, {EPISODES} were written")
    return {"ready": seconds, "painted": painted / 1000, "next_episode": step}


def measure(browser: Browser, characters: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Sizes and times of a page whose answers have so many characters."""
    played = episodes(characters)
    begun = time.perf_counter()
    text = replay_page({"rollouts": played})
    written = time.perf_counter() - begun
    file = folder / f"{characters}.html"
    write_text(file, text)
    times = [open_once(browser, file) for _ in range(repeats)]
    return {
        "characters_per_answer": characters,
        "characters_spoken": sum(len(turn.text) for t in played for turn in t.turns),
        "bytes": file.stat().st_size,
        "seconds_to_write": written,
        "runs": times,
        "median_seconds_to_ready": statistics.median(t["ready"] for t in times),
        "slowest_seconds_to_ready": max(t["ready"] for t in times),
        "slowest_seconds_to_painted": max(t["painted"] for t in times),
    }


def main() -> int:
    """Print the figures; the exit status says whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON file of the results")
    parser.add_argument("--repeats", type=int, default=10, help="how often a page is opened")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("error: no Chromium on the PATH; Debian: apt install chromium", file=sys.stderr)
        return 2
    with sync_playwright() as tools, tempfile.TemporaryDirectory() as folder:
        browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pages = [measure(browser, n, arguments.repeats, Path(folder)) for n in (30, 300, 1000)]
        result = {
            "episodes": EPISODES,
            "turns_per_episode": 15,
            "limit_seconds": LIMIT_SECONDS,
            "limit_bytes": LIMIT_BYTES,
            "pages": pages,
            "chromium": browser.version,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "load_average": os.getloadavg(),
        }
        browser.close()
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")
    for page in pages:
        print(
            f"{page['characters_per_answer']:>5} characters an answer: {page['bytes'] / 1e6:.2f} MB, ready "
            f"after {page['median_seconds_to_ready']:.2f} s "
            f"(slowest {page['slowest_seconds_to_ready']:.2f} s)"
        )
    held = all(
        p["slowest_seconds_to_painted"] < LIMIT_SECONDS
        and p["slowest_seconds_to_ready"] < LIMIT_SECONDS
        and p["bytes"] < LIMIT_BYTES
        for p in pages
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
