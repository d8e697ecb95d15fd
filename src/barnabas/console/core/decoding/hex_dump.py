"""Bytes that fit no format: offsets, hex and ASCII, 16 to a line."""

from __future__ import annotations

from typing import Final

_LINE: Final = 16


def hex_dump(data: bytes) -> str:
    lines = []
    for at in range(0, len(data), _LINE):
        part = data[at : at + _LINE]
        words = part.hex(" ", 1)
        shown = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in part)
        lines.append(f"{at:08x}  {words:<{_LINE * 3 - 1}}  {shown}")
    return "\n".join(lines)
