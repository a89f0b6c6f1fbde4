"""Which facts of a cluster do all manifests share? One object, so that no two of them can disagree."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath

from visgym_maze_skyrl.recipe import RECIPES, Recipe

SHARED = "/shared"
"""Where every pod sees the shared file system; models, runs and caches live below it."""

SUPERVISOR = "visgym_maze_skyrl.cluster.supervise"
"""Module that runs a training on the head and starts it again after a lost node."""


TRAIN_RAY = "2.57.0"
"""Version of Ray that SkyRL 0.4.0 asks for."""


class DeploymentError(ValueError):
    """Settings that no cluster can be made of; the message says what to change."""


@dataclass(frozen=True)
class Image:
    """A container image.

    Attributes:
        name: With registry and tag.
        ray: Version of Ray inside it.
    """

    name: str
    ray: str


SERVE_IMAGE = Image("public.ecr.aws/deep-learning-containers/ray:serve-llm-cuda", "2.58.0")
"""Image of the serving pods. AWS builds it, so its Ray is another; the adapter is all that they share."""


@dataclass(frozen=True)
class Node:
    """What a pod takes of a machine; less than the machine has, or the pod never starts.

    Attributes:
        instance: HyperPod instance type.
        cpus: CPUs of the pod.
        memory_gib: Memory of the pod in GiB, shared memory included.
    """

    instance: str
    cpus: int
    memory_gib: int


@dataclass(frozen=True)
class Deployment:
    """One training cluster and the servers of its adapters.

    Attributes:
        recipe: The run; gives GPUs, nodes, folder, model and adapter rank.
        name: Of the Kubernetes objects.
        namespace: Of the Kubernetes objects.
        region: AWS region.
        account: AWS account number.
        file_system: FSx for Lustre file system.
        mount_name: Its mount name.
        capacity_gib: Its size.
        adapters: S3 prefix that adapters are published to.
        head: What the CPU head takes; it gathers all weights at a checkpoint.
        worker: What a GPU pod takes.
    """

    recipe: Recipe = field(default_factory=lambda: RECIPES["hyperpod-qwen3-vl-8b"])
    name: str = "visgym-maze"
    namespace: str = "visgym-maze"
    region: str = "us-west-2"
    account: str = "123456789012"
    file_system: str = "fs-0123456789abcdef0"
    mount_name: str = "abcdefgh"
    capacity_gib: int = 2400
    adapters: str = "s3://visgym-maze-adapters/mazes"
    head: Node = Node("ml.r5d.16xlarge", cpus=48, memory_gib=400)
    worker: Node = Node("ml.g7e.12xlarge", cpus=40, memory_gib=400)

    def __post_init__(self) -> None:
        if self.recipe.gpus < 1:
            raise DeploymentError("the recipe says gpus=0; a manifest needs the number, such as gpus=2")
        if PurePosixPath(SHARED) not in PurePosixPath(self.recipe.output).parents:
            raise DeploymentError(
                f"output={self.recipe.output or '(empty)'} is on no shared file system; write "
                f"output={SHARED}/runs/RUN_ID"
            )
        if not re.fullmatch(r"s3://[a-z0-9.-]{3,63}(/.+)?", self.adapters):
            raise DeploymentError(f"adapters={self.adapters!r} is no S3 prefix; write s3://bucket/prefix")
        for name, value in (
            ("name", self.name),
            ("namespace", self.namespace),
            ("the last part of output", self.run_id),
        ):
            if not re.fullmatch(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", value):
                raise DeploymentError(
                    f"{name} is {value!r}; Kubernetes takes small letters, digits and '-', at most 40"
                )

    @property
    def train_image(self) -> Image:
        """Image of the training pods, in the account's own registry."""
        registry = f"{self.account}.dkr.ecr.{self.region}.amazonaws.com"
        return Image(f"{registry}/{self.name}:ray{TRAIN_RAY}", TRAIN_RAY)

    @property
    def run_id(self) -> str:
        """Last part of the run's folder."""
        return PurePosixPath(self.recipe.output).name

    @property
    def entrypoint(self) -> str:
        """Command of the Ray job: the named recipe, and all in which this one differs from it."""
        named = RECIPES[self.recipe.name]
        changed = [
            f"{field.name}={getattr(self.recipe, field.name)}"
            for field in fields(self.recipe)
            if field.name == "output" or getattr(self.recipe, field.name) != getattr(named, field.name)
        ]
        return shlex.join(["python", "-m", SUPERVISOR, "--recipe", self.recipe.name, *changed])
