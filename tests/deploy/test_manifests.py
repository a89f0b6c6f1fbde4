"""Manifests: what is committed is what the recipe makes, Kubernetes takes it, and mistakes are named."""

import copy
import dataclasses
import importlib.util
import json
import os
import shlex
import tomllib
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml
from ray_schema import SCHEMAS

from visgym_maze_skyrl.deploy.__main__ import files, main
from visgym_maze_skyrl.deploy.deployment import TRAIN_RAY, Deployment, DeploymentError
from visgym_maze_skyrl.deploy.manifests import manifests
from visgym_maze_skyrl.deploy.rules import problems
from visgym_maze_skyrl.recipe import RECIPES, override, recipe_named

pytestmark = pytest.mark.train
ROOT = Path(__file__).parents[2]
KUBERNETES = "1.33"
KUBERAY = os.environ.get("KUBERAY_SCHEMAS", "")
TRAINING = ("RayCluster", "RayJob")


@pytest.fixture
def objects():
    """All objects of the default deployment, one by one, to be changed at will."""
    made = [item for group in manifests(Deployment()).values() for item in group]
    return {item["kind"]: copy.deepcopy(item) for item in made}


def cluster(item):
    spec = item["spec"]
    return spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec


def pods(item):
    spec = cluster(item)
    return [group["template"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]


def found(objects):
    return problems(list(objects.values()), Deployment())


@pytest.mark.parametrize(("name", "text"), files(Deployment()).items())
def test_what_is_committed_is_what_the_recipe_makes(name, text):
    assert (ROOT / "deploy" / name).read_text() == text, "run: python -m visgym_maze_skyrl.deploy deploy"


def test_core_objects_and_pods_are_kubernetes(objects):
    for kind, item in objects.items():
        if kind.startswith("Ray"):
            for template in pods(item):
                kinds = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod"}}
                kubernetes_validate.validate({**kinds, "template": template}, KUBERNETES, strict=True)
        else:
            kubernetes_validate.validate(item, KUBERNETES, strict=True)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_ray_objects_have_kuberays_fields(objects, kind):
    jsonschema.validate(objects[kind], SCHEMAS[kind])


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (("workerGroupSpecs", 0), {"groupname": "gpu"}),
        (("workerGroupSpecs", 0), {"minReplicas": "three"}),
        ((), {"rayversion": "2.57.0"}),
        ((), {"rayVersion": 2.57}),
    ],
)
def test_a_misspelt_field_is_no_ray_object(objects, path, change):
    part = cluster(objects["RayCluster"])
    for key in path:
        part = part[key]
    part.update(change)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(objects["RayCluster"], SCHEMAS["RayCluster"])


def test_a_misspelt_field_is_no_pod(objects):
    template = pods(objects["RayJob"])[0]
    template["spec"]["containers"][0]["volumeMounts"][0] = {"name": "shared", "mountpath": "/shared"}
    kinds = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**kinds, "template": template}, KUBERNETES, strict=True)


@pytest.mark.skipif(not KUBERAY, reason="KUBERAY_SCHEMAS names no folder with KubeRay's schemas")
@pytest.mark.parametrize("kind", SCHEMAS)
def test_ray_objects_against_kuberays_own_schemas(objects, kind):
    (path,) = Path(KUBERAY).glob(f"ray.io_{kind.lower()}s.v1.json")
    schema = strict(json.loads(path.read_text()))
    jsonschema.validate(objects[kind], schema)
    cluster(objects[kind])["workerGroupSpecs"][0]["groupname"] = "gpu"
    with pytest.raises(jsonschema.ValidationError, match="groupname"):
        jsonschema.validate(objects[kind], schema)


def strict(schema):
    """A structural schema of Kubernetes as JSON schema that allows no unknown field."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if made.pop("x-kubernetes-int-or-string", False):
        return {"type": ["integer", "string"]}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
        if "metadata" in made["properties"] and "kind" in made["properties"]:
            made["properties"]["metadata"] = {"type": "object"}
    return made


def test_the_manifests_break_no_rule(objects):
    assert found(objects) == []


def other_gpus(objects):
    for kind in TRAINING:
        group = cluster(objects[kind])["workerGroupSpecs"][0]
        group["rayStartParams"]["num-gpus"] = "4"
        group["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "4"


def fewer_nodes(objects):
    group = cluster(objects["RayCluster"])["workerGroupSpecs"][0]
    group.update(replicas=2, minReplicas=2, maxReplicas=2)


def more_for_ray_than_taken(objects):
    cluster(objects["RayJob"])["workerGroupSpecs"][0]["rayStartParams"]["num-gpus"] = "8"


def elastic(objects):
    cluster(objects["RayCluster"])["workerGroupSpecs"][0]["minReplicas"] = 0


def not_shared(objects):
    del pods(objects["RayCluster"])[1]["spec"]["containers"][0]["volumeMounts"][0]


def not_shared_but_empty(objects):
    pods(objects["RayJob"])[0]["spec"]["volumes"][0] = {"name": "shared", "emptyDir": {}}


def other_claim(objects):
    objects["PersistentVolumeClaim"]["metadata"]["name"] = "elsewhere"


def other_namespace(objects):
    objects["RayCluster"]["metadata"]["namespace"] = "default"


def other_version(objects):
    cluster(objects["RayCluster"])["rayVersion"] = "2.58.0"


def other_image(objects):
    pods(objects["RayJob"])[1]["spec"]["containers"][0]["image"] = "rayproject/ray:2.57.0"


def closed_dashboard(objects):
    cluster(objects["RayCluster"])["headGroupSpec"]["rayStartParams"]["dashboard-host"] = "127.0.0.1"


def selector(objects):
    objects["RayJob"]["spec"]["clusterSelector"] = {"ray.io/cluster": "visgym-maze"}


def interactive(objects):
    objects["RayJob"]["spec"]["submissionMode"] = "InteractiveMode"


def another_folder(objects):
    objects["RayJob"]["spec"]["entrypoint"] = "python -m train output=/shared/runs/another"


def serve(objects, change):
    config = yaml.safe_load(objects["RayService"]["spec"]["serveConfigV2"])
    change(config["applications"][0]["args"]["llm_configs"][0])
    objects["RayService"]["spec"]["serveConfigV2"] = yaml.safe_dump(config)


def default_rank(objects):
    serve(objects, lambda model: model["engine_kwargs"].pop("max_lora_rank"))


def few_pictures(objects):
    serve(objects, lambda model: model["engine_kwargs"]["limit_mm_per_prompt"].update(image=15))


def local_adapters(objects):
    serve(objects, lambda model: model["lora_config"].update(dynamic_lora_loading_path="/shared/adapters"))


def colon(objects):
    serve(objects, lambda model: model["model_loading_config"].update(model_id="maze:8b"))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (other_gpus, "GPUs are 3 x 4, but the recipe hyperpod-qwen3-vl-8b trains on 3 x 2"),
        (fewer_nodes, "GPUs are 2 x 2, but"),
        (more_for_ray_than_taken, "group gpu tells Ray of 8 GPUs and takes 2"),
        (elastic, "may change its size"),
        (not_shared, "ray-worker does not mount a claim at /shared"),
        (not_shared_but_empty, "ray-head does not mount a claim at /shared"),
        (other_claim, "mounts the claim visgym-maze-shared, which is in none of the manifests"),
        (other_namespace, "service account visgym-maze is in none of the manifests"),
        (other_version, f"rayVersion is 2.58.0, but .* holds Ray {TRAIN_RAY}"),
        (other_image, "ray-worker runs rayproject/ray:2.57.0"),
        (closed_dashboard, "dashboard-host is not 0.0.0.0"),
        (selector, "refuses it with clusterSelector"),
        (interactive, "InteractiveMode"),
        (another_folder, "does not write to /shared/runs/hyperpod-qwen3-vl-8b"),
        (default_rank, "up to rank 16 only"),
        (few_pictures, "fewer pictures than an episode of 15 turns"),
        (local_adapters, "not in S3"),
        (colon, "maze:8b has a ':'"),
    ],
)
def test_a_mistake_is_named(objects, mistake, message):
    mistake(objects)
    with pytest.raises(AssertionError, match=message):
        assert not found(objects), "\n".join(found(objects))


def test_the_job_starts_what_the_package_has():
    python, _, module, *arguments = shlex.split(Deployment().entrypoint)
    assert python == "python"
    assert importlib.util.find_spec(module) is not None
    assert arguments == ["--recipe", "hyperpod-qwen3-vl-8b", "output=/shared/runs/hyperpod-qwen3-vl-8b"]


def test_other_recipes_change_everything_at_once():
    recipe, _ = override(recipe_named("hyperpod-qwen3-vl-8b"), ["nodes=2", "gpus=8", "output=/shared/runs/b"])
    d = Deployment(recipe=recipe)
    made = {item["kind"]: item for group in manifests(d).values() for item in group}
    assert problems(list(made.values()), d) == []
    group = cluster(made["RayJob"])["workerGroupSpecs"][0]
    resources = group["template"]["spec"]["containers"][0]["resources"]
    assert (group["replicas"], resources["limits"]["nvidia.com/gpu"]) == (2, "8")
    assert made["RayJob"]["metadata"]["name"] == "b"
    # The job trains this recipe, not the one it began as.
    words = shlex.split(made["RayJob"]["spec"]["entrypoint"])
    named = words[words.index("--recipe") + 1]
    assert override(recipe_named(named), [word for word in words if "=" in word]) == (recipe, [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipe": RECIPES["single-gpu"]}, "no shared file system"),
        ({"recipe": RECIPES["tiny"]}, "gpus=0"),
        ({"adapters": "/shared/adapters"}, "no S3 prefix"),
        ({"namespace": "RL team"}, "'RL team'"),
        ({"recipe": dataclasses.replace(Deployment().recipe, output="/shared/runs/Run_1")}, "'Run_1'"),
    ],
)
def test_settings_that_make_no_cluster_are_refused(changes, message):
    with pytest.raises(DeploymentError, match=message):
        Deployment(**changes)


def test_ray_and_skyrl_are_those_of_the_package_and_of_the_image():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {line.split(";")[0].strip() for line in project["optional-dependencies"]["train"]}
    assert f"ray=={TRAIN_RAY}" in pinned
    image = ROOT / "deploy" / "image"
    constraints = {line for line in (image / "constraints.txt").read_text().splitlines() if "==" in line}
    names = {line.split("==")[0] for line in constraints}
    assert {line for line in pinned if line.split("==")[0] in names} <= constraints
    assert {"ray", "skyrl", "skyrl-gym", "torch", "peft"} <= names
    assert f"ray-{TRAIN_RAY}-" in (image / "Dockerfile").read_text()


def test_policies_allow_no_deletion_and_name_their_bucket():
    made = files(Deployment(adapters="s3://mine/some/prefix"))
    pods_policy = json.loads(made["iam/pods.json"])
    actions = {action for statement in pods_policy["Statement"] for action in statement["Action"]}
    assert actions == {"s3:GetObject", "s3:PutObject", "s3:ListBucket"}
    resources = {statement["Resource"] for statement in pods_policy["Statement"]}
    assert resources == {"arn:aws:s3:::mine", "arn:aws:s3:::mine/some/prefix/*"}
    assert "Delete" not in "".join(text for name, text in made.items() if name.startswith("iam/"))


def test_the_command_writes_and_checks(tmp_path, capsys):
    options = ["nodes=2", "--account", "999999999999"]
    assert main([str(tmp_path), *options]) == 0
    assert main([str(tmp_path), "--check", *options]) == 0
    assert "999999999999.dkr" in (tmp_path / "manifests" / "rayjob.yaml").read_text()
    capsys.readouterr()
    assert main([str(tmp_path), "--check", "--account", "999999999999"]) == 1
    assert "GPUs are 2 x 2" in capsys.readouterr().err
    assert main([str(tmp_path / "nothing"), "--check"]) == 2
    assert main([str(tmp_path), "--recipe", "tiny"]) == 2
    assert main([str(tmp_path), "trainer.seed=3"]) == 2
    assert capsys.readouterr().err.count("error: ") == 3
