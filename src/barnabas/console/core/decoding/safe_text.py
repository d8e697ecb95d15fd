"""Texts of strangers, safe to look at.

Characters that move the cursor, change the direction of writing or show nothing could make a record
look like another one; they are shown as escapes. Halves of surrogate pairs cannot be sent at all.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# C0 without tab and line feed, DEL and C1, marks of direction, invisible joiners, the byte order
# mark, halves of surrogate pairs.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb]")


class CutText(NamedTuple):
    text: str
    is_cut: bool


def safe(text: str) -> str:
    return _UNSAFE.sub(_escaped, text)


def cut(text: str, characters_max: int) -> CutText:
    """The text is cut before it is made safe, which may make it longer."""
    return CutText(safe(text[:characters_max]), len(text) > characters_max)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return "\\r" if code == 0x0D else f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
