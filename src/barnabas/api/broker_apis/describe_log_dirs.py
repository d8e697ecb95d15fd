"""DescribeLogDirs (key 35): the directories of this broker and the size of every replica in them.

Version notes: sizes of the file system from 4, cordoned directories from 5. Null topics mean all.
"""

from __future__ import annotations

import os

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.storage.log_directory import LogDirectory
from barnabas.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

_UNKNOWN_BYTES = -1


def handle(broker: Broker, context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted = None if request.topics is None else {topic.topic: set(topic.partitions) for topic in request.topics}
    return DescribeLogDirsResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        results=[_describe(broker, directory, wanted) for directory in broker.replicas.directories],
    )


def _describe(broker: Broker, directory: LogDirectory, wanted: dict[str, set[int]] | None) -> DescribeLogDirsResult:
    if not directory.online:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path, topics=[])
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for (topic, index), log in directory.logs.items():
        if wanted is not None and index not in wanted.get(topic, ()):
            continue
        partition = broker.replicas.get(topic, index)
        behind = max(0, partition.high_watermark - log.log_end_offset) if partition is not None else 0
        topics.setdefault(topic, []).append(
            DescribeLogDirsPartition(partition_index=index, partition_size=log.size_bytes(), offset_lag=behind, is_future_key=False)
        )
    total, usable = _file_system(directory.path)
    cordoned = broker.settings.strings("cordoned.log.dirs")
    return DescribeLogDirsResult(
        error_code=ErrorCode.NONE,
        log_dir=directory.path,
        topics=[DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        total_bytes=total,
        usable_bytes=usable,
        is_cordoned=directory.path in cordoned,
    )


def _file_system(path: str) -> tuple[int, int]:
    try:
        found = os.statvfs(path)
    except OSError:
        return _UNKNOWN_BYTES, _UNKNOWN_BYTES
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
