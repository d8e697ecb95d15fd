"""Ranges of protocol versions, in Kafka's notation: ``"3+"``, ``"0-12"``, ``"4"`` and
``"none"``.
"""

from __future__ import annotations

from typing import NamedTuple

VERSION_MAX = 32767  # versions travel as int16


class Versions(NamedTuple):
    """An inclusive range; empty when ``lowest > highest``."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __str__(self) -> str:
        if self.lowest > self.highest:
            return "none"
        if self.highest == VERSION_MAX:
            return f"{self.lowest}+"
        if self.lowest == self.highest:
            return str(self.lowest)
        return f"{self.lowest}-{self.highest}"

    def all(self) -> range:
        return range(self.lowest, self.highest + 1)


NEVER = Versions(0, -1)
ALWAYS = Versions(0, VERSION_MAX)


def parse_versions(text: str | None) -> Versions:
    if text is None or text == "none":
        return NEVER
    if text.endswith("+"):
        return Versions(int(text[:-1]), VERSION_MAX)
    lowest, _, highest = text.partition("-")
    return Versions(int(lowest), int(highest or lowest))
