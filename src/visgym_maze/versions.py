"""With which versions of what was a result made?"""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

from visgym_maze import __version__

_PACKAGES = {
    "numpy": "numpy",
    "gymnasium": "gymnasium",
    "PIL": "pillow",
    "httpx": "httpx",
    "torch": "torch",
    "transformers": "transformers",
}


def versions() -> dict[str, str]:
    """Versions of Python, of this package, and of those that matter among the loaded ones."""
    found = {"python": platform.python_version(), "visgym-maze": __version__}
    return found | {
        package: version(package) for module, package in _PACKAGES.items() if module in sys.modules
    }
