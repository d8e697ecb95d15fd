"""The client of a schema registry: any that answers Confluent's API. Synchronous, thread-safe.

Read in this order: :mod:`~.client` (what can be asked), :mod:`~.registered` (the answers),
:mod:`~.settings` (addresses, logins, TLS), :mod:`~.requests` (one request, with failover),
:mod:`~.cache`, and :mod:`~.errors`.

Invariants: every call ends within the timeouts of the settings; every cache has a bound; no error
shows a password or a token.

The requests go through httpx, as those between registries do: it comes with ``barnabas[registry]``,
keeps connections open, and may be shared between threads, which ``urllib`` does not offer.

Not here: the registry itself (:mod:`barnabas.registry`), and what a schema means
(:mod:`barnabas.schemas`).
"""

from barnabas.registry_client.client import RegistryClient
from barnabas.registry_client.errors import NotFound, RegistryError, RegistryRefused, RegistryUnreachable
from barnabas.registry_client.registered import RegisteredSchema
from barnabas.registry_client.settings import RegistrySettings

__all__ = [
    "RegistryClient",
    "RegistrySettings",
    "RegisteredSchema",
    "RegistryError",
    "RegistryUnreachable",
    "RegistryRefused",
    "NotFound",
]
