"""How does an adapter get into S3 whole or not at all? Weights first, the commit marker last, a new name.

Ray Serve LLM takes every folder below a prefix for an adapter that holds ``adapter_config.json``, and keeps
in memory what it has once loaded. So that file is written last, and no name is ever used for other weights.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from visgym_maze_skyrl.adapter_folder import CONFIG, WEIGHTS, AdapterError
from visgym_maze_skyrl.adapter_manifest import MANIFEST, hash_stream, manifest_of


class AdapterStore:
    """Adapters below one S3 prefix.

    Args:
        url: For example ``s3://bucket/adapters``. Credentials, region and endpoint are boto3's
            (``AWS_ENDPOINT_URL`` for other servers).

    Raises:
        AdapterError: If the URL isn't one, or boto3 is missing.
    """

    def __init__(self, url: str) -> None:
        scheme, _, rest = url.partition("://")
        self.bucket, _, prefix = rest.partition("/")
        self.prefix = prefix.strip("/")
        if scheme != "s3" or not self.bucket:
            raise AdapterError(f"{url!r} is no place for adapters; write s3://bucket/prefix")
        try:
            boto3, botocore = import_module("boto3"), import_module("botocore.exceptions")
        except ImportError as error:
            raise AdapterError("publishing needs the package boto3: pip install 'visgym-maze[s3]'") from error
        self._s3: Any = boto3.client("s3")
        # What boto3 raises if S3 itself, the network or the credentials fail.
        self.errors: tuple[type[Exception], ...] = (
            botocore.BotoCoreError,
            botocore.ClientError,
            boto3.exceptions.Boto3Error,
        )

    def publish(self, folder: Path, name: str = "maze") -> str:
        """Check a PEFT folder, upload it, and read it back.

        Args:
            folder: The adapter; its step is taken from a parent folder ``global_step_N`` if there is one.
            name: Beginning of the published name.

        Returns:
            The name under which a server offers it: ``NAME[-stepN]-`` and 8 digits of the content's hash.

        Raises:
            AdapterError: If the folder is bad, the adapter is published already, or what is read back
                differs.
        """
        manifest = self.plan(folder, name)
        full, files = manifest["name"], manifest["files"]
        extra = {"ChecksumAlgorithm": "SHA256"}
        self._s3.upload_file(str(folder / WEIGHTS), self.bucket, self._key(full, WEIGHTS), ExtraArgs=extra)
        self._put(full, MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        self._compare(full, WEIGHTS, files[WEIGHTS])
        try:
            self._put(full, CONFIG, (folder / CONFIG).read_bytes(), IfNoneMatch="*")
        except self._s3.exceptions.ClientError as error:
            if _status(error) not in (409, 412):
                raise
            raise AdapterError(f"{full} was published by another process meanwhile") from error
        self.verify(full)
        return full

    def plan(self, folder: Path, name: str = "maze") -> dict[str, Any]:
        """Check everything and change nothing.

        Returns:
            The manifest that :meth:`publish` would write.

        Raises:
            AdapterError: If the folder is bad, or the adapter is published already.
        """
        manifest = manifest_of(folder, name)
        if self.is_published(manifest["name"]):
            raise AdapterError(
                f"{manifest['name']} is published already, with this content; nothing was changed"
            )
        return manifest

    def verify(self, name: str) -> dict[str, Any]:
        """Compare a published adapter with its manifest.

        Returns:
            The manifest.

        Raises:
            AdapterError: If it isn't published, or a file has changed.
        """
        if not self.is_published(name):
            raise AdapterError(f"{name} is not published in {self}; there are: {', '.join(self.names())}")
        manifest = self.manifest(name)
        for file, expected in manifest["files"].items():
            self._compare(name, file, expected)
        return manifest

    def manifest(self, name: str) -> dict[str, Any]:
        """What was published under ``name``, as its manifest says."""
        try:
            found: dict[str, Any] = json.loads(self._get(name, MANIFEST).read())
            if (
                not {"name", "adapter", "files"} <= found.keys()
                or not {WEIGHTS, CONFIG} <= found["files"].keys()
            ):
                raise ValueError("entries are missing")
        except (ValueError, AttributeError) as error:
            raise AdapterError(
                f"{self}/{name}/{MANIFEST} is damaged ({error}); publish the adapter again"
            ) from error
        return found

    def names(self) -> list[str]:
        """Adapters that a server would offer, torn uploads left out."""
        root = f"{self.prefix}/" if self.prefix else ""
        pages = self._s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=root, Delimiter="/"
        )
        found = [entry["Prefix"] for page in pages for entry in page.get("CommonPrefixes", [])]
        return [name for path in found if self.is_published(name := path.removeprefix(root).strip("/"))]

    def is_published(self, name: str) -> bool:
        """Whether the commit marker of ``name`` is there."""
        try:
            self._s3.head_object(Bucket=self.bucket, Key=self._key(name, CONFIG))
        except self._s3.exceptions.ClientError as error:
            if _status(error) == 404:
                return False
            raise
        return True

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def _key(self, name: str, file: str) -> str:
        return "/".join(part for part in (self.prefix, name, file) if part)

    def _put(self, name: str, file: str, data: bytes, **conditions: str) -> None:
        self._s3.put_object(
            Bucket=self.bucket,
            Key=self._key(name, file),
            Body=data,
            ChecksumAlgorithm="SHA256",
            **conditions,
        )

    def _get(self, name: str, file: str) -> IO[bytes]:
        try:
            return self._s3.get_object(Bucket=self.bucket, Key=self._key(name, file))["Body"]
        except self._s3.exceptions.NoSuchKey as error:
            raise AdapterError(f"{self}/{name}/{file} is gone; publish the adapter again") from error

    def _compare(self, name: str, file: str, expected: dict[str, Any]) -> None:
        found = hash_stream(self._get(name, file))
        if found != expected:
            raise AdapterError(
                f"{self}/{name}/{file} is not what was published: sha256 {found['sha256'][:12]} of "
                f"{found['bytes']} bytes, expected {expected['sha256'][:12]} of {expected['bytes']}"
            )


def _status(error: Any) -> int:
    return int(error.response["ResponseMetadata"]["HTTPStatusCode"])
