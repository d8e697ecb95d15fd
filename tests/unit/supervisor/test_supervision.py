"""When processes start, start again and stop."""

from __future__ import annotations

import signal

from barnabas.supervisor.node_events import NodeEnded, NodeReady
from barnabas.supervisor.restarts import BACKOFF_MS_MAX, BACKOFF_MS_MIN, STABLE_MS, backoff_ms
from barnabas.supervisor.supervision import (
    STARTS_MAX,
    STOP_MS_MAX,
    AllReady,
    BeginStop,
    Crashed,
    Effect,
    End,
    Kill,
    Start,
    State,
    Stop,
    StopAsked,
    Supervision,
    TimePassed,
)

KILLED = -9


def ready(node_id: int) -> NodeReady:
    return NodeReady(node_id, "cluster", f"box:{node_id}")


def ended(node_id: int, code: int = 0, error: str | None = None) -> NodeEnded:
    return NodeEnded(node_id, code, error)


def serving(*nodes: int) -> Supervision:
    supervision = Supervision(nodes, 0)
    assert supervision.step(TimePassed(), 0) == [Start(each) for each in nodes]
    *earlier, last = nodes
    for each in earlier:
        assert supervision.step(ready(each), 0) == []
    assert supervision.step(ready(last), 0) == [AllReady()]
    return supervision


def test_all_processes_start_at_once_and_are_announced_when_each_is_ready() -> None:
    supervision = serving(1, 2, 3)
    assert supervision.wake_ms is None
    assert all(supervision.serves(each) for each in (1, 2, 3))


def test_a_process_that_crashes_starts_again_after_a_pause() -> None:
    supervision = serving(1, 2)
    assert supervision.step(ended(2, KILLED), 1000) == [Crashed(ended(2, KILLED), 1, BACKOFF_MS_MIN)]
    assert supervision.state(2) is State.WAITING
    assert supervision.wake_ms == 1000 + BACKOFF_MS_MIN
    assert supervision.step(TimePassed(), 999 + BACKOFF_MS_MIN) == []
    assert supervision.step(TimePassed(), 1000 + BACKOFF_MS_MIN) == [Start(2)]
    assert supervision.step(ready(2), 2000) == []
    assert (supervision.serves(2), supervision.restarts(2), supervision.restarts(1)) == (True, 1, 0)


def test_a_process_that_crashes_again_and_again_waits_longer_each_time_and_never_gives_up() -> None:
    supervision = serving(1)
    now_ms, pauses = 0, []
    for _ in range(12):
        (crashed,) = supervision.step(ended(1, 1, "the disk is full."), now_ms)
        assert isinstance(crashed, Crashed)
        pauses.append(crashed.pause_ms)
        now_ms += crashed.pause_ms
        assert supervision.step(TimePassed(), now_ms) == [Start(1)]
    assert pauses == [backoff_ms(crashes) for crashes in range(1, 13)]
    assert pauses[-1] == BACKOFF_MS_MAX


def test_a_process_that_served_for_long_is_restarted_at_once_again() -> None:
    supervision = serving(1)
    supervision.step(ended(1, KILLED), 0)
    supervision.step(TimePassed(), BACKOFF_MS_MIN)
    supervision.step(ready(1), BACKOFF_MS_MIN)
    (crashed,) = supervision.step(ended(1, KILLED), BACKOFF_MS_MIN + STABLE_MS)
    assert isinstance(crashed, Crashed)
    assert crashed.pause_ms == BACKOFF_MS_MIN


def test_a_process_that_refuses_its_first_start_ends_the_whole_with_its_sentence() -> None:
    supervision = Supervision([1, 2, 3], 0)
    supervision.step(TimePassed(), 0)
    supervision.step(ready(1), 1)
    assert supervision.step(ended(3, 1, "log.dirs is wrong."), 2) == [BeginStop(), Stop(2)]
    assert supervision.step(ended(2), 3) == [Stop(1)]
    assert supervision.step(ended(1), 4) == [End(1, "Node 3 cannot start: log.dirs is wrong.")]


def test_a_process_that_is_killed_during_its_first_start_is_tried_some_more_times() -> None:
    supervision = Supervision([1], 0)
    now_ms, effects = 0, list[Effect]()
    for _ in range(STARTS_MAX):
        assert supervision.step(TimePassed(), now_ms) == [Start(1)]
        effects = supervision.step(ended(1, KILLED), now_ms)
        now_ms += BACKOFF_MS_MAX
    assert effects == [BeginStop(), End(1, "Node 1 cannot start: killed by SIGKILL.")]


def test_processes_stop_one_after_the_other_and_the_first_stops_last() -> None:
    supervision = serving(1, 2, 3)
    assert supervision.step(StopAsked(), 10) == [BeginStop(), Stop(3)]
    assert supervision.is_ending
    assert supervision.step(ended(3), 11) == [Stop(2)]
    assert supervision.step(ended(2), 12) == [Stop(1)]
    assert supervision.step(ended(1), 13) == [End(0, None)]


def test_a_second_request_to_stop_changes_nothing() -> None:
    supervision = serving(1, 2)
    supervision.step(StopAsked(), 10)
    assert supervision.step(StopAsked(), 11) == []


def test_a_process_that_waits_for_its_restart_does_not_start_during_a_stop() -> None:
    supervision = serving(1, 2, 3)
    supervision.step(ended(3, KILLED), 5)
    assert supervision.step(StopAsked(), 10) == [BeginStop(), Stop(2)]
    assert supervision.step(TimePassed(), 10 + BACKOFF_MS_MAX) == []


def test_a_stop_before_any_process_started_ends_at_once() -> None:
    assert Supervision([1, 2], 0).step(StopAsked(), 0) == [BeginStop(), End(0, None)]


def test_a_stop_during_the_start_of_a_process_is_clean() -> None:
    supervision = serving(1, 2)
    supervision.step(ended(2, KILLED), 0)
    assert supervision.step(TimePassed(), BACKOFF_MS_MIN) == [Start(2)]
    assert supervision.step(StopAsked(), 1000) == [BeginStop(), Stop(2)]
    # It had no handler of signals yet.
    assert supervision.step(ended(2, -signal.SIGTERM), 1001) == [Stop(1)]
    assert supervision.step(ended(1), 1002) == [End(0, None)]


def test_a_process_that_gets_ready_during_a_stop_is_not_announced() -> None:
    supervision = Supervision([1], 0)
    supervision.step(TimePassed(), 0)
    assert supervision.step(StopAsked(), 1) == [BeginStop(), Stop(1)]
    assert supervision.step(ready(1), 2) == []


def test_a_process_that_does_not_stop_in_time_is_killed_and_the_exit_code_tells() -> None:
    supervision = serving(1, 2)
    supervision.step(StopAsked(), 10)
    assert supervision.wake_ms == 10 + STOP_MS_MAX
    assert supervision.step(TimePassed(), 10 + STOP_MS_MAX) == [Kill(2)]
    assert supervision.step(ended(2, KILLED), 11 + STOP_MS_MAX) == [Stop(1)]
    assert supervision.step(ended(1), 12 + STOP_MS_MAX) == [End(1, "Node 2 did not stop cleanly: killed by SIGKILL.")]


def test_a_process_that_crashes_during_a_stop_is_not_started_again() -> None:
    supervision = serving(1, 2, 3)
    supervision.step(StopAsked(), 10)
    assert supervision.step(ended(1, KILLED), 11) == []
    assert supervision.step(ended(3), 12) == [Stop(2)]
    assert supervision.step(ended(2), 13) == [End(1, "Node 1 did not stop cleanly: killed by SIGKILL.")]
