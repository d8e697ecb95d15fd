"""From a path to its operation.

Paths are split before they are decoded, so that the id of a group may contain a slash (``%2F``). A
literal part wins over a placeholder: ``topics/new`` is no topic of the name "new".
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from barnabas.console.web.operation import Operation

API: str = "api"
# The longest path has seven parts.
SEGMENTS_MAX = 16


def split_path(raw: bytes) -> tuple[str, ...] | None:
    """None for a path that is no UTF-8, or has too many parts."""
    parts = [each for each in raw.partition(b"?")[0].decode("ascii", "replace").split("/") if each]
    if len(parts) > SEGMENTS_MAX:
        return None
    try:
        return tuple(unquote(each, errors="strict") for each in parts)
    except UnicodeDecodeError:
        return None


class Router:
    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_shape: dict[tuple[str, int], list[Operation]] = {}
        names = set()
        for each in operations:
            assert each.name not in names, f"two operations are called {each.name}"
            names.add(each.name)
            self._by_shape.setdefault((each.method, len(each.segments)), []).append(each)
        for candidates in self._by_shape.values():
            candidates.sort(key=lambda operation: [part.startswith("{") for part in operation.segments])

    def find(self, method: str, segments: tuple[str, ...]) -> tuple[Operation, dict[str, str]] | None:
        for operation in self._by_shape.get((method, len(segments)), ()):
            arguments = _matched(operation.segments, segments)
            if arguments is not None:
                return operation, arguments
        return None

    def methods(self, segments: tuple[str, ...]) -> list[str]:
        """The methods that the path has, for an answer to another one."""
        return [method for method in ("GET", "POST") if self.find(method, segments) is not None]


def _matched(declared: tuple[str, ...], given: tuple[str, ...]) -> dict[str, str] | None:
    arguments = {}
    for pattern, part in zip(declared, given, strict=True):
        if pattern.startswith("{"):
            arguments[pattern[1:-1]] = part
        elif pattern != part:
            return None
    return arguments
