"""The settings of each process, derived from the settings of one ``server.properties``.

The first process has the settings of the file. A process with the number ``k``, counted from 1,
differs from it in these settings, and in no others:

========================  ======================================================================
``node.id, broker.id``    the node id of the file, plus ``k - 1``
``process.roles``         ``broker``; only the first process has the role of a controller
``listeners``             those for clients, with every port raised by the *offset* of the process
``advertised.listeners``  likewise, with the same offset, so that a port that a firewall or a
                          router maps for the first process is mapped alike for the others
``log.dirs``              ``DIR/processes/node-ID`` in each directory ``DIR`` of the file
``metadata.log.dir``      likewise
``cordoned.log.dirs``     likewise, for the directories that it names
========================  ======================================================================

Every process gets all of these as overrides, the first one too, and also those that the file does
not set. So a process that is restarted keeps its place, even if the file has been edited meanwhile;
otherwise one process would move and the others would not know.

Two more settings differ in all processes: ``broker.rack`` is the name of the machine unless the
file sets it, and the pages of metrics and health are on ports of the loopback address, where the
supervisor reads them.

The offset of a process is the smallest one above that of the process before it with which no port
is used twice. The ports 9092 for clients and 9093 for the controller become 9092, 9094, 9095 and
so on. The offset of a process does not depend on the number of processes.

The directories of further processes are inside those of the file: a log directory is often the
mount point of a disk, and a directory beside it would be on another disk. ``processes`` is no name
of a partition's directory, so the first process does not read it as one; Apache Kafka refuses to
start on such a directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from barnabas.config.addresses import PORT_MAX, host_and_port, voter
from barnabas.config.keys import ConfigError
from barnabas.config.listeners import Listener, advertised_controller_listeners, advertised_listeners, controller_listeners, listeners
from barnabas.config.settings import BrokerSettings
from barnabas.model.dataclass import dataclass

PROMETHEUS: Final = "barnabas.prometheus.listener"
HEALTH: Final = "barnabas.health.listener"
# The directory of the further processes, in each log directory of the first.
PROCESSES_DIRECTORY: Final = "processes"


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """The settings that one process does not take from the file."""

    node_id: int
    overrides: dict[str, str]


def derive(settings: BrokerSettings, count: int, *, machine: str) -> list[ProcessSettings]:
    """The processes of one machine, the first one first. Raises ``ConfigError``."""
    _refuse_unfit(settings, count)
    shared = {"broker.rack": machine} if settings.text_or_none("broker.rack") is None else {}
    first = settings.integer("node.id")
    offsets = port_offsets(settings, count)
    return [
        ProcessSettings(first + index, shared | (_of_further_process(settings, first + index, offset) if index else _of_first(settings)))
        for index, offset in enumerate(offsets)
    ]


def process_directory(directory: str, node_id: int) -> str:
    return f"{directory.rstrip('/')}/{PROCESSES_DIRECTORY}/node-{node_id}"


def port_offsets(settings: BrokerSettings, count: int) -> list[int]:
    """How far the ports of each process are above those of the file. Raises ``ConfigError`` when
    the ports end before the processes do."""
    for_clients = _for_clients(settings)
    bound = [each.port for each in for_clients if each.port]
    advertised = [(each.host, each.port) for each in advertised_listeners(settings) if each.port]
    used = {each.port for each in listeners(settings)} | set(_ports_of_pages(settings))
    used_advertised = set(advertised)
    offsets = [0]
    while len(offsets) < count:
        offset = offsets[-1] + 1
        while any(port + offset in used for port in bound) or any((host, port + offset) in used_advertised for host, port in advertised):
            offset += 1
        highest = max([*bound, *(port for _, port in advertised)], default=0) + offset
        if highest > PORT_MAX:
            raise ConfigError(f"The ports of {count} processes do not fit: process {len(offsets) + 1} would need port {highest}.")
        used.update(port + offset for port in bound)
        used_advertised.update((host, port + offset) for host, port in advertised)
        offsets.append(offset)
    return offsets


def _refuse_unfit(settings: BrokerSettings, count: int) -> None:
    roles = settings.strings("process.roles")
    if "broker" not in roles:
        raise ConfigError("--processes is for brokers, but process.roles has only the role of a controller: one process is enough for it.")
    first = settings.integer("node.id")
    for parsed in map(voter, settings.strings("controller.quorum.voters")):
        if parsed is not None and first < parsed[0] < first + count:
            raise ConfigError(
                f"controller.quorum.voters has node {parsed[0]}, which would also be the id of a process here: {count} processes have"
                f" the ids {first} to {first + count - 1}, so give the machines ids that are {count} or more apart."
            )
    for listener in controller_listeners(settings):
        if count > 1 and not listener.port:
            raise ConfigError(f"listeners lets the system choose the port of {listener.name}, but the other processes must know it.")


def _of_first(settings: BrokerSettings) -> dict[str, str]:
    advertised = [*advertised_listeners(settings), *_advertised_for_controllers(settings)]
    return _place(
        settings.integer("node.id"),
        roles=settings.strings("process.roles"),
        own_listeners=",".join(map(str, listeners(settings))),
        advertised=",".join(map(str, advertised)),
        log_directories=_log_directories(settings),
        metadata_directory=_metadata_directory(settings),
        cordoned=settings.strings("cordoned.log.dirs"),
    )


def _of_further_process(settings: BrokerSettings, node_id: int, offset: int) -> dict[str, str]:
    def own(paths: Sequence[str]) -> list[str]:
        return [process_directory(path, node_id) for path in paths]

    cordoned = settings.strings("cordoned.log.dirs")
    return _place(
        node_id,
        roles=["broker"],
        own_listeners=_raised(_for_clients(settings), offset),
        advertised=_raised(advertised_listeners(settings), offset),
        log_directories=own(_log_directories(settings)),
        metadata_directory=own([_metadata_directory(settings)])[0],
        cordoned=cordoned if "*" in cordoned else own(cordoned),
    )


def _place(
    node_id: int,
    *,
    roles: Sequence[str],
    own_listeners: str,
    advertised: str,
    log_directories: Sequence[str],
    metadata_directory: str,
    cordoned: Sequence[str],
) -> dict[str, str]:
    return {
        "process.roles": ",".join(roles),
        "node.id": str(node_id),
        "broker.id": str(node_id),
        "listeners": own_listeners,
        "advertised.listeners": advertised,
        "log.dirs": ",".join(log_directories),
        "metadata.log.dir": metadata_directory,
        "cordoned.log.dirs": ",".join(cordoned),
    }


def _log_directories(settings: BrokerSettings) -> Sequence[str]:
    return settings.strings("log.dirs") or settings.strings("log.dir")


def _metadata_directory(settings: BrokerSettings) -> str:
    return settings.text_or_none("metadata.log.dir") or _log_directories(settings)[0]


def _advertised_for_controllers(settings: BrokerSettings) -> Sequence[Listener]:
    """Those that the file names; the others are advertised as they listen."""
    return [] if settings["advertised.listeners"] is None else advertised_controller_listeners(settings)


def _for_clients(settings: BrokerSettings) -> list[Listener]:
    controllers = {listener.name for listener in controller_listeners(settings)}
    return [listener for listener in listeners(settings) if listener.name not in controllers]


def _raised(given: Sequence[Listener], offset: int) -> str:
    """Port 0 stays: the system chooses a port for each process."""
    return ",".join(str(Listener(each.name, each.protocol, each.host, each.port + offset if each.port else 0)) for each in given)


def _ports_of_pages(settings: BrokerSettings) -> Iterator[int]:
    for name in (PROMETHEUS, HEALTH):
        parsed = host_and_port(settings.text(name))
        if parsed is not None:
            yield parsed[1]
