"""A broker's lifecycle as the controller sees it: registered, fenced, unfenced, in controlled
shutdown.

The broker sends its requests through the controller port, wherever the active controller is. One
heartbeat is in flight at a time. The next one follows after ``broker.heartbeat.interval.ms``, or
sooner when the last one failed. The last heartbeats ask for a controlled shutdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from barnabas.controller.port import ControllerPort
from barnabas.env.awaiting import awaited
from barnabas.metadata.applier import MetadataView
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

UNKNOWN_EPOCH = -1
# The pause before a request is sent again that got no response or an error that may pass.
RETRY_SECONDS = 0.1
# The pause between heartbeats while the broker waits to be unfenced, or for permission to stop.
HEARTBEAT_PAUSE_SECONDS_MAX = 0.05
# The first such pauses are shorter: in a node that is its own controller the response is there as
# soon as the record is on disk.
HEARTBEAT_PAUSE_SECONDS_MIN = 0.002

# Errors that may pass: the active controller is changing, or it still counts the session of the
# broker that had this id before.
_RETRIED = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.DUPLICATE_BROKER_REGISTRATION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


class RegistrationRefused(Exception):
    """The controller refuses this broker; the text is one sentence."""


class BrokerLifecycle:
    def __init__(
        self,
        registration: BrokerRegistrationRequest,
        controller: ControllerPort,
        metadata: MetadataView,
        offline_directories: Callable[[], Sequence[Uuid]],
        log: EventLog,
        *,
        cordoned_directories: Callable[[], Sequence[Uuid] | None] = lambda: None,
        interval_ms: int,
        registration_timeout_ms: int,
    ) -> None:
        self._registration = registration
        self._controller = controller
        self._metadata = metadata
        self._offline_directories = offline_directories
        self._cordoned_directories = cordoned_directories
        self._log = log
        self._interval_seconds = interval_ms / 1000
        self._registration_seconds_max = registration_timeout_ms / 1000
        self._heartbeats: asyncio.Task[None] | None = None
        self._beat_now = asyncio.Event()
        self.epoch = UNKNOWN_EPOCH
        self._fenced = True
        # Failed directories that the controller has acknowledged.
        self.reported_offline: frozenset[Uuid] = frozenset()

    async def register(self) -> int:
        """Register, and return the broker's epoch: the offset of its registration record in the
        metadata log. The log up to there
        is history to this broker."""
        give_up = asyncio.get_running_loop().time() + self._registration_seconds_max
        while True:
            answer: BrokerRegistrationResponse = await awaited(self._controller.submit(self._registration))
            error = ErrorCode(answer.error_code)
            if error == ErrorCode.NONE:
                self.epoch = answer.broker_epoch
                self._log.info("broker registered", broker_epoch=self.epoch)
                return self.epoch
            if error not in _RETRIED or asyncio.get_running_loop().time() > give_up:
                raise RegistrationRefused(f"the controller refuses this broker: {error.name}.")
            await asyncio.sleep(RETRY_SECONDS)

    async def become_active(self) -> None:
        """Return when the broker is unfenced: from then on it may lead partitions. A task goes on
        with the heartbeats, also while this node still publishes the image in which it is unfenced,
        because publishing may take longer than a session."""
        for pause in _pauses():
            beat = await self._beat()
            if beat.error_code == ErrorCode.NONE and not beat.is_fenced:
                break
            await asyncio.sleep(pause)
            if beat.error_code == ErrorCode.STALE_BROKER_EPOCH:
                await self.register()
        self._heard_fenced(fenced=False)
        self._heartbeats = asyncio.get_running_loop().create_task(self._keep_alive())

    async def _keep_alive(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._beat_now.wait(), self._interval_seconds)
            self._beat_now.clear()
            beat = await self._beat()
            while beat.error_code != ErrorCode.NONE:
                self._log.warning("heartbeat refused", error=ErrorCode(beat.error_code).name)
                await asyncio.sleep(RETRY_SECONDS)
                if beat.error_code == ErrorCode.STALE_BROKER_EPOCH:
                    await self._register_again()
                beat = await self._beat()
            self._heard_fenced(fenced=beat.is_fenced)

    def _heard_fenced(self, *, fenced: bool) -> None:
        if fenced != self._fenced:
            self._fenced = fenced
            if fenced:
                self._log.warning("broker fenced by the controller", broker_epoch=self.epoch)
            else:
                self._log.info("broker unfenced", broker_epoch=self.epoch)

    def heartbeat_now(self) -> None:
        """Send the next heartbeat now, because it carries news for the controller."""
        self._beat_now.set()

    async def _register_again(self) -> None:
        """Another registration has replaced this broker's. It may come from the previous process
        with this id, sent before that process died and delivered after ours. No process stands
        behind it, so without a new registration this broker would be fenced for ever."""
        try:
            await self.register()
        except RegistrationRefused as refused:
            self._log.error("cannot register again", reason=str(refused))

    def _heartbeat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatRequest:
        cordoned = self._cordoned_directories()
        return BrokerHeartbeatRequest(
            broker_id=self._registration.broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata.image.provenance.offset,
            want_fence=False,
            want_shut_down=want_shut_down,
            offline_log_dirs=list(self._offline_directories()),
            cordoned_log_dirs=None if cordoned is None else list(cordoned),
        )

    async def _beat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatResponse:
        heartbeat = self._heartbeat(want_shut_down=want_shut_down)
        answer: BrokerHeartbeatResponse = await awaited(self._controller.submit(heartbeat))
        if answer.error_code == ErrorCode.NONE:
            self.reported_offline = frozenset(heartbeat.offline_log_dirs)
        return answer

    async def leave(self, *, seconds_max: float) -> None:
        """Controlled shutdown: the controller moves leadership to other brokers before this one
        stops. If no controller answers, the broker stops all the same, and its session expires."""
        self.stop()
        if self.epoch == UNKNOWN_EPOCH:
            return
        try:
            async with asyncio.timeout(seconds_max):
                for pause in _pauses():
                    if (await self._beat(want_shut_down=True)).should_shut_down:
                        break
                    await asyncio.sleep(pause)
        except TimeoutError:
            self._log.warning("no controller let this broker go")

    def stop(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            self._heartbeats = None


def _pauses() -> Iterator[float]:
    pause = HEARTBEAT_PAUSE_SECONDS_MIN
    while True:
        yield pause
        pause = min(2 * pause, HEARTBEAT_PAUSE_SECONDS_MAX)
