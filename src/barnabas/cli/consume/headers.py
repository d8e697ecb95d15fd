"""The headers of a record."""

from __future__ import annotations

from operator import methodcaller

from barnabas.cli.cluster.client import Message
from barnabas.cli.errors import Refused

# confluent-kafka returns a list and leaves the error of a name behind. Only a generic call checks
# for that; a call that the interpreter has specialized would raise it at some later line.
_headers = methodcaller("headers")


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    """In order, with repeated names. Raises ``Refused`` for names that confluent-kafka cannot
    decode: to print the record without its headers would lose them in a copy."""
    try:
        return _headers(message) or []
    except (SystemError, UnicodeDecodeError) as error:
        place = f"{message.topic()}-{message.partition()} at offset {message.offset()}"
        raise Refused(
            f"The record in {place} has a header whose name is not UTF-8; print it without headers, or start after it."
        ) from error
