"""What may each identity do in AWS? One policy for each of three, and nothing beyond its work."""

from __future__ import annotations

from typing import Any

from visgym_maze_skyrl.deploy.deployment import Deployment

Policy = dict[str, Any]


def policies(d: Deployment) -> dict[str, Policy]:
    """IAM policy documents, by file name.

    ``pods.json`` is for the role of the service account: training pods publish adapters, serving pods read
    them. ``submitter.json`` is for a person; what that person may do inside the cluster is a matter of EKS
    access entries. ``trust.json`` lets EKS Pod Identity hand the role to pods.
    """
    bucket, _, prefix = d.adapters.removeprefix("s3://").partition("/")
    objects = f"arn:aws:s3:::{bucket}/{prefix.strip('/')}/*".replace("//*", "/*")
    adapters = [
        # No right to delete: what is published stays as it is.
        _allow("PublishAndLoadAdapters", ["s3:GetObject", "s3:PutObject"], objects),
        {
            **_allow("ListAdapters", ["s3:ListBucket"], f"arn:aws:s3:::{bucket}"),
            "Condition": {"StringLike": {"s3:prefix": [f"{prefix}*"]}},
        },
    ]
    clusters = f"arn:aws:eks:{d.region}:{d.account}:cluster/*"
    images = f"arn:aws:ecr:{d.region}:{d.account}:repository/{d.name}"
    push = [
        "ecr:BatchCheckLayerAvailability",
        "ecr:CompleteLayerUpload",
        "ecr:InitiateLayerUpload",
        "ecr:PutImage",
        "ecr:UploadLayerPart",
    ]
    submitter = [
        _allow("FindTheCluster", ["eks:DescribeCluster", "eks:AccessKubernetesApi"], clusters),
        _allow("LogInToTheRegistry", ["ecr:GetAuthorizationToken"], "*"),
        _allow("PushTheImage", push, images),
    ]
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
    return {
        "pods.json": _document(*adapters),
        "submitter.json": _document(*submitter),
        "trust.json": _document(trust),
    }


def _allow(name: str, actions: list[str], resource: str) -> Policy:
    return {"Sid": name, "Effect": "Allow", "Action": actions, "Resource": resource}


def _document(*statements: Policy) -> Policy:
    return {"Version": "2012-10-17", "Statement": list(statements)}
