"""An error: Kafka's code, and a sentence for the log of the client."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.errors import ErrorCode


class Refusal(NamedTuple):
    code: ErrorCode
    message: str
