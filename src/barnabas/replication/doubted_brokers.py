"""Brokers whose connection to this one closed a moment ago.

When a leader dies, its clients and its followers notice in the same millisecond, and the clients
ask another broker for the new leader. The controller needs a few milliseconds more. An answer in
that time would name the dead leader, and the client would not ask again for a second or longer. So
a broker answers questions about a doubted leader when the controller has decided, or when the doubt
has lasted long enough. A connection may also close for another reason, so this broker dials the
other one too, and the doubt ends if it is reached.
"""

from __future__ import annotations

import asyncio

from barnabas.config.listeners import inter_broker_listener_name
from barnabas.config.settings import BrokerSettings
from barnabas.metadata.applier import MetadataView
from barnabas.metadata.cluster import Endpoint
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.promise import Promise
from barnabas.network.peer_ports import PeersPort

# The controller dials the broker, and a majority of the voters writes its decision to disk. If the
# controller is gone as well, another one is elected first. All of it takes 0.3 s on a machine with
# four busy processes, and more where Spark starts its tasks. An answer that comes too soon costs
# Java's admin client ten seconds or more: it keeps dialling the dead leader that the answer named.
DOUBT_SECONDS = 3.0
# A process that ends closes its sockets one after the other, so the first dial may find a listener
# that is about to close.
DIAL_PAUSE_SECONDS = 0.05
DIALS = 2
# Requests that wait for the end of a doubt; further ones are answered at once.
WAITING_MAX = 1000


class DoubtedBrokers:
    """A publisher of metadata: the last one, because request handlers see the new image right after
    it."""

    def __init__(self, metadata: MetadataView, peers: PeersPort, settings: BrokerSettings) -> None:
        self._metadata = metadata
        self._peers = peers
        self._listener = inter_broker_listener_name(settings)
        self._doubts: dict[int, asyncio.TimerHandle] = {}
        self._waiting: list[Promise[None]] = []

    def __bool__(self) -> bool:
        return bool(self._doubts)

    def __contains__(self, broker_id: int) -> bool:
        return broker_id in self._doubts

    def connection_lost(self, address: str) -> None:
        for broker in self._metadata.image.cluster.brokers.values():
            endpoint = broker.endpoint(self._listener)
            if endpoint is not None and not broker.fenced and f"{endpoint.host}:{endpoint.port}" == address:
                self._forget(broker.broker_id)
                timer = asyncio.get_running_loop().call_later(DOUBT_SECONDS, self._settle, broker.broker_id)
                self._doubts[broker.broker_id] = timer
                self._dial(broker.broker_id, endpoint, timer, DIALS)

    def _dial(self, broker_id: int, endpoint: Endpoint, doubt: asyncio.TimerHandle, dials: int) -> None:
        if self._doubts.get(broker_id) is doubt:
            self._peers.refuses(endpoint.host, endpoint.port).then(
                lambda refused: None if refused else self._reached(broker_id, endpoint, doubt, dials - 1)
            )

    def _reached(self, broker_id: int, endpoint: Endpoint, doubt: asyncio.TimerHandle, dials_left: int) -> None:
        if dials_left:
            asyncio.get_running_loop().call_later(DIAL_PAUSE_SECONDS, self._dial, broker_id, endpoint, doubt, dials_left)
        elif self._doubts.get(broker_id) is doubt:
            self._settle(broker_id)

    def settled(self) -> Promise[None]:
        """Resolves when no broker is doubted any more."""
        answer: Promise[None] = Promise()
        if self._doubts and len(self._waiting) < WAITING_MAX:
            self._waiting.append(answer)
        else:
            answer.resolve(None)
        return answer

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        brokers = image.cluster.brokers
        for broker_id in [each for each in self._doubts if each not in brokers or brokers[each].fenced]:
            asyncio.get_running_loop().call_soon(self._settle, broker_id)

    def stop(self) -> None:
        for broker_id in list(self._doubts):
            self._forget(broker_id)

    def _forget(self, broker_id: int) -> None:
        timer = self._doubts.pop(broker_id, None)
        if timer is not None:
            timer.cancel()

    def _settle(self, broker_id: int) -> None:
        self._forget(broker_id)
        if not self._doubts:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                each.resolve(None)
