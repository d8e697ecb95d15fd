"""How a transcript words the partition, its replicas and the messages between them."""

from __future__ import annotations

from barnabas.metadata.topics import RECOVERING, PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE
from barnabas.records.batches import walk
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from tests.scenarios.replication.core import follower_fetch
from tests.scenarios.replication.scripted_broker import DOWN, NO_REPLICA, Shown


def partition_text(partition: PartitionImage) -> str:
    leader = f"leader {partition.leader}" if partition.leader != NO_NODE else "no leader"
    parts = [f"{leader}, epoch {partition.leader_epoch}", f"isr {_listed(partition.isr)}"]
    if partition.eligible_leader_replicas:
        parts.append(f"elr {_listed(partition.eligible_leader_replicas)}")
    if partition.last_known_elr:
        parts.append(f"last known leader {_listed(partition.last_known_elr)}")
    if partition.leader_recovery_state == RECOVERING:
        parts.append("recovering")
    parts.append(f"replicas {_listed(partition.replicas)}")
    if partition.adding_replicas:
        parts.append(f"adding {_listed(partition.adding_replicas)}")
    if partition.removing_replicas:
        parts.append(f"removing {_listed(partition.removing_replicas)}")
    return "; ".join(parts)


def changes(before: Shown, now: Shown) -> list[str]:
    lines = []
    if now.role != before.role:
        if before.role == DOWN:
            return [f"{now.role}; log {now.log_start_offset}-{now.log_end_offset}, hw {now.high_watermark}"]
        lines.append(now.role)
        if now.role in (DOWN, NO_REPLICA):
            return lines
    if now.log_start_offset > before.log_start_offset:
        lines.append(f"log starts at {now.log_start_offset}")
    if now.log_end_offset < before.log_end_offset:
        lost = ", losing committed records" if now.log_end_offset < before.high_watermark else ""
        lines.append(f"truncates its log from {before.log_end_offset} to {now.log_end_offset}{lost}")
    elif now.log_end_offset > before.log_end_offset:
        first = max(before.log_end_offset, now.log_start_offset)
        where = f"{first}" if now.log_end_offset - first == 1 else f"{first}-{now.log_end_offset - 1}"
        lines += [f"appends {where}"] if now.log_end_offset > first else []
    if now.high_watermark > before.high_watermark:
        lines.append(f"high watermark {now.high_watermark}")
    return lines


def request_text(request: follower_fetch.Request) -> str:
    if isinstance(request, FetchRequest):
        asked = request.topics[0].partitions[0]
        last = f" last-epoch={asked.last_fetched_epoch}" if asked.last_fetched_epoch >= 0 else ""
        return f"Fetch epoch={asked.current_leader_epoch} offset={asked.fetch_offset}{last}"
    wanted = request.topics[0].partitions[0]
    return f"ListOffsets epoch={wanted.current_leader_epoch} {'latest' if wanted.timestamp == follower_fetch.LATEST else 'earliest'}"


def response_text(request: follower_fetch.Request, response: follower_fetch.Response, *, known_high_watermark: int) -> str:
    """Empty when there is nothing to show: a fetch that finds nothing new."""
    if not isinstance(response, FetchResponse):
        found = response.topics[0].partitions[0]
        return f"ListOffsets: {ErrorCode(found.error_code).name if found.error_code else found.offset}"
    answer = response.responses[0].partitions[0]
    if answer.error_code:
        return f"Fetch: {ErrorCode(answer.error_code).name}"
    if answer.diverging_epoch.epoch >= 0:
        return f"Fetch: diverging, epoch {answer.diverging_epoch.epoch} ends at {answer.diverging_epoch.end_offset}"
    start = f", log starts at {answer.log_start_offset}" if answer.log_start_offset > 0 else ""
    if answer.records:
        assert isinstance(answer.records, bytes), "records of this response were read from the log"
        headers = [header for _, header in walk(answer.records)]
        first, last = headers[0].base_offset, headers[-1].last_offset
        return f"Fetch: records {first if first == last else f'{first}-{last}'}, hw={answer.high_watermark}{start}"
    return f"Fetch: hw={answer.high_watermark}{start}" if answer.high_watermark > known_high_watermark or start else ""


def _listed(numbers: tuple[int, ...]) -> str:
    return ",".join(str(each) for each in numbers) or "none"
