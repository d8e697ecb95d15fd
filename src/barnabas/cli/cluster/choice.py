"""Merges the sources that name a cluster.

What a user types wins over the environment, and the environment over what is saved. From the
strongest:

1. ``--bootstrap`` for the addresses, ``-X`` for all properties;
2. ``--config-file``, or the file that ``--secure`` stands for;
3. ``--profile``;
4. ``BARNABAS_BOOTSTRAP`` for the addresses, and the profile named by ``BARNABAS_PROFILE``, unless
   one is typed;
5. the profile chosen with ``barnabas profile use``, but only if no other source has addresses:
   its login is meant for its own cluster and must not reach another one;
6. ``localhost:9092``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from barnabas.cli.errors import Refused

ADDRESSES: Final = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Sources:
    """Each source's properties; addresses are among them as ``bootstrap.servers``."""

    typed_bootstrap: str | None = None
    ambient_bootstrap: str | None = None
    typed_properties: Mapping[str, str] = field(default_factory=dict)
    config_file: Mapping[str, str] = field(default_factory=dict)
    typed_profile: Mapping[str, str] = field(default_factory=dict)
    ambient_profile: Mapping[str, str] = field(default_factory=dict)
    used_profile: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    addresses: str | None  # None: no source has any
    properties: dict[str, str]  # without the addresses


def choose(sources: Sources) -> Choice:
    candidates = (
        sources.typed_bootstrap,
        sources.typed_properties.get(ADDRESSES),
        sources.config_file.get(ADDRESSES),
        sources.typed_profile.get(ADDRESSES),
        sources.ambient_bootstrap,
        sources.ambient_profile.get(ADDRESSES),
    )
    addresses = next((each for each in candidates if each is not None), None)
    merged = {**sources.ambient_profile, **sources.typed_profile, **sources.config_file, **sources.typed_properties}
    if addresses is None:
        addresses = sources.used_profile.get(ADDRESSES)
        merged = {**sources.used_profile, **merged}
    if addresses is not None and not addresses.strip():
        raise Refused("--bootstrap is empty: it takes host:port, several separated by commas.")
    return Choice(addresses, {name: value for name, value in merged.items() if name != ADDRESSES})
