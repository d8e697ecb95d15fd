"""The directories of a node: locked, identified, and the logs in them opened.

Every directory names its node and its cluster. A node does without a directory that cannot be read,
as long as another one is left and the metadata log does not lie in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from barnabas.config.settings import BrokerSettings
from barnabas.env.disk import Disk
from barnabas.metadata.configs import ConfigsImage
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.model.cannot_start import CannotStart
from barnabas.model.ids import NodeId, Uuid
from barnabas.storage.found_logs import FoundLogs
from barnabas.storage.log_directory import UNKNOWN_BROKER_EPOCH, LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import read_meta_properties
from barnabas.telemetry.logs import EventLog

# After a power cut thousands of logs may need a repair; the line about all of them counts the rest.
REPAIRS_LOGGED_MAX = 20


class NodeDirectories:
    def __init__(self, settings: BrokerSettings, node_id: NodeId, disk: Disk, log: EventLog) -> None:
        self._settings = settings
        self._node_id = node_id
        self._disk = disk
        self._log = log
        self._all: list[LogDirectory] = []
        self.cluster_id = ""
        self.metadata_path = ""
        self.unopened: list[str] = []
        # The logs that opening has repaired, and the bytes that this took off them.
        self.repaired, self.bytes_truncated = 0, 0

    def __iter__(self) -> Iterator[LogDirectory]:
        return iter(self._all)

    @property
    def any_online(self) -> bool:
        return any(directory.online for directory in self._all)

    @property
    def for_replicas(self) -> list[LogDirectory]:
        """The directories of ``log.dirs``; the metadata log may lie in another one, alone."""
        paths = log_directory_paths(self._settings)
        return [directory for directory in self._all if directory.path in paths]

    @property
    def metadata_directory_id(self) -> Uuid:
        """The id that distinguishes this node's metadata log from an earlier one in its place."""
        return next(directory.directory_id for directory in self._all if directory.path == self.metadata_path)

    def holds_metadata(self, directory: LogDirectory) -> bool:
        return directory.path == self.metadata_path

    def open(self) -> None:
        """Lock and identify every directory."""
        paths = log_directory_paths(self._settings)
        metadata_path = self._settings.text_or_none("metadata.log.dir")
        self.metadata_path = os.path.abspath(metadata_path) if metadata_path is not None else paths[0]
        for path in dict.fromkeys([*paths, self.metadata_path]):
            try:
                meta = read_meta_properties(self._disk, path) if self._disk.exists(path) else None
                if meta is None:
                    raise CannotStart(f"{path} is not formatted: run `barnabas storage format` first.")
                directory = LogDirectory(self._disk, path, meta.directory_id)
                directory.lock()
            except OSError as error:
                if path == self.metadata_path or len(paths) == 1:
                    raise
                self._log.error("log directory failed", directory=path, error=str(error))
                self.unopened.append(path)
                continue
            self._all.append(directory)
            if meta.node_id != self._node_id:
                raise CannotStart(f"{path} belongs to node {meta.node_id}, but node.id is {self._node_id}.")
            if self.cluster_id and meta.cluster_id != self.cluster_id:
                raise CannotStart(f"{path} belongs to cluster {meta.cluster_id}, but the other directories to {self.cluster_id}.")
            self.cluster_id = meta.cluster_id
        identities = [directory.directory_id for directory in self._all]
        if len(set(identities)) < len(identities):
            raise CannotStart("Two log directories have the same directory.id: one is a copy of the other.")

    def take_clean_shutdown(self) -> tuple[bool, int]:
        """Whether the last stop was clean, and the broker's epoch at that time. The mark is
        removed."""
        marks = [directory.take_clean_shutdown() for directory in self._all]
        clean = all(mark for mark, _ in marks)
        epochs = {epoch for _, epoch in marks}
        return clean, epochs.pop() if clean and len(epochs) == 1 else UNKNOWN_BROKER_EPOCH

    def open_logs(self, *, clean: bool, now_ms: int) -> FoundLogs:
        """Open and recover all logs before the metadata is known: recovery must not need it."""
        plain = EffectiveConfigs(self._settings, ConfigsImage(), self._node_id)
        settings = LogSettings.from_topic_config(plain.topic(""))
        found = FoundLogs()
        for directory in self._all:
            try:
                for log in directory.open_logs(lambda _: settings, clean=clean, now_ms=now_ms):
                    found.add(directory, log)
                    self.bytes_truncated += log.report.bytes_truncated
                    self.repaired += log.report.eventful
                    if log.report.eventful and self.repaired <= REPAIRS_LOGGED_MAX:
                        self._log.info(
                            "log recovered",
                            partition=str(log.log.partition),
                            segments=log.report.segments_recovered,
                            bytes_truncated=log.report.bytes_truncated,
                            notes=log.report.notes,
                        )
            except OSError as error:
                if len(self._all) == 1:
                    raise
                directory.fail(str(error))
                self._log.error("log directory failed", directory=directory.path, error=str(error))
        return found

    def close(self, *, broker_epoch: int) -> None:
        for directory in self._all:
            try:
                directory.close(broker_epoch=broker_epoch)
            except OSError as error:
                # The next start recovers its logs, as after a crash.
                self._log.error("log directory could not be closed cleanly", directory=directory.path, error=str(error))

    def unlock(self) -> None:
        for directory in self._all:
            directory.unlock()


def log_directory_paths(settings: BrokerSettings) -> list[str]:
    paths = settings.strings("log.dirs") or settings.strings("log.dir")
    return [os.path.abspath(path) for path in paths]
