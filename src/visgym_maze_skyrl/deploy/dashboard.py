"""What does a person look at while a cluster trains? A Grafana dashboard of our panels."""

from __future__ import annotations

from typing import Any

from visgym_maze_skyrl.deploy.panels import Panel, sections
from visgym_maze_skyrl.run_metrics import exported

_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 3


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    made: list[dict[str, Any]] = []
    top = 0
    for heading, panels in sections().items():
        made.append(
            {"id": len(made) + 1, "type": "row", "title": heading, "collapsed": False, "panels": []}
            | {"gridPos": {"h": 1, "w": _WIDTH * _COLUMNS, "x": 0, "y": top}}
        )
        for place, panel in enumerate(panels):
            row, column = divmod(place, _COLUMNS)
            place_in_grid = {"h": _HEIGHT, "w": _WIDTH, "x": _WIDTH * column, "y": top + 1 + _HEIGHT * row}
            made.append(_chart(panel, len(made) + 1) | {"gridPos": place_in_grid})
        top += 1 + _HEIGHT * -(-len(panels) // _COLUMNS)
    return {
        "uid": "visgym-maze",
        "title": "Maze training",
        "tags": ["visgym-maze"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
                _variable("run_id", exported("step"), "Run"),
                _variable("cluster", "ray_node_mem_total", "Ray cluster", label="ray_io_cluster"),
            ]
        },
        "panels": made,
    }


def _chart(panel: Panel, number: int) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": source,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + n), "datasource": source, "expr": expression, "legendFormat": legend}
            for n, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _variable(name: str, metric: str, title: str, label: str | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "label": title,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": f"label_values({metric}, {label or name})",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        # Also matches what has no such label: only HyperPod's collector adds the cluster's name.
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
