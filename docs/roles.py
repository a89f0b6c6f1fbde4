"""How do the docstrings look on a page? References as code, headings of environments as headings."""

import re
from textwrap import dedent
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|attr|data|mod|exc):`~?([^`]+)`")
_HEADINGS = "Description|Action Space|Observation Space|Rewards|Episode End|Registered Configurations"
_SECTION = re.compile(rf"^({_HEADINGS}):\n((?:(?: {{4}}.*)?\n)+)", re.MULTILINE)


class Roles(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            text = _ROLE.sub(lambda role: f"`{role[1].split('.')[-1]}`", obj.docstring.value)
            obj.docstring.value = _SECTION.sub(lambda part: f"**{part[1]}**\n\n{dedent(part[2])}\n", text)
