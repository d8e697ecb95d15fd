"""A node in a thread of this process, with an event loop of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Node
from barnabas.node.process import parse_settings, run_loop
from barnabas.telemetry.logs import EventLog
from barnabas.testing.faults.fault_count import FaultCount
from barnabas.testing.faults.fault_rule import FaultRule
from barnabas.testing.faults.node_faults import NodeFaults

START_SECONDS_MAX = 180.0
STOP_SECONDS_MAX = 60.0
# A change of faults takes microseconds, but the loop's thread may have to wait for a processor.
_CALL_SECONDS_MAX = 60.0


class NodeThread:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._faults = NodeFaults()
        self._started = threading.Event()
        self._may_go_on = threading.Event()
        self._may_go_on.set()
        self._failure: BaseException | None = None
        self._bootstrap = ""
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._run, name=f"barnabas-{properties['node.id']}", daemon=True)

    pid = property(lambda _: os.getpid())

    def start(self) -> None:
        self._thread.start()

    def await_ready(self) -> str:
        """The bootstrap address. Raises the error of a node that could not start."""
        if not self._started.wait(START_SECONDS_MAX):
            raise CannotStart(f"the broker did not start within {START_SECONDS_MAX:g} seconds.")
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self._bootstrap

    def ask_to_stop(self) -> None:
        self.resume()
        # Its loop is closed already, or was never there.
        with suppress(RuntimeError, AttributeError):
            self._loop.call_soon_threadsafe(self._stop.set)

    def await_end(self) -> None:
        """Raises the error that ended the node, if there was one."""
        self._thread.join(STOP_SECONDS_MAX)
        if self._failure is not None:
            raise self._failure

    def kill(self) -> None:
        raise TypeError("only a broker with process=True can be killed; stop() and start() work with every broker")

    def complaints(self) -> str:
        """Empty: the node writes to this process's stderr."""
        return ""

    # -- faults

    def pause(self) -> None:
        """The loop's thread waits, so the node neither reads nor sends nor notices time. The kernel
        goes on to accept connections for it, as it does for a process after SIGSTOP.

        This returns once the thread waits: until then the node could still answer a request."""
        if self._may_go_on.is_set():
            waits = threading.Event()

            def wait() -> None:
                waits.set()
                self._may_go_on.wait()

            self._may_go_on.clear()
            self._loop.call_soon_threadsafe(wait)
            if not waits.wait(_CALL_SECONDS_MAX):
                raise TimeoutError(f"the broker did not pause within {_CALL_SECONDS_MAX:g} seconds.")

    def resume(self) -> None:
        """Returns once the faults that were set during the pause hold: the loop reads its sockets
        before it takes them."""
        if not self._may_go_on.is_set():
            self._may_go_on.set()
            self._call(lambda: None)

    def set_fault(self, rule: FaultRule, count: FaultCount) -> None:
        self._call(lambda: self._faults.set(rule, count))

    def undo_fault(self, fault_id: int) -> None:
        self._call(lambda: self._faults.undo(fault_id))

    def used(self, fault_id: int) -> int:
        """The count is shared by all brokers in threads, so this node adds nothing of its own."""
        return 0

    def cut(self) -> None:
        self._call(self._faults.cut)

    def reconnect(self) -> None:
        self._call(self._faults.reconnect)

    def _call(self, change: Callable[[], None]) -> None:
        """Run ``change`` on the node's loop and wait for it. A paused node runs it when it goes
        on."""
        done = threading.Event()
        error: list[BaseException] = []

        def run() -> None:
            try:
                change()
            except BaseException as failure:  # noqa: BLE001 - handed to the thread that waits
                error.append(failure)
            finally:
                done.set()

        with suppress(RuntimeError):  # the node halted, and its loop is closed
            self._loop.call_soon_threadsafe(run)
            if self._may_go_on.is_set() and not done.wait(_CALL_SECONDS_MAX):
                raise TimeoutError(f"the broker did not take the fault within {_CALL_SECONDS_MAX:g} seconds.")
        if error:
            raise error[0]

    # -- the thread

    def _run(self) -> None:
        try:
            run_loop(self._main())
        except BaseException as failure:  # noqa: BLE001 - handed to the thread that waits
            self._failure = failure
        finally:
            self._started.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        node = Node(parse_settings(self._properties), log=EventLog("ERROR"), listen=self._faults.listen, dial=self._faults.dial)
        self._bootstrap = (await node.start()).bootstrap
        self._started.set()
        ends = [asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(node.failed.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for each in ends:
            each.cancel()
        await node.stop()
        if node.failure is not None:
            raise node.failure
