"""What the registry says about itself."""

from __future__ import annotations

from typing import Any

from barnabas import __version__
from barnabas.registry.http import Call
from barnabas.registry.service import RegistryService


async def root(_: RegistryService, __: Call) -> Any:
    return {}


async def cluster_id(service: RegistryService, _: Call) -> Any:
    return {"scope": {"path": [], "clusters": {"kafka-cluster": service.cluster_id, "schema-registry-cluster": service.group_id}}}


async def deployment(_: RegistryService, __: Call) -> Any:
    """Confluent's registry names the parts of its platform here; this one has none of them."""
    return {"attributes": []}


async def version(_: RegistryService, __: Call) -> Any:
    return {"version": __version__, "commitId": "barnabas"}
