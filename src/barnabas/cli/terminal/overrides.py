"""``name=value`` pairs, as several options take them."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cli.errors import Refused


def parse_overrides(given: Iterable[str]) -> dict[str, str]:
    return dict(parse_pairs("--override", given))


def parse_pairs(option: str, given: Iterable[str]) -> list[tuple[str, str]]:
    """In the order given. A name may come twice; the option decides what that means."""
    pairs = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Refused(f"{option} takes name=value, but was given {text!r}.")
        pairs.append((name.strip(), value))
    return pairs
