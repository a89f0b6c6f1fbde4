"""Where is a server, and with which key is it asked? The key is kept out of everything that is shown."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

_SHORTEST_KEY = 8


@dataclass(frozen=True)
class Address:
    """A server and the key to it.

    Attributes:
        url: Base URL, which may be shown.
        key: Goes into :meth:`headers` and nowhere else; empty for none.
    """

    url: str
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str, key_variable: str | None) -> Address:
        """Check a URL, and read the key from an environment variable.

        Raises:
            ValueError: If the URL is none that may be shown, or the variable isn't set.
        """
        return cls(_checked_url(url), "" if key_variable is None else _key_from(key_variable))

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def hide(self, text: str) -> str:
        """Take the key out of a text; some servers repeat the headers that they got."""
        # What is too short for a secret ("none", "EMPTY") is a placeholder, and may be a word of an answer.
        if len(self.key) < _SHORTEST_KEY:
            return text
        encoded = b64encode(self.key.encode()).decode()
        spellings = self.key, json.dumps(self.key)[1:-1], quote(self.key), quote(self.key, safe=""), encoded
        for spelling in spellings:
            text = text.replace(spelling, "(key)")
        return text


def _checked_url(url: str) -> str:
    if set("@?#") & set(url):
        raise ValueError(
            "an endpoint's URL stands in reports, so it may hold no user, password or query; put the key "
            "into an environment variable and name that"
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"an endpoint is a URL such as http://localhost:8000/v1, got {url!r}")
    return url.rstrip("/").removesuffix("/chat/completions")


def _key_from(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        # Who gives the key instead of the variable's name must not find it in a log.
        name = repr(variable) if re.fullmatch("[A-Z][A-Z0-9_]{1,40}", variable) else "of that name"
        raise ValueError(
            f"the environment variable {name} is not set; it is to hold the endpoint's key (give the name "
            "of the variable, for example OPENAI_API_KEY, and never the key itself)"
        )
    if not key.isascii() or not key.isprintable():
        raise ValueError(f"the environment variable {variable!r} holds no key: it is not printable ASCII")
    return key
