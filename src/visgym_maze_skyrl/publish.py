"""How does a trained adapter reach the servers? ``python -m visgym_maze_skyrl.publish FOLDER s3://bucket/prefix``."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from visgym_maze_skyrl.adapter_folder import AdapterError
from visgym_maze_skyrl.adapter_store import AdapterStore


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
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise AdapterError(f"name {name!r} is not made of letters, digits, '.', '_' and '-'")
    return AdapterStore(url).publish(Path(folder), name)


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code (2 for a bad adapter or address, 1 if S3 fails)."""
    parser = argparse.ArgumentParser(description="Publish a LoRA adapter to S3, whole or not at all.")
    parser.add_argument("folder", nargs="?", help="PEFT folder; leave it out to check what is published")
    parser.add_argument("url", help="s3://bucket/prefix")
    parser.add_argument("--name", default="maze", help="beginning of the published name (default: maze)")
    arguments = parser.parse_args(argv)
    try:
        store = AdapterStore(arguments.url)
        try:
            if arguments.folder:
                print(publish(arguments.folder, arguments.url, arguments.name))
            else:
                _check_all(store)
        except store.errors as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    except AdapterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _check_all(store: AdapterStore) -> None:
    names = store.names()
    for name in names:
        manifest = store.verify(name)
        print(f"{name}  rank {manifest['adapter']['rank']}  {manifest['adapter']['base_model']}  intact")
    if not names:
        print(f"no adapter in {store}")


if __name__ == "__main__":
    sys.exit(main())
