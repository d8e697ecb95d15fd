"""An operation on a share partition that was refused: Kafka's code and Kafka's sentence."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.errors import ErrorCode


class Refusal(NamedTuple):
    code: ErrorCode
    message: str


NEGATIVE_PARTITION = Refusal(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")
READ_UNINITIALIZED = Refusal(ErrorCode.INVALID_REQUEST, "Read operation on uninitialized share partition not allowed.")
WRITE_UNINITIALIZED = Refusal(ErrorCode.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed.")
REVERSED_BATCH = Refusal(ErrorCode.INVALID_REQUEST, "A state batch cannot end before it begins.")
FENCED_LEADER = Refusal(ErrorCode.FENCED_LEADER_EPOCH, "The leader epoch in the request is older than the epoch on the broker.")
FENCED_STATE = Refusal(
    ErrorCode.FENCED_STATE_EPOCH, "The share coordinator rejected the request because the share-group state epoch did not match."
)
UNKNOWN_PARTITION = Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
