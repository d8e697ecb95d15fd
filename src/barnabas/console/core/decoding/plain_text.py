"""Text: valid UTF-8 without control characters."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")


def read_text(data: bytes) -> str | None:
    """None for bytes that are no text. Escape is allowed: logs have colours."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text
