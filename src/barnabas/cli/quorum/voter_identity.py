"""A controller's identity in the quorum: its node id, the directory id of its metadata log, and its
listeners.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from barnabas.cli.errors import Refused
from barnabas.cli.quorum.description import bracketed
from barnabas.config.keys import ConfigError
from barnabas.config.listeners import advertised_controller_listeners
from barnabas.config.parse import parse_broker_config
from barnabas.config.properties import read_properties
from barnabas.config.providers import resolve
from barnabas.env.config_sources import SystemSources
from barnabas.env.real_disk import RealDisk
from barnabas.logcare.directories.node_directories import log_directory_paths
from barnabas.model.ids import Uuid, uuid_text
from barnabas.storage.meta_properties import MetaPropertiesDamaged, read_meta_properties


class VoterIdentity(NamedTuple):
    node_id: int
    directory_id: Uuid
    listeners: tuple[tuple[str, str, int], ...]  # name, host, port

    def __str__(self) -> str:
        listeners = ", ".join(f"{name}://{bracketed(host)}:{port}" for name, host, port in self.listeners)
        return f"voter {self.node_id} with directory {uuid_text(self.directory_id)} at {listeners}"


def voter_of_properties(path: Path, overrides: Mapping[str, str]) -> VoterIdentity:
    """Read from a controller's configuration and the directory it names, so only on the machine
    where it runs."""
    try:
        settings = parse_broker_config(resolve({**read_properties(path.read_text("latin-1")), **overrides}, SystemSources()))
        listeners = advertised_controller_listeners(settings)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except ConfigError as error:
        raise Refused(f"{path}: {error}") from error
    if "controller" not in settings.strings("process.roles"):
        raise Refused(f"{path} does not configure a controller: process.roles lacks that role.")
    directory = settings.text_or_none("metadata.log.dir") or log_directory_paths(settings)[0]
    try:
        disk = RealDisk()
        meta = read_meta_properties(disk, directory) if disk.exists(directory) else None
    except MetaPropertiesDamaged as damaged:
        raise Refused(str(damaged)) from damaged
    if meta is None:
        raise Refused(f"{directory} is not formatted; `barnabas storage format` does that.")
    places = tuple((each.name, each.host or "localhost", each.port) for each in listeners)
    return VoterIdentity(settings.integer("node.id"), meta.directory_id, places)
