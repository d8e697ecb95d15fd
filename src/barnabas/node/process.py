"""A node as a process: it runs until a signal or a fatal error."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from barnabas.config.keys import ConfigError
from barnabas.config.parse import parse_broker_config
from barnabas.config.providers import resolve
from barnabas.config.settings import BrokerSettings
from barnabas.env.config_sources import SystemSources
from barnabas.env.disk import disk_sentence
from barnabas.env.entropy import SystemEntropy, random_uuid
from barnabas.env.real_disk import RealDisk
from barnabas.logcare.directories.node_directories import log_directory_paths
from barnabas.model.cannot_start import CannotStart
from barnabas.model.ids import NodeId, Uuid, uuid_text
from barnabas.node.format import FormatRefused, format_directories
from barnabas.node.node import Node, Ready
from barnabas.node.service_notification import READY, STOPPING, notify
from barnabas.security.sasl.add_scram import ScramUserToAdd
from barnabas.storage.meta_properties import MetaPropertiesDamaged, read_meta_properties
from barnabas.telemetry.logs import EventLog

T = TypeVar("T")
# A controlled shutdown takes milliseconds. After this time the process stops waiting for it.
STOP_SECONDS_MAX = 30.0
STDIN = 0


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Uses uvloop if it is installed: it serves twice as many small requests as asyncio."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def parse_settings(properties: dict[str, str]) -> BrokerSettings:
    """The settings of a node, with the values that ``config.providers`` fetch."""
    try:
        return parse_broker_config(resolve(properties, SystemSources()))
    except ConfigError as wrong:
        raise CannotStart(str(wrong)) from wrong


def ensure_formatted(settings: BrokerSettings, *, cluster_id: str | None = None, users: Sequence[ScramUserToAdd] = ()) -> str:
    """For development: a new data directory becomes a new cluster, others keep their identity.

    With ``cluster_id`` a new directory joins that cluster, and a directory of another cluster is
    refused. ``users`` are the first ones of a new cluster. Returns the cluster's id.
    """
    disk, entropy = RealDisk(), SystemEntropy()
    paths = log_directory_paths(settings)
    try:
        known = next((meta for path in paths if disk.exists(path) and (meta := read_meta_properties(disk, path))), None)
        chosen = cluster_id or (known.cluster_id if known is not None else uuid_text(Uuid(random_uuid(entropy))))
        format_directories(
            disk,
            paths,
            cluster_id=chosen,
            node_id=NodeId(settings.integer("node.id")),
            entropy=entropy,
            now_ms=0,
            ignore_formatted=True,
            users=users,
        )
    except (FormatRefused, MetaPropertiesDamaged) as refused:
        raise CannotStart(str(refused)) from refused
    except OSError as error:
        raise CannotStart(disk_sentence(f"cannot format {', '.join(paths)}", error)) from error
    return chosen


async def run_until_stopped(
    settings: BrokerSettings,
    log: EventLog,
    on_ready: Callable[[Ready], None],
    *,
    before_ready: Callable[[Ready], Awaitable[None]] | None = None,
    watch_stdin: bool = False,
    hurry: bool = True,
) -> int:
    """Returns the exit code. SIGTERM and SIGINT stop cleanly; a second one exits at once, unless
    ``hurry`` is False.

    ``before_ready`` prepares the started node before ``on_ready`` announces it. If it raises, the
    node stops.

    With ``watch_stdin`` the end of the standard input stops cleanly as well: the parent holds the
    other end, and has then died.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def asked_to_stop() -> None:
        if stop.is_set() and hurry:
            os._exit(1)
        stop.set()

    def stdin_readable() -> None:
        if not os.read(STDIN, 1):
            loop.remove_reader(STDIN)
            stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop)
    if watch_stdin:
        loop.add_reader(STDIN, stdin_readable)
    node = Node(settings, log=log)
    stopped = asyncio.ensure_future(stop.wait())
    starting = asyncio.ensure_future(node.start())
    # A start may wait long for the other nodes of the cluster, and a signal must end this wait.
    await asyncio.wait([stopped, starting], return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait([starting])
        return 0
    ready = starting.result()
    if before_ready is not None:
        try:
            await before_ready(ready)
        except CannotStart:
            await asyncio.wait_for(node.stop(), STOP_SECONDS_MAX)
            raise
    on_ready(ready)
    notify(READY)
    failed = asyncio.ensure_future(node.failed.wait())
    await asyncio.wait([stopped, failed], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    failed.cancel()
    notify(STOPPING)
    await asyncio.wait_for(node.stop(), STOP_SECONDS_MAX)
    return 0 if node.failure is None else 1
