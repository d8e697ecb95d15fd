"""Producer ids for this broker's clients, taken from the controller in blocks of a thousand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from barnabas.controller.port import ControllerPort
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

NO_PRODUCER_ID = -1


class ProducerIdBlocks:
    def __init__(self, controller: ControllerPort, node_id: int, broker_epoch: Callable[[], int]) -> None:
        self._controller = controller
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._next = 0
        self._end = 0
        self._waiting: deque[Promise[int]] = deque()
        self._asking = False

    def next_producer_id(self) -> Promise[int]:
        if self._next < self._end:
            self._next += 1
            return Promise.kept(self._next - 1)
        promise: Promise[int] = Promise()
        self._waiting.append(promise)
        if not self._asking:
            self._ask()
        return promise

    def _ask(self) -> None:
        self._asking = True
        request = AllocateProducerIdsRequest(broker_id=self._node_id, broker_epoch=self._broker_epoch())
        self._controller.submit(request).then(self._received)

    def _received(self, response: AllocateProducerIdsResponse) -> None:
        self._asking = False
        waiting, self._waiting = self._waiting, deque()
        # An empty block counts as an error: asking for another one could go on for ever.
        if response.error_code != ErrorCode.NONE or response.producer_id_len <= 0:
            for promise in waiting:
                promise.resolve(NO_PRODUCER_ID)
            return
        self._next = response.producer_id_start
        self._end = response.producer_id_start + response.producer_id_len
        while waiting and self._next < self._end:
            self._next += 1
            waiting.popleft().resolve(self._next - 1)
        # More requests waited than one block serves. Requests that arrived in the meantime stand
        # behind them.
        self._waiting.extendleft(reversed(waiting))
        if self._waiting and not self._asking:
            self._ask()
