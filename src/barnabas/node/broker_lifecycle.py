"""A broker's life as the controller sees it: registered, unfenced, alive, going.

The same requests as over the wire, to the controller wherever it is. Heartbeats go on until the node stops; the last one asks to be let go.
"""

from __future__ import annotations

import asyncio

from barnabas.api.broker import ControllerPort, MetadataView
from barnabas.model.errors import ErrorCode
from barnabas.node.promises import awaited
from barnabas.telemetry.logs import Log
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

UNKNOWN_EPOCH = -1


class RegistrationRefused(Exception):
    """The controller does not want this broker; one sentence."""


class BrokerLifecycle:
    def __init__(
        self, registration: BrokerRegistrationRequest, controller: ControllerPort, metadata: MetadataView, log: Log, *, interval_ms: int
    ) -> None:
        self._registration = registration
        self._controller = controller
        self._metadata = metadata
        self._log = log
        self._interval_seconds = interval_ms / 1000
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False
        self.epoch = UNKNOWN_EPOCH

    async def register(self) -> None:
        """Returns when the broker is unfenced: from then on it leads what the metadata says."""
        answer: BrokerRegistrationResponse = await awaited(self._controller.submit(self._registration))
        if answer.error_code != ErrorCode.NONE:
            raise RegistrationRefused(f"the controller refuses this broker: {ErrorCode(answer.error_code).name}.")
        self.epoch = answer.broker_epoch
        beat = await self._beat()
        assert not beat.is_fenced, "a broker that has seen its own registration is unfenced"
        self._schedule()

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._interval_seconds, self._keep_alive)

    def _keep_alive(self) -> None:
        if not self._stopping:
            self._controller.submit(self._heartbeat()).then(self._kept_alive)
            self._schedule()

    def _kept_alive(self, answer: BrokerHeartbeatResponse) -> None:
        if answer.error_code != ErrorCode.NONE:
            self._log.warning("heartbeat refused", error=ErrorCode(answer.error_code).name)

    def _heartbeat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self._registration.broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata.image.provenance.offset,
            want_fence=False,
            want_shut_down=want_shut_down,
        )

    async def _beat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatResponse:
        answer: BrokerHeartbeatResponse = await awaited(self._controller.submit(self._heartbeat(want_shut_down=want_shut_down)))
        return answer

    async def leave(self) -> None:
        """Controlled shutdown: what this broker leads is given up before it goes."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        if self.epoch != UNKNOWN_EPOCH:
            await self._beat(want_shut_down=True)
