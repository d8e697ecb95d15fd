"""The shape of all handlers, and the tables of them.

A table knows the module of each API and imports it with the first request for the API: a node that
starts would otherwise load all of them before its first answer, and most clients use a dozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.needs import Needs
from barnabas.controller.error_responses import error_response
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.wire.apis import ApiKey

Handler: TypeAlias = Callable[[Broker, Caller, Any], Any]
Handlers: TypeAlias = Mapping[ApiKey, Handler]

NOT_AUTHORIZED = "Cluster authorization failed."


class ServedApis(Mapping[ApiKey, Handler]):
    """The handlers of modules, each behind the check that its module declares.

    A module has ``handle``, a :data:`Handler`, and ``NEEDS``, a :class:`~barnabas.api.needs.Needs`.
    """

    def __init__(self, modules: Mapping[ApiKey, str]) -> None:
        self._modules = dict(modules)
        self._found: dict[ApiKey, Handler] = {}

    def __getitem__(self, key: ApiKey) -> Handler:
        handle = self._found.get(key)
        if handle is None:
            module = import_module(self._modules[key])
            handle = self._found[key] = guarded(module.handle, module.NEEDS)
        return handle

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def __iter__(self) -> Iterator[ApiKey]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def only(self, keys: Iterable[ApiKey]) -> ServedApis:
        return ServedApis({key: self._modules[key] for key in keys})

    def plus(self, modules: Mapping[ApiKey, str]) -> ServedApis:
        return ServedApis({**self._modules, **modules})


def guarded(handle: Handler, needs: Needs) -> Handler:
    need = needs.guard
    if need is None:
        return handle

    def check(broker: Broker, caller: Caller, request: Any) -> Any:
        if not broker.access.may(caller, need):
            return error_response(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NOT_AUTHORIZED, version=caller.version)
        return handle(broker, caller, request)

    return check
