"""Where does the gap between the engine's log-probabilities and the trainer's come from?

Rollouts are sampled on vLLM in one precision; then the same tokens are scored by the Hugging Face model in
bfloat16 and in float32, the way a trainer does. Both sides leave out the same tokens. If precision is all
there is, float32 against float32 leaves next to nothing.

    python benchmarks/logprob_gap.py --engine bfloat16 --out docs/results/logprob_gap-bfloat16.json
    python benchmarks/logprob_gap.py --engine float32 --out docs/results/logprob_gap-float32.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForImageTextToText

sys.path.insert(0, str(Path(__file__).parent))
import rollouts as speed

from visgym_maze_skyrl.cluster.pictures import PictureEncoder
from visgym_maze_skyrl.generator import MazeGenerator
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import PictureReader
from visgym_maze_skyrl.masking import forbid


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=str(speed.tiny_model_folder()), help="Qwen3-VL folder")
    parser.add_argument("--engine", default="bfloat16", choices=["bfloat16", "float32"])
    parser.add_argument("--mazes", type=int, default=8, help="mazes, each played by 8 rollouts")
    parser.add_argument("--server", default="", help="further arguments of the vLLM server")
    parser.add_argument("--log", type=Path, default=Path("gap-server.log"), help="the server's log")
    parser.add_argument("--out", type=Path, help="also write the result to this file")
    arguments = parser.parse_args()
    arguments.hot_turns = 0
    arguments.server = f"--dtype {arguments.engine} {arguments.server}"
    port = speed._free_port()
    with speed._server(arguments, port):
        output = asyncio.run(_play(arguments, port))
    result = {
        **{key: speed._header(arguments, 0.0)[key] for key in ("machine", "versions")},
        "command": " ".join(["python", "benchmarks/logprob_gap.py", *sys.argv[1:]]),
        "engine": arguments.engine,
        "tokens": sum(map(sum, output["loss_masks"])),
        "trainer": {str(d).removeprefix("torch."): _gap(arguments.model, output, d) for d in _DTYPES},
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        speed.write_text(arguments.out, json.dumps(result, indent=1) + "\n")


_DTYPES = (torch.bfloat16, torch.float32)


async def _play(arguments: argparse.Namespace, port: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        client, recipe, cfg = speed._setup(arguments, port, Path(folder), "patch16", 15)
        codec = ChatCodec(client.tokenizer, PictureReader(arguments.model))
        encoder = PictureEncoder(getattr(torch, arguments.engine))
        generator = MazeGenerator(
            cfg.generator, cfg.environment.skyrl_gym, client, codec, encode_picture=encoder, one_engine=True
        )
        batch = speed._batch(recipe, client.tokenizer, 15, first=0, mazes=arguments.mazes)
        output: dict[str, Any] = dict(await generator.generate(batch))
        output["tokenizer"], output["image_id"] = client.tokenizer, codec.image_id
        await client._get_generate_client().aclose()
    return output


@torch.no_grad()
def _gap(model_path: str, output: dict[str, Any], dtype: torch.dtype) -> dict[str, float]:
    """Differences over all sampled tokens: of log-probabilities, and of the ratios that enter the loss."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model: Any = AutoModelForImageTextToText.from_pretrained(model_path, dtype=dtype).to(device)
    forbid(model, output["tokenizer"])
    gaps: list[torch.Tensor] = []
    for i, response in enumerate(output["response_ids"]):
        ids = torch.tensor([output["prompt_token_ids"][i] + response], device=device)
        logits = model(
            input_ids=ids,
            pixel_values=output["pixel_values"][i].to(device, dtype),
            image_grid_thw=output["image_grid_thw"][i].to(device),
            mm_token_type_ids=(ids == output["image_id"]).long(),
        ).logits
        scored = logits[0, :-1].float().log_softmax(-1).gather(-1, ids[0, 1:, None])[-len(response) :, 0]
        mask = torch.tensor(output["loss_masks"][i], device=device).bool()
        gaps.append((scored - torch.tensor(output["rollout_logprobs"][i], device=device))[mask].cpu())
    gap = torch.cat(gaps).double()
    size, ratio = gap.abs(), gap.exp()
    return {
        "mean": float(size.mean()),
        "p99": float(size.quantile(0.99)),
        "max": float(size.max()),
        "share_above_0.1": float((size > 0.1).double().mean()),
        "ratio_mean": float(ratio.mean()),
        "share_of_ratios_outside_clip_0.2": float(((ratio - 1).abs() > 0.2).double().mean()),
    }


if __name__ == "__main__":
    main()
