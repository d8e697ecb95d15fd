"""The release of Kafka that brought a level of ``metadata.version``. Pure."""

from __future__ import annotations

from typing import Final

METADATA_VERSION: Final = "metadata.version"
_LOWEST: Final = 7
_INCREMENTS: Final = {"3.3": [3], "3.4": [0], "3.5": [0, 1, 2], "3.6": [0, 1, 2], "3.7": [0, 1, 2, 3, 4], "3.8": [0], "3.9": [0]}
_INCREMENTS_OF_4: Final = {"4.0": [0, 1, 2, 3], "4.1": [0, 1], "4.2": [0, 1], "4.3": [0], "4.4": [0]}
_NAMES: Final = [f"{release}-IV{each}" for release, numbers in {**_INCREMENTS, **_INCREMENTS_OF_4}.items() for each in numbers]


def release_of(level: int) -> str | None:
    """``4.3-IV0`` for 30; None for a level that this console does not know."""
    return _NAMES[level - _LOWEST] if _LOWEST <= level < _LOWEST + len(_NAMES) else None
