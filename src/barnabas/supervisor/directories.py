"""The log directories of several processes: those of new processes are formatted, and data of a
process that is not started is never passed over.

``barnabas storage format`` formats the directories of the file, which are those of the first
process, and the id of the cluster is known from then on. The directories of a further process are
formatted here with that id, when the process starts for the first time. So a single node grows to
several processes without another command.

That keeps the protection that formatting gives against a disk that is not mounted: all directories
of the first process must be formatted, and they are on the same disks. A process that has some of
its directories formatted and others not is left to the node, which refuses to start.

Nothing is formatted when no process is new.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from barnabas.config.settings import BrokerSettings
from barnabas.env.disk import Disk, disk_sentence
from barnabas.env.entropy import Entropy
from barnabas.logcare.directories.node_directories import log_directory_paths
from barnabas.model.cannot_start import CannotStart
from barnabas.model.ids import NodeId
from barnabas.node.format import FormatRefused, format_directories
from barnabas.storage.meta_properties import MetaProperties, MetaPropertiesDamaged, read_meta_properties
from barnabas.supervisor.process_settings import PROCESSES_DIRECTORY


def all_directory_paths(settings: BrokerSettings) -> list[str]:
    """Of the replicas, and of the metadata log if it has one of its own."""
    metadata_directory = settings.text_or_none("metadata.log.dir")
    own = [os.path.abspath(metadata_directory)] if metadata_directory else []
    return list(dict.fromkeys([*log_directory_paths(settings), *own]))


def format_new_processes(disk: Disk, processes: Sequence[BrokerSettings], *, entropy: Entropy, now_ms: int) -> list[int]:
    """``processes`` are the settings of all of them, the first one first. Returns the nodes that
    are new. Raises ``CannotStart``."""
    first, *further = processes
    new = [each for each in further if _is_new(disk, each)]
    if not new:
        # Then the nodes alone decide: one that has lost a directory may serve the others.
        return []
    try:
        cluster_id = _formatted(disk, first).cluster_id
        for each in new:
            metadata_directory = each.text_or_none("metadata.log.dir")
            format_directories(
                disk,
                all_directory_paths(each),
                cluster_id=cluster_id,
                node_id=NodeId(each.integer("node.id")),
                entropy=entropy,
                now_ms=now_ms,
                metadata_path=os.path.abspath(metadata_directory) if metadata_directory else None,
            )
    except (FormatRefused, MetaPropertiesDamaged) as refused:
        raise CannotStart(str(refused)) from refused
    except OSError as error:
        raise CannotStart(disk_sentence("cannot format the directories of the processes", error)) from error
    return [each.integer("node.id") for each in new]


def refuse_data_of_others(disk: Disk, first: BrokerSettings, started: Iterable[int], *, given: str) -> None:
    """Refuse to start beside data of processes that are not ``started``. ``given`` is how the user
    said how many there are. Raises ``CannotStart``."""
    names = {f"node-{node_id}" for node_id in started}
    left = [path for path in directories_of_further_processes(disk, all_directory_paths(first)) if os.path.basename(path) not in names]
    if left:
        raise CannotStart(
            f"{left[0]} holds the data of a process that {given} does not start. Start it again with more processes;"
            " or, to do without it, start it, move its partitions to other brokers with `barnabas reassign`, stop,"
            f" remove {left[0]}, and run `barnabas brokers unregister` after the next start."
        )


def directories_of_further_processes(disk: Disk, paths: Iterable[str]) -> list[str]:
    """Those inside the directories of the first process, ``paths``."""
    found = []
    for path in paths:
        parent = f"{path}/{PROCESSES_DIRECTORY}"
        try:
            found += [f"{parent}/{name}" for name in sorted(disk.names(parent))] if disk.exists(parent) else []
        except OSError:
            # The node reports a directory that failed, and may serve the others, which have the
            # same processes.
            continue
    return found


def _formatted(disk: Disk, first: BrokerSettings) -> MetaProperties:
    found = [(path, _meta(disk, path)) for path in all_directory_paths(first)]
    for path, meta in found:
        if meta is None:
            raise CannotStart(f"{path} is not formatted: run `barnabas storage format` first.")
    assert found[0][1] is not None
    return found[0][1]


def _is_new(disk: Disk, process: BrokerSettings) -> bool:
    """Whether no directory is formatted. One that cannot be read may have been formatted."""
    try:
        return not any(_meta(disk, path) for path in all_directory_paths(process))
    except (MetaPropertiesDamaged, OSError):
        return False


def _meta(disk: Disk, path: str) -> MetaProperties | None:
    return read_meta_properties(disk, path) if disk.exists(path) else None
