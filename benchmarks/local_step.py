"""How many seconds does one GRPO step of the local backend take, and where do they go?

16 mazes x 8 rollouts x up to 15 turns on 7x7, by default. With ``--model random`` no rollout ever ends
early, which is the most work a step can be.

    python benchmarks/local_step.py
    python benchmarks/local_step.py --model random --steps 3 --json docs/results/local_step.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from pathlib import Path

from visgym_maze.files import write_text
from visgym_maze_skyrl.recipe import override, recipe_named
from visgym_maze_skyrl.train import train


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="tiny", help="tiny, random, or a model folder")
    parser.add_argument("--steps", type=int, default=5, help="steps to time; the first is left out")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 for all cores")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe fields")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        model = arguments.model
        if model == "random":
            from visgym_maze_skyrl.local.tiny import build_tiny

            model = str(Path(folder) / "model")
            build_tiny(model, seed=0)
        settings = [
            f"model={model}", f"steps={arguments.steps + 1}", f"threads={arguments.threads}", "eval_levels=1",
            "eval_every=1000", "checkpoint_every=1000", f"output={folder}/run",
        ]  # fmt: skip
        recipe, passed = override(recipe_named("tiny"), settings + arguments.overrides)
        train(recipe, backend="local", passed=passed)
        lines = (Path(folder) / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()

    steps = [json.loads(line) for line in lines[1:]]
    mean = lambda key: sum(step[key] for step in steps) / len(steps)  # noqa: E731
    parts = {
        "generate": mean("timing/generate"),
        "forward": mean("timing/fwd_logprobs_values_reward"),
        "update": mean("timing/train_critic_and_policy"),
        "sync": mean("timing/sync_weights"),
    }
    total = mean("timing/step")
    result = {
        "seconds_per_step": total,
        "seconds": {**parts, "other": total - sum(parts.values())},
        "turns_per_second_in_rollouts": mean("rollouts/turns_per_second"),
        "turns_per_episode": mean("environment/avg_turns"),
        "tokens_per_sequence": mean("generate/avg_num_tokens"),
        "rollouts_per_step": recipe.mazes_per_step * recipe.group_size,
        "steps_timed": len(steps),
        "machine": {
            "cores": os.cpu_count(),
            "threads": arguments.threads,
            "python": platform.python_version(),
        },
        "model": arguments.model,
    }
    print(json.dumps(result, indent=1))
    if arguments.json:
        write_text(arguments.json, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
