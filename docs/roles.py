"""How do the docstrings' references look on a page? As code with the last part of the name."""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|attr|data|mod|exc):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Turns ``:class:`~package.Name``` into code before the docstring is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(lambda role: f"`{role[1].split('.')[-1]}`", obj.docstring.value)
