"""With which versions of what was a result made?"""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = {
    "visgym_maze": "visgym-maze",
    "numpy": "numpy",
    "gymnasium": "gymnasium",
    "PIL": "pillow",
    "httpx": "httpx",
    "torch": "torch",
    "transformers": "transformers",
}


def versions() -> dict[str, str]:
    """Versions of Python and of those of the packages that matter which this process has loaded."""
    found = {"python": platform.python_version()}
    for module, package in _PACKAGES.items():
        if module in sys.modules:
            try:
                found[package] = version(package)
            except PackageNotFoundError:  # run from a folder, without installation
                found[package] = "unknown"
    return found
