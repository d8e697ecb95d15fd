"""Finds out that the process of a broker is gone before its session ends.

A broker that dies sends nothing; only the end of its session tells, after
``broker.session.timeout.ms``. Its kernel tells sooner: it closes the connection of the heartbeats,
and refuses new ones. The closed connection alone proves nothing, for firewalls and balancers close
connections too. So the controller dials every listener of the broker, and fences it if its machine
refuses all of them. A machine without power, a cut network, a stopped process and a full queue of
connections do not refuse; such a broker keeps its session.

A new controller has no connections yet. It dials the brokers that send no heartbeat for a moment,
twice: the broker may have died together with the previous controller. It goes on with that until it
has heard every broker or fenced it, since a broker may also die before its first heartbeat.

A refusal that misleads, from a balancer for example, costs little: the broker's next heartbeat
unfences it. Nothing is lost, since a broker that is fenced cannot acknowledge records on its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from barnabas.controller.driver import ControllerDriver
from barnabas.metadata.cluster import BrokerImage
from barnabas.model.promise import Promise, all_of
from barnabas.network.connection import Connection
from barnabas.network.peer_ports import PeersPort
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest

# How long a new controller waits for heartbeats before it dials a silent broker, and before it
# dials again. Brokers that look for the controller send one every 100 ms.
SILENCE_SECONDS = 0.1
# The pause until it dials the brokers again that it has still not heard. A broker whose heartbeat
# was answered just before sends the next one after ``broker.heartbeat.interval.ms``.
DIAL_AGAIN_SECONDS = 0.5
# A process that ends closes its sockets one after the other, so the first dial may find a listener
# that is about to close.
DIAL_PAUSES_SECONDS = (0.02, 0.1, 0.5)
FENCED_GONE = "broker fenced because its process is gone"


class _Heard(NamedTuple):
    epoch: int
    connection: Connection


class AbsentBrokers:
    def __init__(self, controller: ControllerDriver, peers: PeersPort, log: EventLog, *, node_id: int) -> None:
        self._controller = controller
        self._peers = peers
        self._log = log
        self._node_id = node_id
        # The last heartbeat of each broker since this node is the active controller.
        self._heard: dict[int, _Heard] = {}
        # Brokers that were silent and whose machines refused once, with their epochs.
        self._suspects: set[tuple[int, int]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """This node is the active controller now."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(SILENCE_SECONDS, self._suspect_silent)

    def stop(self) -> None:
        self._heard.clear()
        self._suspects.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def heard(self, heartbeat: BrokerHeartbeatRequest, connection: Connection) -> None:
        broker_id, before = heartbeat.broker_id, self._heard.get(heartbeat.broker_id)
        if broker_id not in self._controller.brokers:
            return
        self._heard[broker_id] = _Heard(heartbeat.broker_epoch, connection)
        if before is None or before.connection is not connection:
            connection.if_lost(lambda: self._disconnected(broker_id, connection))

    def _disconnected(self, broker_id: int, connection: Connection) -> None:
        heard, broker = self._heard.get(broker_id), self._controller.brokers.get(broker_id)
        if broker is None or heard is None or heard.connection is not connection:
            return
        self._dial_disconnected(broker, heard, DIAL_PAUSES_SECONDS)

    def _dial_disconnected(self, broker: BrokerImage, heard: _Heard, pauses: Sequence[float]) -> None:
        broker_id = broker.broker_id
        if broker.fenced or broker.epoch != heard.epoch or self._heard.get(broker_id) != heard:
            return

        def dialled(gone: bool) -> None:
            if gone and self._heard.get(broker_id) == heard:
                self._fence(broker)
            elif not gone and pauses:
                asyncio.get_running_loop().call_later(pauses[0], self._dial_disconnected, broker, heard, pauses[1:])

        self._dial(broker).then(dialled)

    # -- brokers that were silent from the start ---------------------------------------------------

    def _silent(self) -> list[BrokerImage]:
        brokers = self._controller.brokers.values()
        return [each for each in brokers if not each.fenced and each.broker_id not in self._heard and each.broker_id != self._node_id]

    def _suspect_silent(self) -> None:
        self._timer = None
        silent = self._silent()
        if not silent:
            return
        for broker in silent:
            self._dial(broker).then(partial(self._suspect, broker))
        self._timer = asyncio.get_running_loop().call_later(SILENCE_SECONDS, self._dial_suspects)

    def _suspect(self, broker: BrokerImage, gone: bool) -> None:
        if gone:
            self._suspects.add((broker.broker_id, broker.epoch))

    def _dial_suspects(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(DIAL_AGAIN_SECONDS, self._suspect_silent)
        for broker in self._silent():
            if (broker.broker_id, broker.epoch) in self._suspects:
                self._dial(broker).then(partial(self._fence_silent, broker))

    def _fence_silent(self, broker: BrokerImage, gone: bool) -> None:
        if gone and broker in self._silent():
            self._fence(broker)

    # -- both --------------------------------------------------------------------------------------

    def _dial(self, broker: BrokerImage) -> Promise[bool]:
        """Whether the broker's machine refuses connections to all its listeners."""
        if not broker.endpoints:
            return Promise.kept(False)
        return all_of([self._peers.refuses(each.host, each.port) for each in broker.endpoints]).map(all)

    def _fence(self, broker: BrokerImage) -> None:
        if self._controller.broker_gone(broker.broker_id, broker.epoch):
            self._log.info(FENCED_GONE, broker=broker.broker_id, broker_epoch=broker.epoch)
