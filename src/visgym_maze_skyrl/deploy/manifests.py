"""Which Kubernetes objects are there? Storage, a service account, and three kinds of Ray cluster."""

from __future__ import annotations

from typing import Any

import yaml

from visgym_maze_skyrl.deploy.deployment import SERVE_IMAGE, Deployment, Image, Node
from visgym_maze_skyrl.deploy.pods import claim_name, pod

Manifest = dict[str, Any]

_SERVE_HEAD = Node("ml.r5d.16xlarge", cpus=8, memory_gib=32)
_SERVE_GPUS = 1


def manifests(d: Deployment) -> dict[str, list[Manifest]]:
    """All objects, by the name of the file that holds them."""
    return {
        "storage.yaml": storage(d),
        "serviceaccount.yaml": [service_account(d)],
        "raycluster.yaml": [ray_cluster(d)],
        "rayjob.yaml": [ray_job(d)],
        "rayservice.yaml": [ray_service(d)],
    }


def storage(d: Deployment) -> list[Manifest]:
    """A volume on an FSx for Lustre file system that exists, and the claim that pods mount."""
    size = {"storage": f"{d.capacity_gib}Gi"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": claim_name(d)},
        "spec": {
            "capacity": size,
            "volumeMode": "Filesystem",
            "accessModes": ["ReadWriteMany"],
            "mountOptions": ["flock"],  # runs lock their folder
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"name": claim_name(d), "namespace": d.namespace},
            "csi": {
                "driver": "fsx.csi.aws.com",
                "volumeHandle": d.file_system,
                "volumeAttributes": {
                    "dnsname": f"{d.file_system}.fsx.{d.region}.amazonaws.com",
                    "mountname": d.mount_name,
                },
            },
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim_name(d), "namespace": d.namespace},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": claim_name(d),
            "resources": {"requests": dict(size)},
        },
    }
    return [volume, claim]


def service_account(d: Deployment) -> Manifest:
    """What EKS Pod Identity ties an IAM role to."""
    metadata = {"name": d.name, "namespace": d.namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def ray_cluster(d: Deployment) -> Manifest:
    """A cluster that stays; jobs are submitted to it."""
    return _ray("RayCluster", d, d.name, _training_cluster(d))


def ray_job(d: Deployment) -> Manifest:
    """A cluster for one run, made anew should its head be lost; the run goes on from its last checkpoint."""
    spec = {
        "entrypoint": d.entrypoint,
        "submissionMode": "K8sJobMode",
        "backoffLimit": 3,
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 600,
        "rayClusterSpec": _training_cluster(d),
    }
    return _ray("RayJob", d, d.run_id, spec)


def ray_service(d: Deployment) -> Manifest:
    """The base model with adapters that are loaded when a request names them."""
    spec = {
        "serveConfigV2": yaml.safe_dump(serve_config(d), sort_keys=False),
        "rayClusterConfig": _cluster(d, SERVE_IMAGE, _SERVE_HEAD, workers=1, gpus=_SERVE_GPUS),
    }
    return _ray("RayService", d, f"{d.name}-serve", spec)


def serve_config(d: Deployment) -> Manifest:
    """Configuration of Ray Serve LLM; its model is called as the deployment, an adapter ``MODEL:NAME``."""
    model = {
        "model_loading_config": {"model_id": d.name, "model_source": d.recipe.model},
        "engine_kwargs": {
            "dtype": "bfloat16",
            "enable_lora": True,
            "max_lora_rank": d.recipe.lora_rank,
            "max_loras": 2,
            "max_model_len": 2 * d.recipe.max_context,
            "limit_mm_per_prompt": {"image": d.recipe.max_turns + 1, "video": 0},
        },
        "lora_config": {"dynamic_lora_loading_path": d.adapters, "max_num_adapters_per_replica": 16},
        "deployment_config": {"num_replicas": 1},
    }
    application = {
        "name": d.name,
        "route_prefix": "/",
        "import_path": "ray.serve.llm:build_openai_app",
        "args": {"llm_configs": [model]},
    }
    return {"applications": [application]}


def _training_cluster(d: Deployment) -> Manifest:
    return _cluster(d, d.train_image, d.head, workers=d.recipe.nodes, gpus=d.recipe.gpus)


def _cluster(d: Deployment, image: Image, head: Node, *, workers: int, gpus: int) -> Manifest:
    # The dashboard has to listen on all addresses: HyperPod's endpoint is another pod.
    parameters = {"dashboard-host": "0.0.0.0", "num-cpus": str(head.cpus), "num-gpus": "0"}
    return {
        "rayVersion": image.ray,
        # HyperPod's endpoint asks for the identity; it does not hand on a token of Ray's own.
        "authOptions": {"mode": "disabled"},
        "headGroupSpec": {"rayStartParams": parameters, "template": pod(d, "ray-head", image, head)},
        "workerGroupSpecs": [
            {
                "groupName": "gpu",
                "replicas": workers,
                "minReplicas": workers,
                "maxReplicas": workers,
                "rayStartParams": {"num-gpus": str(gpus)},
                "template": pod(d, "ray-worker", image, d.worker, gpus),
            }
        ],
    }


def _ray(kind: str, d: Deployment, name: str, spec: Manifest) -> Manifest:
    endpoint = "access.sagemaker.amazonaws.com"
    annotations = {
        f"{endpoint}/enabled": "true",
        f"{endpoint}/access-strategy": "ray-access-strategy-private",
    }
    metadata = {"name": name, "namespace": d.namespace, "annotations": annotations}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
