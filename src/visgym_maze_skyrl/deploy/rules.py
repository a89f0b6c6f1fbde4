"""What in manifests would break a run though Kubernetes accepts it? Rules that no schema knows.

They read the manifests as they stand, so they also judge files that were edited by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from visgym_maze_skyrl.deploy.deployment import SERVE_IMAGE, SHARED, Deployment

Manifest = dict[str, Any]
_CLUSTER_KEYS = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}


def problems(objects: Sequence[Manifest], d: Deployment) -> list[str]:
    """Everything that is wrong with the objects of one deployment, in words; empty if nothing is."""
    return [
        f"{item['kind']} {item['metadata']['name']}: {text}"
        for item in objects
        if item["apiVersion"] == "ray.io/v1"
        for text in (*_of_cluster(item, objects, d), *_of_job(item, d), *_of_service(item, d))
    ]


def _of_cluster(item: Manifest, objects: Sequence[Manifest], d: Deployment) -> Iterator[str]:
    spec = _cluster_spec(item)
    if spec is None:
        return
    image = SERVE_IMAGE if item["kind"] == "RayService" else d.train_image
    if spec.get("rayVersion") != image.ray:
        yield f"rayVersion is {spec.get('rayVersion')}, but {image.name} holds Ray {image.ray}"
    head, workers = spec["headGroupSpec"], spec["workerGroupSpecs"]
    if head["rayStartParams"].get("dashboard-host") != "0.0.0.0":
        yield "the head's dashboard-host is not 0.0.0.0, so nothing can be submitted from outside"
    if item["kind"] != "RayService":
        yield from _of_gpus(workers, d)
    for group in (head, *workers):
        yield from _of_pod(group["template"]["spec"], item["metadata"]["namespace"], objects, image.name)


def _of_gpus(workers: list[Manifest], d: Deployment) -> Iterator[str]:
    nodes, gpus = d.recipe.nodes, d.recipe.gpus
    found = [(group["replicas"], _gpu_limit(group)) for group in workers]
    if found != [(nodes, gpus)]:
        shown = " and ".join(f"{n} x {g}" for n, g in found) or "none"
        yield f"GPUs are {shown}, but the recipe {d.recipe.name} trains on {nodes} x {gpus}"
    for group in workers:
        name, told = group["groupName"], group["rayStartParams"].get("num-gpus")
        if told != str(_gpu_limit(group)):
            yield f"group {name} tells Ray of {told} GPUs and takes {_gpu_limit(group)}"
        if not group["minReplicas"] == group["maxReplicas"] == group["replicas"]:
            yield f"group {name} may change its size, but SkyRL needs all nodes all the time"


def _of_pod(pod: Manifest, namespace: str, objects: Sequence[Manifest], image: str) -> Iterator[str]:
    claims = {v["name"]: v.get("persistentVolumeClaim", {}).get("claimName") for v in pod.get("volumes", [])}
    for container in pod["containers"]:
        name = container["name"]
        mounted = {m["mountPath"]: claims.get(m["name"]) for m in container.get("volumeMounts", [])}
        claim = mounted.get(SHARED)
        if claim is None:
            yield f"{name} does not mount a claim at {SHARED}, where runs and models are"
        elif not _exists(objects, "PersistentVolumeClaim", claim, namespace):
            yield f"{name} mounts the claim {claim}, which is in none of the manifests"
        if container["image"] != image:
            yield f"{name} runs {container['image']}, the others {image}"
    account = pod.get("serviceAccountName", "default")
    if not _exists(objects, "ServiceAccount", account, namespace):
        yield f"the service account {account} is in none of the manifests"


def _of_job(item: Manifest, d: Deployment) -> Iterator[str]:
    if item["kind"] != "RayJob":
        return
    spec = item["spec"]
    if spec.get("backoffLimit") and spec.get("clusterSelector"):
        yield "backoffLimit needs a cluster of the job's own; KubeRay refuses it with clusterSelector"
    if spec.get("backoffLimit") and spec.get("submissionMode") == "InteractiveMode":
        yield "backoffLimit cannot be had in InteractiveMode"
    if f"output={d.recipe.output}" not in spec.get("entrypoint", "").split():
        yield f"the entrypoint does not write to {d.recipe.output}, so a retry would begin anew"


def _of_service(item: Manifest, d: Deployment) -> Iterator[str]:
    if item["kind"] != "RayService":
        return
    for application in yaml.safe_load(item["spec"]["serveConfigV2"])["applications"]:
        for model in application["args"]["llm_configs"]:
            name, engine = model["model_loading_config"]["model_id"], model["engine_kwargs"]
            if ":" in name:
                yield f"model_id {name} has a ':', which divides a model from its adapter"
            if engine.get("max_lora_rank", 16) < d.recipe.lora_rank:
                yield f"{name} takes adapters up to rank {engine.get('max_lora_rank', 16)} only"
            if engine.get("limit_mm_per_prompt", {}).get("image", 1) <= d.recipe.max_turns:
                yield f"{name} takes fewer pictures than an episode of {d.recipe.max_turns} turns shows"
            if not model["lora_config"]["dynamic_lora_loading_path"].startswith("s3://"):
                yield f"{name} loads adapters from a path that is not in S3"


def _cluster_spec(item: Manifest) -> Manifest | None:
    key = _CLUSTER_KEYS.get(item["kind"])
    return item["spec"] if key is None else item["spec"].get(key)


def _gpu_limit(group: Manifest) -> int:
    containers = group["template"]["spec"]["containers"]
    return sum(int(c["resources"]["limits"].get("nvidia.com/gpu", 0)) for c in containers)


def _exists(objects: Sequence[Manifest], kind: str, name: str, namespace: str) -> bool:
    wanted = (kind, name, namespace)
    return any((o["kind"], o["metadata"]["name"], o["metadata"].get("namespace")) == wanted for o in objects)
