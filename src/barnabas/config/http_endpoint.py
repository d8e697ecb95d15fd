"""An HTTP endpoint in settings: its URL, and the headers of requests to it."""

from __future__ import annotations

# Visible ASCII besides those that separate words of HTTP (RFC 9110).
_NAME_CHARACTERS = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def is_http_url(text: str) -> bool:
    # Imported with the first URL: most nodes have none, and the module takes long to load.
    from urllib.parse import urlsplit

    if not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def header_pairs(secret: str | None) -> dict[str, str] | None:
    """None for text that is not a list of ``name=value``. A value with a line end, which would
    begin another header, is not printable."""
    found = {}
    for item in secret.split(",") if secret else ():
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not _NAME_CHARACTERS.issuperset(name) or not value.isascii() or not value.isprintable() or not value:
            return None
        found[name] = value
    return found
