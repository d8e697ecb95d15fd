"""DescribeLogDirs (key 35): the log directories of this broker and the size of every replica in
them.

Behaviour: a replica that is being moved appears twice: in its current directory, and as a future
replica in its target. A failed directory carries KAFKA_STORAGE_ERROR and no partitions. Null topics
mean all topics.

Version notes: an error code for the whole response from 3, the size of the file system from 4,
cordoned directories from 5.
"""

from __future__ import annotations

import os

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.replication.partition import Partition
from barnabas.security.acls.acl import Operation
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

NEEDS = on_cluster(Operation.DESCRIBE)

_UNKNOWN_BYTES = -1


def handle(broker: Broker, caller: Caller, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted = None if request.topics is None else {topic.topic: set(topic.partitions) for topic in request.topics}
    failed = [DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=path, topics=[]) for path in broker.replicas.unopened]
    return DescribeLogDirsResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        results=[_describe(broker, directory, wanted) for directory in broker.replicas.directories] + failed,
    )


def _describe(broker: Broker, directory: LogDirectory, wanted: dict[str, set[int]] | None) -> DescribeLogDirsResult:
    if not directory.online:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path, topics=[])
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for future, logs in ((False, directory.logs), (True, directory.futures)):
        for (topic, index), log in logs.items():
            if wanted is not None and index not in wanted.get(topic, ()):
                continue
            topics.setdefault(topic, []).append(
                DescribeLogDirsPartition(
                    partition_index=index,
                    partition_size=log.size_bytes(),
                    offset_lag=_lag(broker.replicas.get(topic, index), log),
                    is_future_key=future,
                )
            )
    total, usable = _file_system(directory.path)
    return DescribeLogDirsResult(
        error_code=ErrorCode.NONE,
        log_dir=directory.path,
        topics=[DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        total_bytes=total,
        usable_bytes=usable,
        is_cordoned=directory.cordoned,
    )


def _lag(partition: Partition | None, log: Log) -> int:
    """A replica lags behind the high watermark; a future replica lags behind the current one."""
    if partition is None:
        return 0
    end = partition.high_watermark if partition.log is log else partition.log.log_end_offset
    return max(0, end - log.log_end_offset)


def _file_system(path: str) -> tuple[int, int]:
    try:
        found = os.statvfs(path)
    except OSError:
        return _UNKNOWN_BYTES, _UNKNOWN_BYTES
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
