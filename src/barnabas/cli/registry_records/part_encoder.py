"""What readers of records need of an encoder."""

from __future__ import annotations

from typing import Protocol


class PartEncoder(Protocol):
    """For the keys or the values of all records. Both raise ``ValueError`` with the problem."""

    def of_text(self, text: bytes) -> bytes:
        """JSON, or the text itself where the schema is of texts."""

    def of_json(self, value: object) -> bytes: ...
