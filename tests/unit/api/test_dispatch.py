"""A bug of one handler ends one connection, and nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.broker import Broker
from barnabas.api.dispatch import Dispatch
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection
from barnabas.security.principal import ANONYMOUS
from barnabas.security.quotas.client_quotas import ClientQuotas
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.scenarios.client import frame_of

_LENGTH_BYTES = 4


class Node:
    """A dispatcher with one handler, and a connection to it."""

    def __init__(self, response: Any) -> None:
        self.logged: list[str] = []
        self.closed = False
        broker = SimpleNamespace(
            client_quotas=ClientQuotas(), metrics=Metrics(), log=SimpleNamespace(error=lambda event, **_: self.logged.append(event))
        )
        self._connection = SimpleNamespace(shortcut=None, peer_address=("", 0), principal=ANONYMOUS, close=self._close)
        self._dispatch = Dispatch(cast(Broker, broker), {ApiKey.HEARTBEAT: lambda *_: response})

    def _close(self) -> None:
        self.closed = True

    def serve(self) -> Any:
        request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
        frame = memoryview(bytearray(frame_of(request, 4)[_LENGTH_BYTES:]))
        return self._dispatch.serve(cast(Connection, self._connection), frame)


# A text where the message has a number.
UNENCODABLE = HeartbeatResponse(error_code=cast(int, "none"))


@pytest.mark.parametrize("later", [False, True], ids=["at once", "as a promise"])
def test_a_response_that_cannot_be_encoded_closes_the_connection_and_is_logged(later: bool) -> None:
    promise: Promise[Any] = Promise()
    node = Node(promise if later else UNENCODABLE)
    reply = node.serve()
    if later:
        # The part that resolves the promise must not see the error.
        promise.resolve(UNENCODABLE)
        reply = reply.value
    assert reply is None
    assert node.closed
    assert node.logged == ["request failed"]
