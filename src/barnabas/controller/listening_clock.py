"""The time that a node spends listening: while the event loop is busy, or the process is paused,
this clock almost stands still.

The controller ends the session of a broker after ``broker.session.timeout.ms`` without a heartbeat.
That is fair only while the controller reads heartbeats. When its loop is busy for seconds (a
decision about ten thousand partitions on a machine without a free core), or the process is stopped
and continued, heartbeats wait in sockets and in the loop's queue, and timers run before they are
read. By the wall clock the session is then over, and the controller fences a healthy broker; in a
node with both roles it fences itself.

So sessions are measured on this clock. A timer runs every :data:`TURN_MS` and adds the time since
its last run, but never more than ``gap_ms_max``: a loop that was busy for ten seconds comes back to
sessions that are ``gap_ms_max`` older, and reads its sockets before the next turn. A dead broker is
fenced later by as much as the controller was away, and no controller can do better.
"""

from __future__ import annotations

import asyncio

from barnabas.env.clock import Clock

# How often the clock advances. A session is longer than this by an order of magnitude.
TURN_MS = 250
# A loop that is late by less than this is merely in use. The limit must leave a broker time for
# several heartbeats within a session.
GAP_MS_MAX = 1_000


class ListeningClock:
    def __init__(self, clock: Clock, *, gap_ms_max: int = GAP_MS_MAX) -> None:
        assert gap_ms_max > 0
        self._clock = clock
        self._gap_ms_max = gap_ms_max
        self._turned_ms = clock.monotonic_ms()  # when the timer last ran
        self._listened_ms = self._turned_ms  # the time of this clock at that moment
        self._timer: asyncio.TimerHandle | None = None

    def now_ms(self) -> int:
        """Never goes back, and never runs ahead of the clock from which it is derived."""
        return self._listened_ms + min(self._clock.monotonic_ms() - self._turned_ms, self._gap_ms_max)

    def start(self) -> None:
        """Start to listen. The time before the start counts as any other gap."""
        if self._timer is None:
            self._turn()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _turn(self) -> None:
        self._listened_ms, self._turned_ms = self.now_ms(), self._clock.monotonic_ms()
        self._timer = asyncio.get_running_loop().call_later(TURN_MS / 1000, self._turn)
