"""Leaves out the tests of what is not installed, so that the environment alone can be tested alone.

``skyrl_gym`` is asked for since Python would take the folder ``tests/skyrl`` for a package ``skyrl``.
"""

import importlib.util

FOLDERS = {"typer": ("cli",), "rich": ("reliability",), "skyrl_gym": ("cluster", "deploy", "local", "skyrl")}
"""A package, and the folders whose tests need it."""

collect_ignore = [
    folder
    for package, folders in FOLDERS.items()
    if not importlib.util.find_spec(package)
    for folder in folders
]
