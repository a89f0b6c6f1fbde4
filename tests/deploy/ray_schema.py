"""The part of KubeRay's resources that the manifests use, as closed JSON schemas: misspelt is wrong.

KubeRay's own schemas are far larger; a test reads them from the folder ``KUBERAY_SCHEMAS``.
"""

TEXT, COUNT, FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
LABELS = {"type": "object", "additionalProperties": TEXT}


def closed(required, optional=()):
    properties = {**required, **dict(optional)}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


POD = {"type": "object"}  # kubernetes-validate knows pods in full
GROUP = {"rayStartParams": LABELS, "template": POD}
WORKERS = closed({"groupName": TEXT, "replicas": COUNT, "minReplicas": COUNT, "maxReplicas": COUNT, **GROUP})
CLUSTER = closed(
    {
        "rayVersion": TEXT,
        "headGroupSpec": closed(GROUP),
        "workerGroupSpecs": {"type": "array", "items": WORKERS, "minItems": 1},
    },
    {"authOptions": closed({"mode": {"enum": ["disabled", "token"]}})},
)
SPECS = {
    "RayCluster": CLUSTER,
    "RayJob": closed(
        {"entrypoint": TEXT, "rayClusterSpec": CLUSTER},
        {
            "submissionMode": {"enum": ["K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"]},
            "backoffLimit": COUNT,
            "shutdownAfterJobFinishes": FLAG,
            "ttlSecondsAfterFinished": COUNT,
            "clusterSelector": LABELS,
        },
    ),
    "RayService": closed({"serveConfigV2": TEXT, "rayClusterConfig": CLUSTER}),
}
METADATA = closed({"name": TEXT, "namespace": TEXT}, {"annotations": LABELS})
SCHEMAS = {
    kind: closed(
        {"apiVersion": {"const": "ray.io/v1"}, "kind": {"const": kind}, "metadata": METADATA, "spec": spec}
    )
    for kind, spec in SPECS.items()
}
