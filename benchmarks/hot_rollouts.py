"""Does one rollout in ten thousand go wrong when every token that can be sampled is sampled?

Rollouts at temperature 2 on the local engine, with the generator that both backends share. A mismatch is a
conversation whose image tokens are not those of its pictures; it would also be counted as lost.

    python benchmarks/hot_rollouts.py --rollouts 10000 --out docs/results/hot_rollouts.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import torch
from rich.progress import Progress
from skyrl.train.generators.utils import prepare_generator_input

from visgym_maze.files import write_text
from visgym_maze_skyrl.config import skyrl_config
from visgym_maze_skyrl.dataset import MazeDataset, train_dataset
from visgym_maze_skyrl.env import ENV_ID
from visgym_maze_skyrl.local.experiment import LocalExperiment
from visgym_maze_skyrl.recipe import override, recipe_named
from visgym_maze_skyrl.train import resolve_model

MAZES = 16


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rollouts", type=int, default=10_000)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--out", type=Path, help="also write the result to this file")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe fields")
    arguments = parser.parse_intermixed_args()
    torch.set_num_threads(arguments.threads)
    recipe, _ = override(recipe_named("tiny"), [f"mazes_per_step={MAZES}", *arguments.overrides])
    per_step = MAZES * recipe.group_size
    steps = -(-arguments.rollouts // per_step)
    recipe, _ = override(recipe, [f"steps={steps}"])
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, Progress() as progress:
        cfg = skyrl_config(recipe, Path(folder), resolve_model(recipe.model), [], local=True, resume=False)
        experiment = LocalExperiment(cfg, recipe, Path(folder))
        client = experiment.get_inference_client()
        generator = experiment.get_generator(cfg, experiment.tokenizer, client)
        dataset = train_dataset(recipe)
        sampling = {"max_tokens": recipe.max_new_tokens, "temperature": arguments.temperature, "logprobs": 1}
        started = time.monotonic()
        for step in progress.track(range(steps)):
            rows = MazeDataset.collate_fn([dataset[step * MAZES + i] for i in range(MAZES)])
            batch, _ = prepare_generator_input(rows, recipe.group_size, sampling, ENV_ID, "train", step)
            output = asyncio.run(generator.generate(batch))
            total["rollouts"] += per_step
            total["lost"] += int(output["rollout_metrics"]["rollouts/lost"])
            for i, trajectory in enumerate(generator.trajectories):
                ids = output["prompt_token_ids"][i] + output["response_ids"][i]
                shown = int(output["image_grid_thw"][i].prod(dim=1).sum()) // 4
                total["mismatches"] += ids.count(generator.codec.image_id) != shown
                total["doubled_ends"] += any(a == b == generator.codec.end_id for a, b in pairwise(ids))
                if trajectory is not None:
                    total["turns"] += len(trajectory.turns)
                    total["answers_without_action"] += sum(t.failure is not None for t in trajectory.turns)
    result = {
        "command": shlex.join(["python", "benchmarks/hot_rollouts.py", *sys.argv[1:]]),
        "temperature": arguments.temperature,
        **{k: total[k] for k in ("rollouts", "turns", "lost", "mismatches", "doubled_ends")},
        "answers_without_action": total["answers_without_action"],
        "seconds": round(time.monotonic() - started, 1),
        "cores": os.cpu_count(),
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
