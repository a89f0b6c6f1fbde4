"""How fast is the environment, beside pygame and Pillow, maze-world and MiniGrid, and beside its limits?

Everything is measured in one run, so that the ratios hold on any machine. A peer that is not installed is
left out, with the reason (``pip install visgym-maze[bench]`` gets them all).
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import os
import platform
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import PIL
from clock import microseconds
from flows import (
    MazeWorldFlow,
    MiniGridFlow,
    OurFlow,
    PygameFlow,
    our_group,
    pillow_uri,
    pygame_group,
)

import visgym_maze
from visgym_maze import MazeDialogue, MazeVectorEnv, data_uri, generate, parse, png_bytes, render
from visgym_maze.dialogue.dialects import DIALECTS
from visgym_maze.files import write_text

ROLLOUTS, TURNS, MAZES = 8, 15, 1024
TARGETS = {
    "step + frame, times pygame": 40.0,
    "step + data URI (uncached), times pygame and Pillow": 150.0,
    "group flow, times pygame and Pillow": 1000.0,
    "RGB PNG, times Pillow's default": 5.0,
}
VECTOR_TARGET = 50.0
HOSTILE_TARGET = 5.0
SLOWEST = "milliseconds of the slowest hostile answer of 200,000 characters"
HOSTILE = (
    "<action>",
    "</action>",
    "<action>left</action>",
    "<think>",
    "('a',",
    "('move', 0),",
    "[",
    '{"a":',
    " ,",
)

EPILOG = """examples:
  python benchmarks/environment.py                               # prints the figures
  python benchmarks/environment.py --out docs/results/environment.json
  python benchmarks/environment.py --sizes 9 --seconds 0.1       # a quick look
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure_flow(flow: Any, seconds: float) -> dict[str, float]:
    """Microseconds of reset, step, step + frame and step + data URI."""
    step, frame, uri = flow.step, flow.frame, flow.uri
    result = {"reset": microseconds(flow.reset, seconds), "step": microseconds(step, seconds)}
    step_with_frame = getattr(flow, "step_with_frame", lambda: (step(), frame()))
    result["step + frame"] = microseconds(step_with_frame, seconds)
    result["step + data URI"] = microseconds(lambda: (step(), uri()), seconds)
    return result


def measure_ours(size: int, seconds: float) -> dict[str, float]:
    """Our flow, the caches taken apart, and the PNG modes."""
    flow = OurFlow(size)
    result = measure_flow(flow, seconds)
    result["reset + frame"] = microseconds(flow.reset_with_frame, seconds)
    result["step + data URI, cached"] = microseconds(
        lambda: (flow.step(), data_uri(flow.layout, flow._env.cell)), seconds
    )
    # More mazes than any cache holds, so each picture is the first of its maze.
    unseen = itertools.cycle([generate(size, rng=seed) for seed in range(2000)])
    result["data URI of a new maze"] = microseconds(lambda: data_uri(m := next(unseen), m.start), seconds)
    result["RGB PNG"] = microseconds(
        lambda: (flow.step(), png_bytes(flow.layout, flow._env.cell, mode="rgb")), seconds
    )
    picture = flow.frame()
    result["RGB PNG by Pillow"] = microseconds(lambda: (flow.step(), pillow_uri(picture)), seconds)
    return result


def measure_groups(size: int, seconds: float) -> dict[str, float]:
    """Microseconds of one group of rollouts in one thread, and of wall time per group in 32."""
    rng = np.random.default_rng(0)
    ours = partial(our_group, size, rng, ROLLOUTS, TURNS)
    theirs = partial(pygame_group, size, ROLLOUTS, TURNS)
    return {
        "ours": microseconds(ours, seconds),
        "pygame + Pillow": microseconds(theirs, seconds),
        "ours, 32 threads": threaded(lambda: our_group(size, np.random.default_rng(), ROLLOUTS, TURNS), 1024),
        "pygame + Pillow, 32 threads": threaded(theirs, 64),
    }


def threaded(call: Callable[[], object], count: int, threads: int = 32) -> float:
    """Microseconds of wall time per call when ``threads`` threads share ``count`` calls."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: call(), range(threads)))
        begun = time.perf_counter()
        list(pool.map(lambda _: call(), range(count)))
        return (time.perf_counter() - begun) / count * 1e6


def measure_limits(size: int, seconds: float) -> dict[str, float]:
    """Microseconds of the work that cannot be left out."""
    layout = generate(size, rng=0)
    frame, png = render(layout, layout.start), png_bytes(layout, layout.start)
    rgb = png_bytes(layout, layout.start, mode="rgb")
    scanlines = frame.tobytes()
    dialogue = MazeDialogue(layout)

    class Bare:
        def step(self, action: int) -> tuple[object, float, bool, bool, dict[str, object]]:
            return action, 0.0, False, False, {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}

    def turns() -> None:
        for turn in range(ROLLOUTS * TURNS):
            parse(("<action>right</action>", "<action>left</action>")[turn % 2])
            url = data_uri(layout, dialogue.cell)
            _ = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]

    return {
        "call that returns a step's five values": microseconds(partial(Bare().step, 0), seconds),
        "memcpy of the frame": microseconds(frame.copy, seconds),
        "CRC-32 and base64 of the palette PNG": microseconds(
            lambda: (zlib.crc32(png), base64.b64encode(png)), seconds
        ),
        "CRC-32 of the RGB PNG": microseconds(lambda: zlib.crc32(rgb), seconds),
        "zlib (level 6) over the raw RGB picture": microseconds(lambda: zlib.compress(scanlines, 6), seconds),
        "parsing and message dictionaries of a group flow": microseconds(turns, seconds),
    }


def measure_vector(seconds: float) -> dict[str, float]:
    """The vector environment in millions of steps per second, and what one gather of its size would allow."""
    levels = [generate(9, rng=seed, max_moves=14) for seed in range(MAZES)]
    rng = np.random.default_rng(0)
    actions = itertools.cycle(rng.integers(5, size=(64, MAZES)))
    result: dict[str, float] = {}
    for observe in ("cell", "grid"):
        envs = MazeVectorEnv(MAZES, levels=levels, observe=observe)
        envs.reset(seed=0)
        taken = microseconds(lambda envs=envs: envs.step(next(actions)), 4 * seconds)
        result[f"million steps/s, observe={observe}"] = MAZES / taken
    table, places = np.zeros(MAZES * 81 * 6, dtype=np.uint32), rng.integers(MAZES * 81 * 6, size=(64, MAZES))
    rows = itertools.cycle(places)
    result["limit: million gathers/s"] = MAZES / microseconds(lambda: table.take(next(rows)), seconds)
    call = microseconds(lambda: np.add(places[0], 1), seconds)
    result["microseconds of one numpy operation on 1024 numbers"] = call
    return result


def measure_parser(seconds: float) -> dict[str, float]:
    """Milliseconds for 200,000 hostile characters, by dialect the slowest of several kinds."""
    texts = [
        frame.replace("{}", unit * (200_000 // len(unit)))
        for unit in HOSTILE
        for frame in ("{}", "<action>{}</action>", "<tool_call>{}</tool_call>", "[{}]")
    ]
    return {
        dialect: max(microseconds(partial(parse, text, dialect, 5), seconds / len(texts)) for text in texts)
        / 1e3
        for dialect in DIALECTS
    }


def peers(size: int, seconds: float) -> dict[str, dict[str, float] | str]:
    """The same work by others, or why it could not be measured."""
    results: dict[str, dict[str, float] | str] = {}
    for name, flow in (
        ("pygame + Pillow", PygameFlow),
        ("maze-world", MazeWorldFlow),
        ("MiniGrid", MiniGridFlow),
    ):
        say(f"{size}x{size}: {name}")
        try:
            made = flow(size)
        except ImportError as error:
            say(f"  left out: {error}; pip install visgym-maze[bench]")
            results[name] = f"not installed: {error}"
            continue
        results[name] = measure_flow(made, seconds)
    return results


def ratios(size_result: dict[str, Any]) -> dict[str, float]:
    """How many times as fast we are."""
    ours, pygame = size_result["ours"], size_result["peers"]["pygame + Pillow"]
    groups, limits = size_result["groups"], size_result["limits"]
    return {
        "reset, times pygame": pygame["reset"] / ours["reset"],
        "step, times pygame": pygame["step"] / ours["step"],
        "step + frame, times pygame": pygame["step + frame"] / ours["step + frame"],
        "step + data URI (uncached), times pygame and Pillow": pygame["step + data URI"]
        / ours["step + data URI"],
        "step + data URI (cached), times pygame and Pillow": pygame["step + data URI"]
        / ours["step + data URI, cached"],
        "group flow, times pygame and Pillow": groups["pygame + Pillow"] / groups["ours"],
        "group flow in 32 threads": groups["pygame + Pillow, 32 threads"] / groups["ours, 32 threads"],
        "RGB PNG, times Pillow's default": ours["RGB PNG by Pillow"] / ours["RGB PNG"],
        "from the limit: step": ours["step"] / limits["call that returns a step's five values"],
        "from the limit: step + frame": ours["step + frame"] / (ours["step"] + limits["memcpy of the frame"]),
        "from the limit: step + data URI (uncached)": ours["step + data URI"]
        / (ours["step"] + limits["CRC-32 and base64 of the palette PNG"]),
        "from the limit: RGB PNG": ours["RGB PNG"] / (ours["step"] + limits["CRC-32 of the RGB PNG"]),
        "from the limit: group flow": groups["ours"]
        / limits["parsing and message dictionaries of a group flow"],
    }


def report(result: dict[str, Any]) -> None:
    """Print the ratios with their targets, and the vector environment."""
    for size, found in result["sizes"].items():
        print(f"\n{size}")
        for name, value in found.get("ratios", {}).items():
            target = TARGETS.get(name)
            verdict = (
                "" if target is None else f"  (target {target:g}: {'met' if value >= target else 'missed'})"
            )
            print(f"  {name:58s} {value:10.1f}{verdict}")
    print("\nvector environment")
    for name, value in result["vector"].items():
        print(f"  {name:58s} {value:10.1f}")
    print(f"\n{SLOWEST} (target: below {HOSTILE_TARGET:g})")
    for dialect, value in result[SLOWEST].items():
        print(f"  {dialect:58s} {value:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", help="write all figures to this JSON file")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[9, 21], help="sides of the mazes (default: 9 21)"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="per measurement (default: 0.5)")
    options = parser.parse_args()
    result: dict[str, Any] = {
        "unit": "microseconds of processor time per call, the fastest of many batches, unless a name says "
        "otherwise",
        "command": " ".join(["python", *sys.argv]),
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "versions": {
            "python": platform.python_version(),
            **{m.__name__: m.__version__ for m in (visgym_maze, np, gymnasium, PIL)},
        },
        "targets": {**TARGETS, "million steps/s, observe=cell": VECTOR_TARGET, SLOWEST: HOSTILE_TARGET},
        "sizes": {},
    }
    for size in options.sizes:
        found: dict[str, Any] = {"peers": peers(size, options.seconds)}
        say(f"{size}x{size}: this package")
        found["ours"] = measure_ours(size, options.seconds)
        found["limits"] = measure_limits(size, options.seconds)
        if isinstance(found["peers"]["pygame + Pillow"], dict):
            say(f"{size}x{size}: groups of {ROLLOUTS} rollouts of {TURNS} turns")
            found["groups"] = measure_groups(size, options.seconds)
            found["ratios"] = ratios(found)
        result["sizes"][f"{size}x{size}"] = found
    say(f"{MAZES} mazes at once")
    result["vector"] = measure_vector(options.seconds)
    say("hostile answers")
    result[SLOWEST] = measure_parser(options.seconds)
    report(result)
    if options.out:
        write_text(options.out, json.dumps(result, indent=1) + "\n")
        say(f"written to {options.out}")


if __name__ == "__main__":
    main()
