"""The shape of all handlers, and the tables of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.needs import Needs
from barnabas.controller.error_responses import error_response
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.wire.apis import ApiKey

Handler: TypeAlias = Callable[[Broker, Caller, Any], Any]
Handlers: TypeAlias = Mapping[ApiKey, Handler]

NOT_AUTHORIZED = "Cluster authorization failed."


class ApiModule(Protocol):
    """The module of an API."""

    @property
    def NEEDS(self) -> Needs: ...  # noqa: N802 - a constant of a module

    @property
    def handle(self) -> Handler: ...


def served(modules: Mapping[ApiKey, ApiModule]) -> Handlers:
    """The handlers of these modules, each behind the check that its module declares."""
    return MappingProxyType({key: guarded(module.handle, module.NEEDS) for key, module in modules.items()})


def guarded(handle: Handler, needs: Needs) -> Handler:
    need = needs.guard
    if need is None:
        return handle

    def check(broker: Broker, caller: Caller, request: Any) -> Any:
        if not broker.access.may(caller, need):
            return error_response(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NOT_AUTHORIZED, version=caller.version)
        return handle(broker, caller, request)

    return check
