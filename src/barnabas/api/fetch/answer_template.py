"""The encoded response to a fetch of certain partitions, in which only numbers and records change.

The template is cut out of a sample that the ordinary encoder makes, so no layout is written down
here a second time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode
from barnabas.replication.fetch_sessions import PartitionKey
from barnabas.replication.reads import PartitionRead
from barnabas.wire.frames import OutFrame
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.varint import write_uvarint

if TYPE_CHECKING:
    from barnabas.api.route import Route

# Values that occur nowhere else in a response; their positions show where the real values belong.
# Each has bytes that never occur in UTF-8, so no topic name contains it.
_MARK_CORRELATION, _MARK_SESSION = 0x7AF8_F97D, 0x7BF8_F97C
_MARK_OFFSETS = (0x11F8_F914_1516_1718, 0x21F8_F924_2526_2728, 0x31F8_F934_3536_3738)
_MARK_RECORDS = b"\xf8\xf9\xfa\xfb"
_ID = struct.Struct(">i")
_OFFSETS = struct.Struct(">qqq")
# Of the records, while they are this short.
_RECORDS_LENGTH_BYTES = 1


class AnswerTemplate:
    """For partitions that have no errors and no aborted transactions."""

    __slots__ = ("_entries", "_pack_head", "_tail", "_to_session")

    def __init__(self, route: Route, keys: Sequence[PartitionKey], *, committed_only: bool) -> None:
        """``committed_only``: the consumer gets a list of aborted transactions, even if none."""
        sample = bytes(route.answer(_MARK_CORRELATION, _sample(keys, committed_only=committed_only)))
        correlation = sample.index(_ID.pack(_MARK_CORRELATION))
        session = sample.index(_ID.pack(_MARK_SESSION), correlation)
        self._to_session = sample[correlation + _ID.size : session]
        self._pack_head = struct.Struct(f">{correlation}x4s{len(self._to_session)}si").pack
        # For each partition, the bytes before its offsets, and a function that packs these bytes,
        # the offsets, and the bytes up to the length of the records.
        self._entries: list[tuple[bytes, bytes, Callable[..., bytes]]] = []
        start = session + _ID.size
        for _ in keys:
            offsets = sample.index(_OFFSETS.pack(*_MARK_OFFSETS), start)
            records = sample.index(_MARK_RECORDS, offsets)
            before, behind = sample[start:offsets], sample[offsets + _OFFSETS.size : records - _RECORDS_LENGTH_BYTES]
            self._entries.append((before, behind, struct.Struct(f">{len(before)}sqqq{len(behind)}s").pack))
            start = records + len(_MARK_RECORDS)
        self._tail = sample[start:]

    def fill(self, correlation_id: bytes, session_id: int, reads: Sequence[PartitionRead]) -> OutFrame:
        """The correlation id goes back as the bytes of the request. The reads are :attr:`plain
        <barnabas.replication.reads.PartitionRead.plain>`, one for each partition."""
        out = OutFrame(self._pack_head(correlation_id, self._to_session, session_id))
        for (before, behind, pack), read in zip(self._entries, reads, strict=True):
            out += pack(before, read.high_watermark, read.last_stable_offset, read.log_start_offset, behind)
            region = read.region
            if region is None:
                out.append(1)
            else:
                write_uvarint(out, len(region) + 1)
                out.cut(region)
        out += self._tail
        out.seal()
        return out


def _sample(keys: Sequence[PartitionKey], *, committed_only: bool) -> FetchResponse:
    response = FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, session_id=_MARK_SESSION, responses=[])
    high_watermark, last_stable_offset, log_start_offset = _MARK_OFFSETS
    for topic, topic_id, index in keys:
        data = PartitionData(
            partition_index=index,
            error_code=ErrorCode.NONE,
            high_watermark=high_watermark,
            last_stable_offset=last_stable_offset,
            log_start_offset=log_start_offset,
            aborted_transactions=[] if committed_only else None,
            records=_MARK_RECORDS,
        )
        last = response.responses[-1] if response.responses else None
        if last is not None and (last.topic, last.topic_id) == (topic, topic_id):
            last.partitions.append(data)
        else:
            response.responses.append(FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=[data]))
    return response
