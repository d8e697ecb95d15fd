"""The registry that a command asks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from barnabas.cli.errors import Refused

if TYPE_CHECKING:
    from barnabas.registry_client.client import RegistryClient

URL_VARIABLE: Final = "BARNABAS_REGISTRY"


def registry_client(properties: Mapping[str, str], url: str | None, login: str | None) -> RegistryClient:
    """``properties`` are those of the client about its registry. Raises ``Refused``."""
    from barnabas.registry_client.client import RegistryClient
    from barnabas.registry_client.errors import RegistryError

    settings: dict[str, object] = dict(properties)
    chosen = url or settings.get("schema.registry.url") or os.environ.get(URL_VARIABLE)
    if chosen is None:
        raise Refused("Schemas need a registry: name it with --registry, BARNABAS_REGISTRY, or the property schema.registry.url.")
    settings["schema.registry.url"] = chosen
    if login is not None:
        settings["schema.registry.basic.auth.user.info"] = login
    try:
        return RegistryClient(settings)
    except RegistryError as error:
        raise Refused(str(error)) from error


@contextmanager
def refusing() -> Iterator[None]:
    """Errors of the registry and of schemas as ``Refused``."""
    from barnabas.registry_client.errors import RegistryError
    from barnabas.schemas.errors import InvalidSchema

    try:
        yield
    except (RegistryError, InvalidSchema) as error:
        raise Refused(str(error)) from error
