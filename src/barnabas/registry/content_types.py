"""The content type of a response, by the ``Accept`` of its request.

A client that takes anything gets Confluent's own type. The others differ only in name: each is
JSON.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
# In the order of preference.
OFFERED: Final = (CONTENT_TYPE, "application/vnd.schemaregistry+json", "application/json")
# Types that a header may name; the rest is ignored.
ACCEPTED_MAX: Final = 100
# Clients of one kind all send the same header.
HEADERS_KEPT_MAX: Final = 256


@lru_cache(HEADERS_KEPT_MAX)
def content_type_for(accept: str) -> str | None:
    """The offered type with the highest weight, or None if the client takes none of them."""
    weights = [_weighed(each) for each in accept.split(",")[:ACCEPTED_MAX] if each.strip()]
    if not weights:
        return CONTENT_TYPE
    best, found = 0.0, None
    for offered in OFFERED:
        # A type that is named outweighs the star that would also cover it.
        named = [weight for name, weight in weights if name == offered]
        weight = max(named or [weight for name, weight in weights if _covers(name, offered)], default=0.0)
        if weight > best:
            best, found = weight, offered
    return found


def _weighed(text: str) -> tuple[str, float]:
    name, _, parameters = text.partition(";")
    weight = 1.0
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                weight = float(value)
            except ValueError:
                weight = 0.0
    return name.strip().lower(), weight


def _covers(pattern: str, offered: str) -> bool:
    kind, _, subtype = pattern.partition("/")
    return kind == "*" or (kind == offered.partition("/")[0] and subtype == "*")
