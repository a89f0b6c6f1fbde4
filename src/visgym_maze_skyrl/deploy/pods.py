"""How does a pod of a Ray cluster look? The same for head and workers, so that all of them see one disk."""

from __future__ import annotations

from typing import Any

from visgym_maze_skyrl.deploy.deployment import SHARED, Deployment, Image, Node

HEAD_PORTS = {"gcs-server": 6379, "dashboard": 8265, "client": 10001, "metrics": 8080, "serve": 8000}
_MEMORY_DISK_GIB = 64  # Ray's object store; counts as memory of the pod


def pod(d: Deployment, container: str, image: Image, node: Node, gpus: int = 0) -> dict[str, Any]:
    """A pod template.

    Args:
        d: The deployment.
        container: ``ray-head`` or ``ray-worker``.
        image: What runs in it.
        node: On what it runs, and how much of it it takes.
        gpus: GPUs it takes.
    """
    resources: dict[str, str] = {"cpu": str(node.cpus), "memory": f"{node.memory_gib}Gi"}
    if gpus:
        resources["nvidia.com/gpu"] = str(gpus)
    ports = [{"name": name, "containerPort": port} for name, port in HEAD_PORTS.items()]
    return {
        "spec": {
            "serviceAccountName": d.name,
            # A pod that died is made anew, on a healthy node, rather than started again where it was.
            "restartPolicy": "Never",
            "nodeSelector": {
                "node.kubernetes.io/instance-type": node.instance,
                "sagemaker.amazonaws.com/node-health-status": "Schedulable",
            },
            "containers": [
                {
                    "name": container,
                    "image": image.name,
                    **({"ports": ports} if container == "ray-head" else {}),
                    "env": _environment(),
                    "resources": {"requests": dict(resources), "limits": dict(resources)},
                    "volumeMounts": [
                        {"name": "shared", "mountPath": SHARED},
                        {"name": "dshm", "mountPath": "/dev/shm"},
                        {"name": "ray-tmp", "mountPath": "/tmp/ray"},
                    ],
                }
            ],
            "volumes": [
                {"name": "shared", "persistentVolumeClaim": {"claimName": claim_name(d)}},
                {
                    "name": "dshm",
                    "emptyDir": {
                        "medium": "Memory",
                        "sizeLimit": f"{min(_MEMORY_DISK_GIB, node.memory_gib // 3)}Gi",
                    },
                },
                {"name": "ray-tmp", "emptyDir": {}},
            ],
        }
    }


def claim_name(d: Deployment) -> str:
    """Name of the claim, and of the volume, that is mounted at ``/shared``."""
    return f"{d.name}-shared"


def _environment() -> list[dict[str, Any]]:
    fixed = {
        # One copy of each model for all nodes.
        "HF_HOME": f"{SHARED}/huggingface",
        # A job that is stopped ends its step and writes a checkpoint first; Ray alone allows it 3 seconds.
        "RAY_JOB_STOP_WAIT_TIME_S": "900",
    }
    host = {"fieldRef": {"fieldPath": "status.hostIP"}}
    return [
        *({"name": name, "value": value} for name, value in fixed.items()),
        # Where HyperPod's agent for hung jobs listens.
        {"name": "HYPERPOD_JMA_HOST", "valueFrom": host},
    ]
