"""``/config``, ``/mode``, ``/contexts`` and ``/compatibility``."""

from __future__ import annotations

from typing import Any

from barnabas.registry.core.compatibility import why_incompatible
from barnabas.registry.core.configuring import config_of, delete_config, delete_mode, mode_of, update_config, update_mode
from barnabas.registry.core.deleting import delete_context
from barnabas.registry.core.errors import INVALID_SCHEMA, RegistryError, invalid_mode, version_not_found
from barnabas.registry.core.lookup import LATEST, version_number
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.registering import canonicalized
from barnabas.registry.core.subject import normalized
from barnabas.registry.endpoints.printed import registration
from barnabas.registry.endpoints.subjects import subject_of
from barnabas.registry.http import Call
from barnabas.registry.service import RegistryService


def _scope(call: Call) -> str | None:
    """The subject or context whose settings are meant; None for all."""
    if "subject" in call.arguments:
        return subject_of(call)
    return normalized(call.context) if call.context else None


async def get_config(service: RegistryService, call: Call) -> Any:
    return config_of(service.state, _scope(call), default_to_global=call.flag("defaultToGlobal"))


async def put_config(service: RegistryService, call: Call) -> Any:
    scope, wanted = _scope(call), await call.body()
    return await service.write(lambda _: update_config(service.state, scope, wanted))


async def remove_config(service: RegistryService, call: Call) -> Any:
    scope = _scope(call)
    return await service.write(lambda _: delete_config(service.state, scope))


async def get_mode(service: RegistryService, call: Call) -> Any:
    return {"mode": mode_of(service.state, _scope(call), default_to_global=call.flag("defaultToGlobal")).value}


async def put_mode(service: RegistryService, call: Call) -> Any:
    scope, named, force = _scope(call), (await call.body()).get("mode"), call.flag("force")
    if named is None:
        # A mode that is null is no mode of its own any more.
        if scope is None or scope in service.state.modes:
            await service.write(lambda _: delete_mode(service.state, scope))
        return {"mode": None}
    if not isinstance(named, str):
        raise invalid_mode(str(named))
    mode = await service.write(lambda _: update_mode(service.state, scope, named, force=force))
    return {"mode": mode.value}


async def remove_mode(service: RegistryService, call: Call) -> Any:
    scope, recursive = _scope(call), call.flag("recursive")
    mode = await service.write(lambda _: delete_mode(service.state, scope, recursive=recursive))
    return {"mode": mode.value}


async def list_contexts(service: RegistryService, call: Call) -> Any:
    prefix = call.text("contextPrefix")
    return call.page([context for context in service.state.contexts if context.startswith(prefix)])


async def remove_context(service: RegistryService, call: Call) -> Any:
    context = "." + call.arguments["context"].strip(":").lstrip(".")
    await service.write(lambda _: delete_context(service.state, context))
    return None


async def check_version(service: RegistryService, call: Call) -> Any:
    """Against one version, at the level of the subject. A subject without versions has no latest
    one, and takes any schema."""
    subject, number = subject_of(call), version_number(call.arguments["version"])
    found = service.state.latest(subject) if number == LATEST else service.state.version(subject, number)
    if number != LATEST and (found is None or found.deleted):
        raise version_not_found(number)
    return await _check(service, call, subject, [found] if found is not None else [])


async def check_subject(service: RegistryService, call: Call) -> Any:
    """Against the versions that a registration would have to get on with."""
    subject = subject_of(call)
    return await _check(service, call, subject, None)


async def _check(service: RegistryService, call: Call, subject: str, against: Any) -> Any:
    wanted, normalize = registration(await call.body()), call.flag("normalize")

    def think(parsed: ParsedSchemas) -> list[str]:
        parsed = parsed.seen_by(call.may_describe)
        canonical = canonicalized(service.state, parsed, subject, wanted, normalize=normalize)
        return why_incompatible(service.state, parsed, subject, canonical, against=against)

    try:
        reasons = await service.think(think)
    except RegistryError as error:
        if error.code != INVALID_SCHEMA or not call.flag("verbose"):
            raise
        reasons = [error.message]
    return {"is_compatible": not reasons, **({"messages": reasons} if call.flag("verbose") else {})}
