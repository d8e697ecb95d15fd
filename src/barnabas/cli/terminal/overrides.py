"""``name=value``, as several options take it."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cli.errors import Refused


def parse_overrides(given: Iterable[str]) -> dict[str, str]:
    return dict(parse_pairs("--override", given))


def parse_pairs(option: str, given: Iterable[str]) -> list[tuple[str, str]]:
    """In the order given; a name may come twice, and what that means is the option's own business."""
    pairs = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Refused(f"{option} takes name=value, but was given {text!r}.")
        pairs.append((name.strip(), value))
    return pairs
