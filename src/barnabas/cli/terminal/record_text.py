"""Keys and values between bytes and what a terminal shows: as text, or as hex or base64 where they are not text."""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum


class Notation(StrEnum):
    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"


def parse_bytes(text: bytes, notation: Notation) -> bytes:
    """``ValueError`` when it is not written like that."""
    match notation:
        case Notation.TEXT:
            return text
        case Notation.HEX:
            try:
                return bytes.fromhex(text.decode("ascii"))
            except ValueError as wrong:
                raise ValueError("is not hex") from wrong
        case Notation.BASE64:
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError) as wrong:
                raise ValueError("is not base64") from wrong


def show_bytes(data: bytes, notation: Notation) -> bytes:
    """Text is shown as the bytes it is: whoever reads our output decides how to decode it."""
    match notation:
        case Notation.TEXT:
            return data
        case Notation.HEX:
            return data.hex().encode()
        case Notation.BASE64:
            return base64.b64encode(data)


def json_bytes(name: str, data: bytes | None, notation: Notation = Notation.TEXT) -> dict[str, str | None]:
    """One entry of a JSON object. Bytes that are not UTF-8 go as base64 under a name that says so, since JSON has no bytes."""
    if data is None:
        return {name: None}
    try:
        return {name: show_bytes(data, notation).decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}
