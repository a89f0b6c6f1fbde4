"""Which cluster does an address name? Checked before anything is sent to it."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

HELP = "http://HOST:8265 or sagemaker_ray://CLUSTER[/NAMESPACE]"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class ClusterError(ValueError):
    """A cluster that cannot be reached or refuses a request; the message says what to do."""


def check_address(address: str) -> str:
    """See that an address can be used from this machine.

    Args:
        address: ``http://`` or ``https://`` of a Ray dashboard, or ``sagemaker_ray://`` of a RayCluster on
            SageMaker HyperPod.

    Returns:
        The address without a slash at its end.

    Raises:
        ClusterError: If it is none of these, or the machine lacks what it takes.
    """
    scheme, separator, rest = address.strip().partition("://")
    rest = rest.rstrip("/")
    if not separator:
        raise ClusterError(f"{address!r} has no scheme; write {HELP}")
    if scheme == "ray":
        raise ClusterError(f"{address!r} is Ray Client's port; jobs go to the dashboard: http://HOST:8265")
    if scheme in ("http", "https"):
        _check_dashboard(address, rest)
    elif scheme == "sagemaker_ray":
        _check_hyperpod(address, rest)
    else:
        raise ClusterError(f"unknown scheme {scheme!r} in {address!r}; write {HELP}")
    return f"{scheme}://{rest}"


def _check_dashboard(address: str, rest: str) -> None:
    try:
        parts = urlsplit(f"//{rest}")
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
        parts = None
    if not named or parts is None:
        raise ClusterError(f"{address!r} names no host and port; write http://HOST:8265")
    if parts.username or parts.password:
        raise ClusterError("the address holds a user or password, which would end up in logs; leave it out")
    if parts.path or parts.query or parts.fragment:
        raise ClusterError(f"{address!r} goes on after the port; write http://{parts.netloc}")


def _check_hyperpod(address: str, rest: str) -> None:
    cluster, _, namespace = rest.partition("/")
    for what, name in (("cluster", cluster), ("namespace", namespace or "default")):
        # A cluster with dots is the host name of an endpoint.
        if not all(_NAME.fullmatch(part) for part in name.split(".")):
            raise ClusterError(
                f"{name!r} in {address!r} cannot be a {what}: small letters, digits and '-'; "
                "write sagemaker_ray://CLUSTER[/NAMESPACE], where CLUSTER is the RayCluster"
            )
    if importlib.util.find_spec("sagemaker_ray") is None:
        raise ClusterError(
            "sagemaker_ray:// needs the package toolkit-for-ray-on-sagemaker-ai: "
            "pip install 'visgym-maze[hyperpod]'"
        )
    places = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if not any(Path(place).is_file() for place in places.split(os.pathsep)):
        raise ClusterError(
            f"no kubeconfig in {places}; make one: aws eks update-kubeconfig --name EKS_CLUSTER"
        )
