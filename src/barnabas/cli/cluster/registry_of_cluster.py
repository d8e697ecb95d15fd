"""The schema registry that belongs to a cluster: an option of the command, with the login and TLS
that the client properties have for it, or ``schema.registry.url`` among the properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.cli.errors import Refused

if TYPE_CHECKING:
    from barnabas.registry_client import RegistrySettings

_URL = "schema.registry.url"


def registry_settings(url: str | None, properties: Mapping[str, str]) -> RegistrySettings | None:
    """``properties``: those of the cluster about its registry. None if neither names one."""
    named = {**properties, **({_URL: url} if url is not None else {})}
    if _URL not in named:
        return None
    try:
        from barnabas.registry_client import RegistryError, RegistrySettings
    except ModuleNotFoundError as missing:
        raise Refused(f"A registry needs more packages ({missing.name}): pip install 'barnabas[registry]'.") from missing
    try:
        return RegistrySettings.of(named)
    except RegistryError as refused:
        raise Refused(str(refused)) from refused
