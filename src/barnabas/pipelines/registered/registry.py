"""The registry as sources and sinks ask it, with errors that are sentences.

=====================================  ============================  ==============================
the registry                           in the driver, at the start   in a task
=====================================  ============================  ==============================
does not answer                        ``CannotRun``                 asked again for the declared
                                                                     time, then ``RunFailed``: the
                                                                     batch runs again
does not know the schema               ``CannotRun``                 ``UnknownSchema``, a reason
refuses (login, rights, a difference)  ``CannotRun``                 ``RunFailed``
=====================================  ============================  ==============================
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.registered.plans import SchemaText
from barnabas.pipelines.registered.settings import LATEST, RegistryAddress

if TYPE_CHECKING:
    from barnabas.registry_client import RegisteredSchema, RegistryClient, RegistrySettings

_PAUSE_SECONDS: Final = 0.5
# Registries that a worker process talks to: one, for most pipelines.
REGISTRIES_MAX: Final = 16
_CONFLICT: Final = 409
# Confluent's form of a reason.
_REASON: Final = re.compile(r"\{errorType:\s*'(\w+)',\s*description:\s*'(.*?)'(?:,\s*additionalInfo:.*)?\}\s*$", re.DOTALL)
# Differences in a refusal; a longer list is not read to its end.
REASONS_MAX: Final = 3

Answer = TypeVar("Answer")


class UnknownSchema(Exception):
    """The text is a reason."""


def client_settings(address: RegistryAddress) -> RegistrySettings:
    try:
        from barnabas.registry_client import RegistryError, RegistrySettings
    except ModuleNotFoundError as missing:
        raise CannotRun(f"A registry needs {missing.name}: pip install 'barnabas[registry]'.") from missing
    settings = {
        "url": address.url,
        "basic.auth.user.info": address.login,
        "bearer.auth.token": address.token,
        "ssl.ca.location": address.tls_trusted,
        "ssl.certificate.location": address.tls_certificate,
        "ssl.key.location": address.tls_key,
    }
    try:
        return RegistrySettings.of({name: value for name, value in settings.items() if value is not None})
    except RegistryError as refused:
        raise CannotRun(str(refused)) from refused


def open_client(address: RegistryAddress) -> RegistryClient:
    settings = client_settings(address)
    from barnabas.registry_client import RegistryClient

    return RegistryClient(settings)


# -- in the driver ---------------------------------------------------------------------------------


def at_start(ask: Callable[[], Answer]) -> Answer:
    """Raises ``CannotRun`` with the registry's sentence."""
    from barnabas.registry_client import RegistryError

    try:
        return ask()
    except RegistryError as error:
        raise CannotRun(str(error)) from error


def used_version(client: RegistryClient, subject: str, use: str) -> RegisteredSchema:
    """The version of a subject that ``use`` names."""
    from barnabas.registry_client import NotFound

    def ask() -> RegisteredSchema:
        try:
            return client.latest(subject) if use == LATEST else client.version(subject, int(use))
        except NotFound as error:
            what = f"a subject {subject!r}" if use == LATEST else f"a version {use} of the subject {subject!r}"
            address = ", ".join(client.settings.urls)
            raise CannotRun(f"The registry at {address} does not have {what}: register its schema first, or give one.") from error

    return at_start(ask)


def registered_id(client: RegistryClient, subject: str, schema: SchemaText, *, register: bool) -> int:
    """Registers the schema, or finds it. ``CannotRun`` names the difference from the version that
    it does not get along with."""
    from barnabas.registry_client import NotFound, RegistryRefused

    def ask() -> int:
        try:
            if register:
                found = client.register(subject, schema.type, schema.text, schema.references)
            else:
                found = client.lookup(subject, schema.type, schema.text, schema.references)
        except NotFound as error:
            raise CannotRun(_not_registered(client, subject, schema)) from error
        except RegistryRefused as error:
            if error.status != _CONFLICT:
                raise
            raise CannotRun(
                f"The registry refuses the schema for the subject {subject!r}: {_differences(client, subject, schema, error)}"
            ) from error
        if found.id is None:
            raise CannotRun(f"The registry gives no id for the schema of the subject {subject!r}.")
        return found.id

    return at_start(ask)


def _differences(client: RegistryClient, subject: str, schema: SchemaText, refused: Exception) -> str:
    """The registry's own answer also has the whole older schema, which fills the screen."""
    answers = client.incompatibilities(subject, schema.type, schema.text, schema.references)
    reasons = [f"{match[1]}: {match[2]}" for each in answers if (match := _REASON.match(each)) is not None]
    return f"{'; '.join(reasons[:REASONS_MAX])}." if reasons else str(refused)


def _not_registered(client: RegistryClient, subject: str, schema: SchemaText) -> str:
    from barnabas.registry_client import NotFound
    from barnabas.schemas.errors import InvalidSchema

    try:
        latest = client.latest(subject)
    except NotFound:
        return f"The registry has no subject {subject!r}, and 'register' is false: register its schema first."
    try:
        reasons: Sequence[object] = schema.parsed().unreadable(latest.parsed) or latest.parsed.unreadable(schema.parsed())
    except InvalidSchema:
        reasons = ()
    difference = f" ({str(reasons[0]).rstrip('.')})" if reasons else ""
    return (
        f"The schema of the columns is not registered under the subject {subject!r}, and 'register' is false: "
        f"it differs from version {latest.version}{difference}."
    )


# -- in a task -------------------------------------------------------------------------------------


class TaskRegistry:
    """Answers are remembered by the client."""

    def __init__(self, client: RegistryClient, retry_seconds: float) -> None:
        self._client = client
        self._retry_seconds = retry_seconds

    def schema(self, schema: int | UUID) -> SchemaText:
        """Raises ``UnknownSchema``."""
        from barnabas.registry_client import NotFound, RegistryRefused

        def ask() -> RegisteredSchema:
            return self._client.schema_by_id(schema) if isinstance(schema, int) else self._client.schema_by_guid(schema)

        try:
            return SchemaText.of(persistent(ask, self._retry_seconds))
        except NotFound:
            raise UnknownSchema(f"the registry has no schema with the {'id' if isinstance(schema, int) else 'GUID'} {schema}") from None
        except RegistryRefused as refused:
            raise RunFailed(str(refused)) from refused

    def id_of(self, subject: str, schema: SchemaText, *, register: bool) -> int:
        try:
            return persistent(lambda: registered_id(self._client, subject, schema, register=register), self._retry_seconds)
        except CannotRun as refused:
            raise RunFailed(str(refused)) from refused


def persistent(ask: Callable[[], Answer], retry_seconds: float) -> Answer:
    """Asks again while no instance answers. Raises ``RunFailed`` when the time is over, and
    ``RegistryRefused``."""
    from barnabas.registry_client import RegistryUnreachable

    deadline = time.monotonic() + retry_seconds
    while True:
        try:
            return ask()
        except RegistryUnreachable as error:
            if time.monotonic() >= deadline:
                raise RunFailed(str(error)) from error
            time.sleep(_PAUSE_SECONDS)


_kept: OrderedDict[RegistrySettings, TaskRegistry] = OrderedDict()


def kept_registry(settings: RegistrySettings, retry_ms: int) -> TaskRegistry:
    """One for each registry in a worker process."""
    from barnabas.registry_client import RegistryClient

    found = _kept.pop(settings, None) or TaskRegistry(RegistryClient(settings), retry_ms / 1000)
    _kept[settings] = found
    if len(_kept) > REGISTRIES_MAX:
        _kept.popitem(last=False)
    return found
