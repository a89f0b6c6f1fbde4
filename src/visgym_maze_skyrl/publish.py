"""How does a trained adapter reach the servers? ``visgym-maze-train publish FOLDER s3://bucket/prefix``."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from visgym_maze_skyrl.adapter_folder import AdapterError
from visgym_maze_skyrl.adapter_store import AdapterStore

_EXAMPLE = """example:
  visgym-maze-train publish runs/mine/exports/global_step_160/policy s3://my-adapters/mazes
  visgym-maze-train publish s3://my-adapters/mazes         compares all that is published with its manifests

Credentials, region and endpoint are boto3's (AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL ...).
Exit codes: 0, 1 if S3 fails, 2 for a bad adapter, a bad address, or one that is published already."""


def publish(folder: str | Path, url: str, name: str = "maze") -> str:
    """Check a PEFT folder and upload it under a name of its own.

    Args:
        folder: The adapter, for example ``RUN/exports/global_step_160/policy``.
        url: ``s3://bucket/prefix``, the place that servers load adapters from.
        name: Beginning of the published name: letters, digits, ``.``, ``_`` and ``-``.

    Returns:
        The published name; servers offer it as ``MODEL:NAME``.

    Raises:
        AdapterError: If the adapter must not be served, or is published already.
    """
    return AdapterStore(url).publish(Path(folder), _checked(name))


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code (2 for a bad adapter or address, 1 if S3 fails)."""
    parser = argparse.ArgumentParser(
        prog="visgym-maze-train publish",
        description="Check a LoRA adapter and put it into S3, whole or not at all, for servers to load.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", nargs="?", help="PEFT folder; leave it out to check what is published")
    parser.add_argument("url", help="s3://bucket/prefix")
    parser.add_argument("--name", default="maze", help="beginning of the published name (default: maze)")
    parser.add_argument("--dry-run", action="store_true", help="check everything, upload nothing")
    parser.add_argument("--json", action="store_true", help="print manifests as JSON instead of names")
    arguments = parser.parse_args(argv)
    try:
        store = AdapterStore(arguments.url)
        try:
            _run(store, arguments)
        except store.errors as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    except AdapterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _run(store: AdapterStore, a: argparse.Namespace) -> None:
    if a.folder is None:
        _show([store.verify(name) for name in store.names()], store, a)
    elif a.dry_run:
        manifest = store.plan(Path(a.folder), _checked(a.name))
        _show([manifest], store, a)
    else:
        name = store.publish(Path(a.folder), _checked(a.name))
        if a.json:
            _show([store.manifest(name)], store, a)
        else:
            print(name)


def _show(manifests: list[dict[str, Any]], store: AdapterStore, a: argparse.Namespace) -> None:
    if a.json:
        found = [{"url": f"{store}/{manifest['name']}", **manifest} for manifest in manifests]
        print(json.dumps(found if a.folder is None else found[0], indent=1))
        return
    for manifest in manifests:
        adapter = manifest["adapter"]
        state = "intact" if a.folder is None else "would be published; nothing was uploaded"
        print(f"{manifest['name']}  rank {adapter['rank']}  {adapter['base_model']}  {state}")
    if not manifests:
        print(f"no adapter in {store}")


def _checked(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise AdapterError(f"name {name!r} is not made of letters, digits, '.', '_' and '-'")
    return name


if __name__ == "__main__":
    sys.exit(main())
