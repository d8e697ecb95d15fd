"""The metrics pages of several processes as one page, in Prometheus' text format.

Each sample gets the label ``process`` with the id of its node. ``node_id`` would be the better
word, but metrics that clients push have a label of that name already. The format wants all lines
of a metric together, so the pages are taken apart into metrics and not put one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LABEL: Final = "process"
_HELP: Final = "# HELP "


def merged(pages: Mapping[int, str]) -> str:
    """``pages`` by node id. The comments of a metric come from the first page that has it."""
    comments: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for node_id, page in pages.items():
        name, is_new = "", False
        for line in page.splitlines():
            if line.startswith(_HELP):
                name = line[len(_HELP) :].partition(" ")[0]
                is_new = name not in comments
            if line.startswith("#"):
                if is_new:
                    comments.setdefault(name, []).append(line)
            elif line:
                samples.setdefault(name, []).append(labelled(line, node_id))
    lines = [line for name in comments for line in (*comments[name], *samples.get(name, ()))]
    return "".join(f"{line}\n" for line in lines)


def labelled(sample: str, node_id: int) -> str:
    """``requests_total{api="Fetch"} 3`` with one label more. No name of a metric has a space or a
    brace."""
    name, brace, rest = sample.partition("{")
    if brace and " " not in name:
        separator = "" if rest.startswith("}") else ","
        return f'{name}{{{LABEL}="{node_id}"{separator}{rest}'
    name, _, value = sample.partition(" ")
    return f'{name}{{{LABEL}="{node_id}"}} {value}'
