"""``barnabas server --processes``: from the settings of one file to a supervisor."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

import typer

from barnabas.cli.errors import Refused
from barnabas.config.keys import ConfigError
from barnabas.config.settings import BrokerSettings
from barnabas.env.clock import SystemClock
from barnabas.env.entropy import SystemEntropy
from barnabas.env.real_disk import RealDisk
from barnabas.model.cannot_start import CannotStart
from barnabas.supervisor.directories import format_new_processes, refuse_data_of_others
from barnabas.supervisor.process_count import process_count, usable_cores
from barnabas.supervisor.process_settings import derive
from barnabas.supervisor.supervisor import AllServe, ServedProcess, Supervisor
from barnabas.telemetry.logs import EventLog, LogFormat


def run_processes(
    given: str, settings: BrokerSettings, with_derived: Callable[[dict[str, str]], BrokerSettings], arguments: Sequence[str], log: EventLog
) -> int:
    """Returns the exit code. ``with_derived`` parses the settings again, with further overrides;
    ``arguments`` are those of a process with the settings of the file. Raises ``CannotStart``."""
    try:
        count = process_count(given, cores=usable_cores())
        derived = derive(settings, count, machine=socket.gethostname())
    except ConfigError as error:
        raise CannotStart(str(error)) from error
    except ValueError as error:
        raise Refused(str(error)) from error
    log_format = LogFormat.JSON if log.is_json else LogFormat.TEXT
    processes = [
        ServedProcess(
            with_derived(each.overrides),
            (
                *arguments,
                "--one-of-several",
                f"--log-format={log_format.value}",
                *(f"--override={name}={value}" for name, value in each.overrides.items()),
            ),
        )
        for each in derived
    ]
    nodes = [each.node_id for each in processes]
    refuse_data_of_others(RealDisk(), settings, nodes, given=f"--processes {count}")
    supervisor = Supervisor(processes, settings, log, announce_all)
    # After the ports are known to be free, so that a start that fails has changed nothing.
    new = format_new_processes(RealDisk(), [each.settings for each in processes], entropy=SystemEntropy(), now_ms=SystemClock().wall_ms())
    if new:
        log.info("directories of new processes formatted", nodes=new)
    log.info("supervisor starts", processes=count, nodes=nodes)
    return supervisor.run()


def announce_all(ready: AllServe) -> None:
    nodes, pids = ",".join(map(str, ready.pids)), ",".join(map(str, ready.pids.values()))
    prometheus = f" prometheus={ready.prometheus_port}" if ready.prometheus_port is not None else ""
    health = f" health={ready.health_port}" if ready.health_port is not None else ""
    typer.echo(f"ready bootstrap={ready.bootstrap} cluster={ready.cluster_id} nodes={nodes} pids={pids}{prometheus}{health}")
