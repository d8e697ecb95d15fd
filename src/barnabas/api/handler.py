"""The one shape of all handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from barnabas.api.broker import Broker
from barnabas.network.caller import Caller
from barnabas.wire.apis import ApiKey

Handler: TypeAlias = Callable[[Broker, Caller, Any], Any]
Handlers: TypeAlias = Mapping[ApiKey, Handler]
