"""A broker registers again after a late request of its previous process took its registration."""

from __future__ import annotations

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from barnabas.controller.broker_lifecycle import BrokerLifecycle
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.model.promise import Promise
from barnabas.simulation.host import Host
from barnabas.simulation.scheduler import Scheduler
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse


class _Controller:
    def __init__(self) -> None:
        self.epoch = 4

    def submit(self, request: Any) -> Promise[Any]:
        if isinstance(request, BrokerRegistrationRequest):
            self.epoch += 1
            return Promise.kept(BrokerRegistrationResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, broker_epoch=self.epoch))
        assert isinstance(request, BrokerHeartbeatRequest)
        known = request.broker_epoch == self.epoch
        code = ErrorCode.NONE if known else ErrorCode.STALE_BROKER_EPOCH
        return Promise.kept(BrokerHeartbeatResponse(throttle_time_ms=0, error_code=code, is_fenced=not known, should_shut_down=False))


def test_a_broker_with_a_stale_epoch_registers_again() -> None:
    scheduler, controller = Scheduler(), _Controller()
    host = Host("n1", scheduler, Random(1))
    registration = BrokerRegistrationRequest(
        broker_id=1, cluster_id="c", incarnation_id=ZERO_UUID, listeners=[], features=[], rack=None, log_dirs=[], previous_broker_epoch=-1
    )
    metadata = SimpleNamespace(image=SimpleNamespace(provenance=SimpleNamespace(offset=9)))
    lifecycle = BrokerLifecycle(
        registration,
        cast(Any, controller),
        cast(Any, metadata),
        list,
        EventLog("FATAL"),
        interval_ms=2000,
        registration_timeout_ms=60_000,
    )

    async def live() -> None:
        await lifecycle.register()
        await lifecycle.become_active()

    host.boot(lambda: asyncio.get_running_loop().create_task(live()))
    scheduler.run_for_ms(5000)
    assert lifecycle.epoch == 5
    controller.epoch = 6  # of the previous process
    scheduler.run_for_ms(5000)
    assert lifecycle.epoch == 7
    host.end_tasks()
