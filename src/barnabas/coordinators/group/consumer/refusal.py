"""Why a member was not served: Kafka's code, and a sentence for whoever reads the client's log."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.errors import ErrorCode


class Refusal(NamedTuple):
    code: ErrorCode
    message: str
