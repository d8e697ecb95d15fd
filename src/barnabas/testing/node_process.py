"""The other side of :mod:`node_child`: a node in a process of its own, controlled by its parent.

``python -m barnabas.testing.node_start`` reads JSON from its standard input, one value a line:
first the node's properties, then commands. It writes JSON in the same way: ``{"bootstrap": ...}``
or ``{"error": ...}`` after the start, then a reply to each command. The two pipes are the only way
in, so only the process that started the node can set a fault. The node stops when the input ends.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from typing import Any

from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Node
from barnabas.node.process import parse_settings, run_loop
from barnabas.telemetry.logs import EventLog
from barnabas.testing.faults.fault_count import FaultCount
from barnabas.testing.faults.fault_rule import FaultRule
from barnabas.testing.faults.node_faults import NodeFaults


def main() -> None:
    try:
        sys.exit(run_loop(_serve()))
    except CannotStart as error:
        _write({"error": str(error)})
        sys.exit(1)


async def _serve() -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    faults = NodeFaults()
    settings = parse_settings(json.loads(await commands.readline()))
    node = Node(settings, log=EventLog("ERROR"), listen=faults.listen, dial=faults.dial)
    starting, obeying = asyncio.ensure_future(node.start()), asyncio.ensure_future(_obey(commands, faults, stop))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait([starting, stopped], return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait([starting])
        return 0
    _write({"bootstrap": starting.result().bootstrap})
    failed = asyncio.ensure_future(node.failed.wait())
    await asyncio.wait([stopped, failed], return_when=asyncio.FIRST_COMPLETED)
    for each in (stopped, failed, obeying):
        each.cancel()
    await node.stop()
    return 0 if node.failure is None else 1


async def _obey(commands: asyncio.StreamReader, faults: NodeFaults, stop: asyncio.Event) -> None:
    counts: dict[int, FaultCount] = {}
    while line := await commands.readline():
        _write(_reply(json.loads(line), faults, counts))
    stop.set()


def _reply(command: dict[str, Any], faults: NodeFaults, counts: dict[int, FaultCount]) -> dict[str, Any]:
    match command:
        case {"do": "set", "rule": values}:
            rule = FaultRule.from_json(values)
            counts[rule.fault_id] = FaultCount(rule.times)
            faults.set(rule, counts[rule.fault_id])
        case {"do": "undo", "fault_id": fault_id}:
            faults.undo(fault_id)
        case {"do": "used", "fault_id": fault_id}:
            return {"used": counts[fault_id].used if fault_id in counts else 0}
        case {"do": "cut"}:
            faults.cut()
        case {"do": "reconnect"}:
            faults.reconnect()
        case _:
            raise AssertionError(f"unknown command {command}")
    return {}


def _write(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
