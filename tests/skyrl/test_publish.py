"""Adapters in S3 (moto's server): whole or not at all, never twice, never one that is not served."""

import json
import shutil

import boto3
import pytest
import torch
from moto.server import ThreadedMotoServer
from safetensors.torch import load_file, save_file

from visgym_maze_skyrl.adapter_folder import CONFIG, WEIGHTS, AdapterError, check_adapter
from visgym_maze_skyrl.adapter_manifest import check_copy
from visgym_maze_skyrl.adapter_store import AdapterStore
from visgym_maze_skyrl.cluster.command import main as train
from visgym_maze_skyrl.config import TEXT_PROJECTIONS
from visgym_maze_skyrl.publish import main, publish

pytestmark = pytest.mark.train
URL = "s3://adapters/mazes"


@pytest.fixture(scope="module")
def server():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(server, monkeypatch):
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="adapters")
    yield client
    for entry in client.list_objects_v2(Bucket="adapters").get("Contents", []):
        client.delete_object(Bucket="adapters", Key=entry["Key"])


@pytest.fixture(scope="session")
def exported(model_folder, tmp_path_factory):
    """What PEFT writes for a tiny model after a step of training."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForImageTextToText

    folder = tmp_path_factory.mktemp("run") / "global_step_20" / "policy"
    model = AutoModelForImageTextToText.from_pretrained(model_folder, dtype=torch.float32)
    adapted = get_peft_model(model, LoraConfig(r=8, target_modules=TEXT_PROJECTIONS))
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if ".lora_B." in name:
                weight.fill_(0.01)
    adapted.save_pretrained(folder)
    return folder


@pytest.fixture
def adapter(exported, tmp_path):
    folder = tmp_path / "exports" / "global_step_20" / "policy"
    shutil.copytree(exported, folder)
    return folder


def change_config(folder, **changes):
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**config, **changes}))


def change_weights(folder, change):
    weights = load_file(folder / WEIGHTS)
    save_file(change(weights), folder / WEIGHTS)


def keys(s3):
    return sorted(entry["Key"] for entry in s3.list_objects_v2(Bucket="adapters").get("Contents", []))


def test_what_peft_exports_is_an_adapter(adapter, model_folder):
    facts = check_adapter(adapter)
    assert (facts.rank, facts.base_model, facts.dtype) == (8, str(model_folder), "float32")
    assert facts.pairs == len(load_file(adapter / WEIGHTS)) // 2
    assert facts.largest == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"r": 12}, "rank 12 is none that vLLM serves"),
        ({"r": 16}, "but the rank is 16"),
        ({"peft_type": "IA3"}, "'IA3'"),
        ({"use_dora": True}, "use_dora=True"),
        ({"modules_to_save": ["lm_head"]}, "lm_head"),
        ({"bias": "all"}, "bias='all'"),
        ({"init_lora_weights": "pissa_niter_4"}, "pissa_niter_4"),
        ({"target_modules": list("q_proj")}, "letter by letter"),
        ({"base_model_name_or_path": ""}, "names no base model"),
        ({"lora_alpha": None}, "damaged"),
    ],
)
def test_a_configuration_that_is_not_served_is_refused(adapter, changes, message):
    change_config(adapter, **changes)
    with pytest.raises(AdapterError, match=message):
        check_adapter(adapter)


def with_vision(weights):
    pair = {
        f"base_model.model.model.visual.blocks.0.attn.qkv.lora_{s}.weight": torch.ones(8, 8) for s in "AB"
    }
    return {**weights, **pair}


def without_one(weights):
    del weights[next(name for name in weights if ".lora_B." in name)]
    return weights


def not_finite(weights):
    next(iter(weights.values()))[0, 0] = float("nan")
    return weights


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_vision, "belongs to the vision tower"),
        (without_one, "has no lora_B"),
        (not_finite, "NaN or infinity"),
        (lambda weights: {name: 0 * tensor for name, tensor in weights.items()}, "changes nothing"),
        (lambda weights: {"base_model.model.lm_head.weight": torch.ones(2, 2), **weights}, "no LoRA weight"),
        (lambda weights: {}, "changes nothing"),
    ],
)
def test_weights_that_are_not_served_as_trained_are_refused(adapter, change, message):
    change_weights(adapter, change)
    with pytest.raises(AdapterError, match=message):
        check_adapter(adapter)


def test_a_damaged_or_missing_file_is_named(adapter):
    data = (adapter / WEIGHTS).read_bytes()
    (adapter / WEIGHTS).write_bytes(data[: len(data) // 2])
    with pytest.raises(AdapterError, match="can't be read"):
        check_adapter(adapter)
    (adapter / WEIGHTS).unlink()
    with pytest.raises(AdapterError, match=f"has no {WEIGHTS}"):
        check_adapter(adapter)


def test_a_published_adapter_is_read_back_and_never_replaced(adapter, s3):
    name = publish(adapter, URL, "grpo")
    assert name.startswith("grpo-step20-")
    assert keys(s3) == [f"mazes/{name}/{file}" for file in (CONFIG, WEIGHTS, "manifest.json")]
    manifest = AdapterStore(URL).verify(name)
    assert (manifest["name"], manifest["step"], manifest["adapter"]["rank"]) == (name, 20, 8)
    with pytest.raises(AdapterError, match="published already"):
        publish(adapter, URL, "grpo")
    change_weights(adapter, lambda weights: {key: 2 * tensor for key, tensor in weights.items()})
    assert publish(adapter, URL, "grpo") != name
    assert len(AdapterStore(URL).names()) == 2


def test_a_torn_upload_is_never_listed_and_can_be_repeated(adapter, s3, monkeypatch):
    store = AdapterStore(URL)
    put = store._s3.put_object

    def cut(**arguments):
        if arguments["Key"].endswith(CONFIG):
            raise ConnectionError("cable pulled")
        return put(**arguments)

    monkeypatch.setattr(store._s3, "put_object", cut)
    with pytest.raises(ConnectionError):
        store.publish(adapter)
    assert len(keys(s3)) == 2
    assert AdapterStore(URL).names() == []
    name = publish(adapter, URL)
    assert AdapterStore(URL).names() == [name]


def test_weights_that_arrive_changed_are_not_committed(adapter, s3, monkeypatch):
    store = AdapterStore(URL)
    upload = store._s3.upload_file

    def garble(path, bucket, key, **extra):
        upload(path, bucket, key, **extra)
        s3.put_object(Bucket=bucket, Key=key, Body=b"noise")

    monkeypatch.setattr(store._s3, "upload_file", garble)
    with pytest.raises(AdapterError, match="is not what was published"):
        store.publish(adapter)
    assert store.names() == []


def test_two_that_publish_at_once_do_not_both_commit(adapter, s3, monkeypatch):
    first = publish(adapter, URL)
    late = AdapterStore(URL)
    monkeypatch.setattr(late, "is_published", lambda name: False)
    with pytest.raises(AdapterError, match="by another process"):
        late.publish(adapter)
    assert AdapterStore(URL).names() == [first]


@pytest.mark.parametrize("file", [WEIGHTS, CONFIG])
def test_a_file_that_was_changed_in_the_bucket_is_found(adapter, s3, capsys, file):
    name = publish(adapter, URL)
    assert main([URL]) == 0
    assert f"{name}  rank 8" in capsys.readouterr().out
    s3.put_object(Bucket="adapters", Key=f"mazes/{name}/{file}", Body=b"{}")
    assert main([URL]) == 2
    assert f"{file} is not what was published" in capsys.readouterr().err


def test_a_dry_run_says_what_would_be_published_and_uploads_nothing(adapter, s3, capsys):
    assert main([str(adapter), URL, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert keys(s3) == []
    assert main([str(adapter), URL, "--dry-run"]) == 0
    assert f"{planned['name']}  rank 8" in capsys.readouterr().out
    assert publish(adapter, URL) == planned["name"]
    assert main([str(adapter), URL, "--dry-run"]) == 2
    assert "published already" in capsys.readouterr().err
    change_config(adapter, r=12)
    assert main([str(adapter), URL, "--dry-run"]) == 2
    assert "rank 12" in capsys.readouterr().err


def test_json_is_the_manifest_that_is_in_the_bucket(adapter, s3, capsys):
    assert main([str(adapter), URL, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said.pop("url") == f"{URL}/{said['name']}"
    body = s3.get_object(Bucket="adapters", Key=f"mazes/{said['name']}/manifest.json")["Body"].read()
    assert json.loads(body) == said
    assert main([URL, "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == [said["name"]]


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"name": "a", "adapter": {}, "files": {}}'])
def test_a_damaged_manifest_is_named(adapter, s3, capsys, body):
    name = publish(adapter, URL)
    s3.put_object(Bucket="adapters", Key=f"mazes/{name}/manifest.json", Body=body)
    assert main([URL]) == 2
    assert "manifest.json is damaged" in capsys.readouterr().err


def test_a_copy_of_what_was_published_is_checked_without_s3(adapter, s3, tmp_path):
    name, copy = publish(adapter, URL), tmp_path / "copy"
    copy.mkdir()
    for file in (CONFIG, WEIGHTS, "manifest.json"):
        s3.download_file("adapters", f"mazes/{name}/{file}", str(copy / file))
    check_copy(copy)
    (copy / WEIGHTS).write_bytes((copy / WEIGHTS).read_bytes()[:-1])
    with pytest.raises(AdapterError, match=f"{WEIGHTS} is not the one"):
        check_copy(copy)
    (copy / WEIGHTS).unlink()
    with pytest.raises(AdapterError, match=f"{WEIGHTS} is not the one"):
        check_copy(copy)
    for body in ("[]", "{}", '{"files": 3}', '{"files": {}}'):
        (copy / "manifest.json").write_text(body)
        with pytest.raises(AdapterError):
            check_copy(copy)
    (copy / "manifest.json").unlink()
    with pytest.raises(AdapterError, match=r"no sound manifest\.json"):
        check_copy(copy)


def test_the_command_is_one_of_visgym_maze_train(adapter, s3, capsys):
    assert train(["publish", str(adapter), URL]) == 0
    assert AdapterStore(URL).names() == [capsys.readouterr().out.strip()]
    assert train(["publish", str(adapter), URL]) == 2
    assert "published already" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        train(["publish", "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert (
        "visgym-maze-train publish runs/mine/exports/global_step_160/policy s3://my-adapters/mazes" in shown
    )
    assert train(["--help"]) == 0
    assert "publish FOLDER URL" in capsys.readouterr().out


def test_the_command_publishes_and_says_what_is_wrong(adapter, s3, capsys):
    assert main([str(adapter), URL]) == 0
    assert capsys.readouterr().out.strip() in AdapterStore(URL).names()
    assert main([str(adapter), "gs://adapters"]) == 2
    assert "s3://bucket/prefix" in capsys.readouterr().err
    assert main([str(adapter), URL, "--name", "a:b"]) == 2
    assert "'a:b'" in capsys.readouterr().err
    assert main([str(adapter), "s3://no-such-bucket/mazes"]) == 1
    assert "error:" in capsys.readouterr().err
