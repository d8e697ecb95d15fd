"""A controller registers its incarnation, listeners and features with the active controller, which
may be itself."""

from __future__ import annotations

import asyncio

from barnabas.controller.port import ControllerPort
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest, ControllerRegistrationResponse

RETRY_SECONDS = 0.5


async def register_controller(registration: ControllerRegistrationRequest, controller: ControllerPort) -> None:
    """Retry until the registration succeeds. Nothing in this node waits for it, but the active
    controller refuses to raise features while a controller is not registered."""
    while True:
        answer: ControllerRegistrationResponse = await awaited(controller.submit(registration))
        if answer.error_code == ErrorCode.NONE:
            return
        await asyncio.sleep(RETRY_SECONDS)
