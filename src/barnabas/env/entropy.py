"""Randomness as a port, so that a simulation can replay it."""

from __future__ import annotations

import secrets
from typing import Protocol

UUID_BYTES = 16


class Entropy(Protocol):
    def bytes(self, size: int) -> bytes: ...

    def below(self, bound: int) -> int:
        """A number from 0 up to, not including, ``bound``."""


class SystemEntropy:
    def bytes(self, size: int) -> bytes:
        return secrets.token_bytes(size)

    def below(self, bound: int) -> int:
        return secrets.randbelow(bound)


def random_uuid(entropy: Entropy) -> bytes:
    """Sixteen random bytes that are neither one of Kafka's reserved ids nor start with a dash in
    base64.

    A leading dash would make the id look like an option on a command line.
    """
    while True:
        value = entropy.bytes(UUID_BYTES)
        if value[:15] != bytes(15) and value[0] >> 2 != 0b111110:
            return value
