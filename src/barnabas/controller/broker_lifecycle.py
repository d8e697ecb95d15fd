"""A broker's life as the controller sees it: registered, fenced, unfenced, alive, going.

The same requests as over the wire, to the controller wherever it is. One heartbeat is under way at a time; the next follows after
``broker.heartbeat.interval.ms``, or soon when the last one did not get through. The last ones ask to be let go.
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
from barnabas.telemetry.logs import Log
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

UNKNOWN_EPOCH = -1
# Between tries of what the controller did not answer, or did not want yet.
RETRY_SECONDS = 0.1
# How often a broker that waits to be unfenced or to be let go asks again.
IMPATIENT_SECONDS = 0.05
# The first times it asks sooner: in a node that is its own controller the answer is there as soon as the disk has it.
IMPATIENT_SECONDS_AT_FIRST = 0.002

# The controller may think better of these: it is changing, or it still waits for the broker that had this id before.
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
    """The controller does not want this broker; one sentence."""


class BrokerLifecycle:
    def __init__(
        self,
        registration: BrokerRegistrationRequest,
        controller: ControllerPort,
        metadata: MetadataView,
        offline_directories: Callable[[], Sequence[Uuid]],
        log: Log,
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
        self._heart: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self.epoch = UNKNOWN_EPOCH
        # Directories of which the controller has heard that they failed.
        self.reported_offline: frozenset[Uuid] = frozenset()

    async def register(self) -> int:
        """The broker's epoch, which is the offset of its registration: history, for this broker, ends there."""
        give_up = asyncio.get_running_loop().time() + self._registration_seconds_max
        while True:
            answer: BrokerRegistrationResponse = await awaited(self._controller.submit(self._registration))
            error = ErrorCode(answer.error_code)
            if error == ErrorCode.NONE:
                self.epoch = answer.broker_epoch
                return self.epoch
            if error not in _RETRIED or asyncio.get_running_loop().time() > give_up:
                raise RegistrationRefused(f"the controller refuses this broker: {error.name}.")
            await asyncio.sleep(RETRY_SECONDS)

    async def become_active(self) -> None:
        """Returns when the broker is unfenced: from then on it may lead. Heartbeats go on by themselves, also while this node is still
        publishing that, which may take longer than a session."""
        for pause in _pauses():
            beat = await self._beat()
            if beat.error_code == ErrorCode.NONE and not beat.is_fenced:
                break
            await asyncio.sleep(pause)
            if beat.error_code == ErrorCode.STALE_BROKER_EPOCH:
                await self.register()
        self._heart = asyncio.get_running_loop().create_task(self._keep_alive())

    async def _keep_alive(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._interval_seconds)
            self._hurry.clear()
            beat = await self._beat()
            while beat.error_code != ErrorCode.NONE:
                self._log.warning("heartbeat refused", error=ErrorCode(beat.error_code).name)
                await asyncio.sleep(RETRY_SECONDS)
                if beat.error_code == ErrorCode.STALE_BROKER_EPOCH:
                    await self._register_again()
                beat = await self._beat()

    def hurry(self) -> None:
        """The controller should hear of something that heartbeats tell, and not only when the next is due."""
        self._hurry.set()

    async def _register_again(self) -> None:
        """Somebody else has this broker's place. A registration that this broker's last process sent before it died may have come after
        ours: nobody is behind it, and without asking again this broker would be a stranger for ever."""
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
        """Controlled shutdown: what this broker leads is given to others before it goes. Without a controller it goes all the same:
        it will be missed soon enough."""
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
        if self._heart is not None:
            self._heart.cancel()
            self._heart = None


def _pauses() -> Iterator[float]:
    pause = IMPATIENT_SECONDS_AT_FIRST
    while True:
        yield pause
        pause = min(2 * pause, IMPATIENT_SECONDS)
