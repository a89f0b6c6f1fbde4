"""Which views can be asked for by name?"""

from __future__ import annotations

from visgym_maze.view.first_person_view import FirstPerson
from visgym_maze.view.top_down import TopDown
from visgym_maze.view.view import View

VIEWS: dict[str, View] = {
    "top-down": TopDown(),
    "coordinates": TopDown(coordinates=True),
    "trail": TopDown(trail=True),
    "fog": TopDown(fog=2),
    "first-person": FirstPerson(),
}
"""Views with their usual settings."""


def view_named(view: str | View) -> View:
    """Look a view up by name; a view is returned as it is.

    Raises:
        ValueError: If the name is unknown.
    """
    if not isinstance(view, str):
        return view
    if view not in VIEWS:
        raise ValueError(f"unknown view {view!r}; known: {', '.join(VIEWS)}")
    return VIEWS[view]
