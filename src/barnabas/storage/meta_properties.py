"""``meta.properties``: the owner of a directory. ``storage format`` writes it once, and every start
compares it.

A node must never append to a directory of another cluster or another node, so it refuses to start
on a mismatch.
"""

from __future__ import annotations

from barnabas.config.properties import read_properties, write_properties
from barnabas.env.disk import Disk, write_atomically
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import NodeId, Uuid, parse_uuid, uuid_text

META_PROPERTIES = "meta.properties"
_VERSION = 1


class MetaPropertiesDamaged(ValueError):
    """The file exists and is invalid. The text is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    cluster_id: str
    node_id: NodeId
    directory_id: Uuid


def read_meta_properties(disk: Disk, directory: str) -> MetaProperties | None:
    """None for a directory that was never formatted."""
    path = f"{directory}/{META_PROPERTIES}"
    if not disk.exists(path):
        return None
    values = read_properties(disk.read(path).decode("latin-1"))
    version = values.get("version")
    if version != str(_VERSION):
        raise MetaPropertiesDamaged(f"{path} has version {version}; only version {_VERSION} of KRaft can be read.")
    try:
        return MetaProperties(values["cluster.id"], NodeId(int(values["node.id"])), parse_uuid(values["directory.id"]))
    except KeyError as missing:
        raise MetaPropertiesDamaged(f"{path} lacks {missing.args[0]}.") from None
    except ValueError as error:
        raise MetaPropertiesDamaged(f"{path} cannot be read: {error}.") from None


def write_meta_properties(disk: Disk, directory: str, meta: MetaProperties) -> None:
    text = write_properties(
        {
            "version": str(_VERSION),
            "cluster.id": meta.cluster_id,
            "node.id": str(meta.node_id),
            "directory.id": uuid_text(meta.directory_id),
        }
    )
    write_atomically(disk, f"{directory}/{META_PROPERTIES}", text.encode("ascii"))
