"""The directories of a broker with their replicas, and moves between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.disk_moves import move_replicas
from barnabas.console.access.log_dirs import LogDirectory, log_directories
from barnabas.console.access.registered_brokers import registered_broker
from barnabas.console.core.disk_moves import DiskMove, moves_under_way, plan_moves, read_replicas
from barnabas.console.core.health import Disk
from barnabas.console.core.paging import Page, matching, ordered, page_of
from barnabas.console.core.topic import ReplicaSize
from barnabas.console.errors import BadValue, ClusterRefused
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter
from barnabas.console.web.words import plural

# Replicas in one plan. They are part of an address.
REPLICAS_MAX: Final = 500
_ORDERS: Final = ("-size", "size", "topic", "-topic", "directory", "-directory")


@dataclass(frozen=True, slots=True)
class BrokerDisks:
    broker: int
    disks: list[Disk]
    replicas_by_directory: dict[str, int]
    bytes_by_directory: dict[str, int]
    moves: list[DiskMove]
    search: str
    directory: str
    sort: str
    page: Page[ReplicaSize]


@dataclass(frozen=True, slots=True)
class DiskMovePreview:
    """What a move would do; nothing is moved yet."""

    broker: int
    target: str
    moves: list[DiskMove]
    bytes_to_copy: int
    usable_bytes: int
    """Of the target; -1 from a broker that does not tell."""
    unmoved: list[str]
    warning: str | None


async def show_disks(call: Call) -> BrokerDisks:
    client, search, wanted, sort = call.cluster, call.text("search"), call.text("directory"), call.text("sort")
    broker = (await registered_broker(client, call.text("broker"))).id
    directories = await _directories(client, broker)
    replicas = [each for directory in directories for each in directory.replicas]
    shown = [each for each in matching(replicas, search, lambda each: each.topic) if not wanted or each.directory == wanted]
    return BrokerDisks(
        broker,
        [Disk(each.broker, each.path, each.total_bytes, each.usable_bytes, each.error, each.is_cordoned) for each in directories],
        {each.path: sum(not one.is_future for one in each.replicas) for each in directories},
        {each.path: sum(one.size_bytes for one in each.replicas) for each in directories},
        moves_under_way(replicas),
        search,
        wanted,
        sort,
        page_of(_sorted(shown, sort), call.number("page"), call.number("size")),
    )


def _sorted(replicas: list[ReplicaSize], sort: str) -> list[ReplicaSize]:
    by_name = sorted(replicas, key=lambda each: (each.topic, each.partition))
    match sort.removeprefix("-"):
        case "size":
            return ordered(by_name, lambda each: each.size_bytes, descending=sort.startswith("-"))
        case "directory":
            return ordered(by_name, lambda each: each.directory, descending=sort.startswith("-"))
    return ordered(by_name, lambda each: each.topic, descending=sort.startswith("-"))


async def preview_moves(call: Call) -> DiskMovePreview:
    client, target = call.cluster, call.text("to")
    broker = (await registered_broker(client, call.text("broker"))).id
    directories = await _directories(client, broker)
    disk = next((each for each in directories if each.path == target), None)
    if disk is None:
        raise BadValue(f"Broker {broker} has no directory {target}.", "to")
    plan = plan_moves([one for each in directories for one in each.replicas], _wanted(call), target)
    warning = None
    if disk.error is not None:
        warning = f"{target} has failed: {disk.error}."
    elif disk.is_cordoned:
        warning = f"{target} is cordoned and gets no new replicas."
    elif 0 <= disk.usable_bytes < plan.bytes_to_copy:
        warning = f"{target} has less room than the replicas need."
    return DiskMovePreview(broker, target, plan.moves, plan.bytes_to_copy, disk.usable_bytes, plan.unmoved, warning)


async def start_moves(call: Call) -> Changed:
    client, target = call.cluster, call.text("to")
    broker = (await registered_broker(client, call.text("broker"))).id
    count = await move_replicas(client, broker, [(topic, partition, target) for topic, partition in _wanted(call)])
    client.forget()
    return Changed(f"{plural(count, 'replica')} of broker {broker} move to {target}.", call.url("brokers", broker, "disks"))


async def cancel_moves(call: Call) -> Changed:
    """A replica that moves back to its own directory stays there."""
    client = call.cluster
    broker = (await registered_broker(client, call.text("broker"))).id
    under_way = moves_under_way(one for each in await _directories(client, broker) for one in each.replicas)
    wanted = set(read_replicas(call.texts("replicas")))
    cancelled = [each for each in under_way if not wanted or (each.topic, each.partition) in wanted]
    if not cancelled:
        raise BadValue("None of these replicas is moving.", "replicas")
    count = await move_replicas(client, broker, [(each.topic, each.partition, each.source) for each in cancelled])
    client.forget()
    return Changed(f"{plural(count, 'move')} of broker {broker} cancelled.", call.url("brokers", broker, "disks"))


async def _directories(client: ClusterClient, broker: int) -> list[LogDirectory]:
    directories, failed = await log_directories(client, [broker], None)
    if broker in failed:
        raise ClusterRefused(failed[broker])
    return sorted(directories, key=lambda each: each.path)


def _wanted(call: Call) -> list[tuple[str, int]]:
    wanted = read_replicas(call.texts("replicas"))
    if not wanted:
        raise BadValue("Choose the replicas to move.", "replicas")
    if len(wanted) > REPLICAS_MAX:
        raise BadValue(f"At most {REPLICAS_MAX} replicas move at once here.", "replicas")
    return wanted


_REPLICAS: Final = Parameter("replicas", "Replicas of the broker, as TOPIC/PARTITION.", list)
_TO: Final = Parameter("to", "The directory that they move to.", required=True, maximum=4_096)
_PATH: Final = "/clusters/{cluster}/brokers/{broker}/disks"

OPERATIONS: Final = (
    view(
        "show_broker_disks",
        _PATH,
        show_disks,
        summary="Directories of a broker, their replicas, and moves between them with progress.",
        page="brokers/broker_disks.html",
        parameters=(
            SEARCH,
            Parameter("directory", "Only replicas in this directory.", default="", maximum=4_096),
            Parameter("sort", "The order; descending with a minus.", default="-size", choices=_ORDERS),
            PAGE,
            SIZE,
        ),
    ),
    view(
        "preview_disk_moves",
        f"{_PATH}/plan",
        preview_moves,
        summary="What a move of replicas to another directory would copy, without moving them.",
        page="brokers/disk_plan.html",
        parameters=(_REPLICAS, _TO),
    ),
    change(
        "start_disk_moves",
        f"{_PATH}/moves",
        start_moves,
        summary="Move replicas of a broker to another of its directories.",
        parameters=(_REPLICAS, _TO),
    ),
    change(
        "cancel_disk_moves",
        f"{_PATH}/moves/cancel",
        cancel_moves,
        summary="Cancel moves between directories of a broker; all if no replica is named.",
        parameters=(_REPLICAS,),
    ),
)
