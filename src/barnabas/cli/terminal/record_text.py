"""Converts keys and values between bytes and the terminal: as text, hex or base64."""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum


class Notation(StrEnum):
    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"


def parse_bytes(text: bytes, notation: Notation) -> bytes:
    """Raises ``ValueError`` when the text is not in this notation."""
    match notation:
        case Notation.TEXT:
            return text
        case Notation.HEX:
            try:
                return bytes.fromhex(text.decode("ascii"))
            except ValueError as error:
                raise ValueError("is not hex") from error
        case Notation.BASE64:
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError) as error:
                raise ValueError("is not base64") from error


def show_bytes(data: bytes, notation: Notation) -> bytes:
    """Text is printed as its bytes: the reader of our output decides how to decode it."""
    match notation:
        case Notation.TEXT:
            return data
        case Notation.HEX:
            return data.hex().encode()
        case Notation.BASE64:
            return base64.b64encode(data)


def json_bytes(name: str, data: bytes | None, notation: Notation = Notation.TEXT) -> dict[str, str | None]:
    """One entry of a JSON object. Bytes that are not UTF-8 become base64 under a name that says so,
    since JSON has no bytes."""
    if data is None:
        return {name: None}
    try:
        return {name: show_bytes(data, notation).decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}
