"""Every API declares what its callers must be allowed, and checks it."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest

import barnabas.api.needs as needs_module
from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.controller_apis import envelope
from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.api.handler import guarded
from barnabas.api.needs import NOTHING, Need, Needs
from barnabas.wire.apis import ApiKey

# The name of each need, as handlers write it.
_NAMES = {value: name for name, value in vars(needs_module).items() if isinstance(value, Need)}
# Handlers that share the lists of needs and the check in this module.
_ELSEWHERE = {"barnabas.api.config_access", "barnabas.api.fetch.readers", "barnabas.api.share_requests"}
# A client sends these before it has a name, or to get one.
_OPEN = {
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    # The owner and the renewers of a token may do these, whatever the ACLs say.
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    # Every client that may connect may push its metrics; a subscription asks for them.
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
    ApiKey.PUSH_TELEMETRY,
}


def modules() -> dict[str, ModuleType]:
    """The modules of all APIs of both kinds of listeners."""
    found: dict[str, ModuleType] = {"envelope": envelope}
    for handlers in (BROKER_HANDLERS, CONTROLLER_HANDLERS):
        for handle in handlers.values():
            inner = inspect.getclosurevars(handle).nonlocals.get("handle", handle)
            module = inspect.getmodule(inner)
            assert module is not None
            found[module.__name__.rpartition("barnabas.api.")[2]] = module
    return found


@pytest.mark.parametrize("name", sorted(modules()))
def test_every_api_module_declares_needs(name: str) -> None:
    assert isinstance(modules()[name].NEEDS, Needs)


@pytest.mark.parametrize("name", sorted(modules()))
def test_every_need_that_a_module_declares_is_used_in_its_code(name: str) -> None:
    module = modules()[name]
    source = inspect.getsource(module)
    for need in module.NEEDS.checked:
        uses = len(re.findall(rf"\b{_NAMES[need]}\b", source))
        shared = any(each in source for each in _ELSEWHERE)
        # An import, the declaration, and at least one check.
        assert uses >= 3 or shared, f"{name} declares {_NAMES[need]} and does not check it"


@pytest.mark.parametrize("name", sorted(modules()))
def test_every_need_that_a_module_checks_is_declared(name: str) -> None:
    module = modules()[name]
    declared = set(module.NEEDS.checked)
    imported = {value for value in vars(module).values() if isinstance(value, Need)}
    assert imported <= declared


def test_only_apis_of_authentication_own_tokens_and_telemetry_need_nothing() -> None:
    open_apis = set()
    for handlers in (BROKER_HANDLERS, CONTROLLER_HANDLERS):
        for key, handle in handlers.items():
            inner = inspect.getclosurevars(handle).nonlocals.get("handle", handle)
            module = inspect.getmodule(inner)
            if module is not None and module.NEEDS == NOTHING:
                open_apis.add(key)
    assert open_apis == _OPEN


def test_a_handler_without_a_guard_is_passed_through() -> None:
    handle = envelope.unwrapping({})
    assert guarded(handle, NOTHING) is handle
