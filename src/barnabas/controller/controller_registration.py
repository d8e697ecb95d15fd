"""A controller makes itself known: who it is, where it listens, which features it has. To the active one, which may be itself."""

from __future__ import annotations

import asyncio

from barnabas.controller.port import ControllerPort
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest, ControllerRegistrationResponse

RETRY_SECONDS = 0.5


async def register_controller(registration: ControllerRegistrationRequest, controller: ControllerPort) -> None:
    """Until it has been heard: nothing of this node waits for it, but features are not raised while a controller is unknown."""
    while True:
        answer: ControllerRegistrationResponse = await awaited(controller.submit(registration))
        if answer.error_code == ErrorCode.NONE:
            return
        await asyncio.sleep(RETRY_SECONDS)
