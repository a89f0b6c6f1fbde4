"""How do the files for a cluster get written? ``python -m visgym_maze_skyrl.deploy FOLDER --account ...``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import yaml

from visgym_maze.files import write_text
from visgym_maze_skyrl.deploy.alerts import rules
from visgym_maze_skyrl.deploy.dashboard import dashboard
from visgym_maze_skyrl.deploy.deployment import Deployment, DeploymentError
from visgym_maze_skyrl.deploy.iam import policies
from visgym_maze_skyrl.deploy.manifests import manifests
from visgym_maze_skyrl.deploy.rules import problems
from visgym_maze_skyrl.hyperpod_recipe import HYPERPOD_NAME
from visgym_maze_skyrl.recipe import RecipeError, override, recipe_named

_HEADER = (
    "# Written by: python -m visgym_maze_skyrl.deploy. Change the recipe or the options, not this file.\n"
)
_OPTIONS = ("account", "region", "name", "namespace", "file_system", "mount_name", "adapters")


def files(d: Deployment) -> dict[str, str]:
    """Path and content of everything that is written for a deployment."""
    made = manifests(d)
    texts = {f"manifests/{name}": _HEADER + _dump(objects) for name, objects in made.items()}
    texts.update({f"iam/{name}": json.dumps(text, indent=2) + "\n" for name, text in policies(d).items()})
    texts["grafana/visgym-maze.json"] = json.dumps(dashboard(), indent=1) + "\n"
    texts["prometheus/alerts.yaml"] = _HEADER + _dump([rules(d)])
    return texts


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code (2 for bad input, 1 for manifests that break a rule)."""
    parser = argparse.ArgumentParser(description="Write, or check, the manifests of a training cluster.")
    parser.add_argument("folder", type=Path, help="where to write, or what to check")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="change a field of the recipe")
    parser.add_argument("--check", action="store_true", help="check the manifests that are there")
    parser.add_argument("--recipe", default=HYPERPOD_NAME, metavar="NAME")
    for option in fields(Deployment):
        if option.name in _OPTIONS and option.default is not MISSING:
            name = f"--{option.name.replace('_', '-')}"
            parser.add_argument(name, default=option.default, help=f"default: {option.default}")
    arguments = parser.parse_intermixed_args(argv)
    try:
        recipe, passed = override(recipe_named(arguments.recipe), arguments.overrides)
        if passed:
            raise RecipeError(f"{passed[0]} is SkyRL's own; give it when the run is submitted")
        d = Deployment(recipe=recipe, **{name: getattr(arguments, name) for name in _OPTIONS})
        if arguments.check:
            return _check(arguments.folder, d)
    except (RecipeError, DeploymentError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, text in files(d).items():
        write_text(arguments.folder / name, text)
        print(arguments.folder / name)
    return 0


def _check(folder: Path, d: Deployment) -> int:
    paths = sorted(folder.glob("manifests/*.yaml"))
    if not paths:
        raise DeploymentError(
            f"there are no manifests in {folder}/manifests; leave out --check to write them"
        )
    objects = [item for path in paths for item in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    found = problems(objects, d)
    for text in found:
        print(f"error: {text}", file=sys.stderr)
    return 1 if found else 0


class _Plain(yaml.SafeDumper):
    """Lists indented below their key, and no anchors, so that a part can be pasted elsewhere."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def _multiline(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _multiline)


def _dump(objects: list[dict[str, object]]) -> str:
    return yaml.dump_all(objects, Dumper=_Plain, sort_keys=False, width=110)


if __name__ == "__main__":
    sys.exit(main())
