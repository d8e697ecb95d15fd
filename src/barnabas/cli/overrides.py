"""``--override name=value``, as several commands take it."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cli.main import Refused


def parse_overrides(given: Iterable[str]) -> dict[str, str]:
    overrides = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Refused(f"--override takes name=value, but was given {text!r}.")
        overrides[name.strip()] = value
    return overrides
