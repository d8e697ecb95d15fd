"""The levels of a broker's loggers, which clients can read and change. Barnabas has one logger, the
root.

A level lasts until the process ends. As in Kafka, it is not written to the metadata log.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.api.broker import Broker
from barnabas.controller.core.configs import Operation
from barnabas.model.errors import ErrorCode
from barnabas.telemetry.logs import LEVELS

ROOT_LOGGER = "root"
DEFAULT_LEVEL = "INFO"


def alter_loggers(
    broker: Broker, resource_name: str, changes: Sequence[tuple[str, int, str | None]], *, dry: bool
) -> tuple[ErrorCode, str | None]:
    if resource_name != str(broker.node_id):
        return ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {broker.node_id}, but received {resource_name}"
    if len({name for name, _, _ in changes}) < len(changes):
        return ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys"
    if any(value is None and operation != Operation.DELETE for _, operation, value in changes):
        return ErrorCode.INVALID_REQUEST, "A log level must not be null"
    levels = []
    for name, operation, value in changes:
        if name != ROOT_LOGGER:
            return ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!"
        if operation == Operation.DELETE:
            return ErrorCode.INVALID_REQUEST, f"Removing the log level of the {ROOT_LOGGER} logger is not allowed"
        if operation == Operation.SET and value is not None and value in LEVELS:
            levels.append(value)
        elif operation == Operation.SET:
            return ErrorCode.INVALID_CONFIG, f"Cannot set the log level of {name} as {value} is not one of {', '.join(LEVELS)}"
        else:
            return ErrorCode.INVALID_REQUEST, "Only SET and DELETE apply to a log level."
    if levels and not dry:
        broker.log.level = levels[-1]
    return ErrorCode.NONE, None
