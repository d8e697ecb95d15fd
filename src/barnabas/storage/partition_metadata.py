"""``partition.metadata``: the topic id of the partition in a directory. A topic can be deleted and
created again under one name; the ids tell the directories apart.
"""

from __future__ import annotations

from barnabas.env.disk import Disk
from barnabas.model.ids import Uuid, parse_uuid, uuid_text
from barnabas.storage.file_names import PARTITION_METADATA


def read_topic_id(disk: Disk, directory: str) -> Uuid | None:
    """None where there is no file or it cannot be read: the directory then belongs to no topic
    until one claims it.
    """
    try:
        text = disk.read(f"{directory}/{PARTITION_METADATA}").decode()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != "0":
        return None
    try:
        return parse_uuid(fields["topic_id"].strip())
    except (KeyError, ValueError):
        return None


def write_topic_id(disk: Disk, directory: str, topic_id: Uuid) -> None:
    """Not synced: when a crash loses the file, the topic that claims the directory writes it
    again.
    """
    file = disk.open(f"{directory}/{PARTITION_METADATA}")
    file.truncate(0)
    file.write_at(0, f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode())
    file.close()
