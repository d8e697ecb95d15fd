"""Share groups that begin at the start of their topics."""

from __future__ import annotations

import socket

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from bench.measurement import MeasurementFailed
from bench.requests import ask
from bench.systems import Server

_SECONDS_MAX = 30.0
_VERSION = 1
_GROUP = 32
_SET = 0


def begin_at_the_start(server: Server, group: str) -> None:
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=_SET, value="earliest")
    resource = AlterConfigsResource(resource_type=_GROUP, resource_name=group, configs=[config])
    with socket.create_connection(("127.0.0.1", server.port), timeout=_SECONDS_MAX) as connection:
        (altered,) = ask(connection, IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), _VERSION).responses
    if altered.error_code != ErrorCode.NONE:
        raise MeasurementFailed(f"the settings of group {group} were refused: {altered.error_message}")
