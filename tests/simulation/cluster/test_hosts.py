"""Time, machines and the network between them: the parts of a world, and their determinism."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.simulation.disk import PowerCut
from barnabas.simulation.host import Host
from barnabas.simulation.network import Address, Network, Weather
from barnabas.simulation.scheduler import Scheduler


def two_hosts(seed: int = 1) -> tuple[Scheduler, Network, Host, Host]:
    scheduler, chance = Scheduler(), Random(seed)
    a, b = Host("a", scheduler, chance), Host("b", scheduler, chance)
    return scheduler, Network(scheduler, chance), a, b


def nothing() -> None:
    pass


def test_callbacks_due_at_the_same_moment_run_in_the_order_of_scheduling() -> None:
    scheduler = Scheduler()
    done: list[str] = []
    scheduler.after_ms(5, done.append, "third")
    scheduler.after_ms(2, done.append, "first")
    scheduler.after_ms(2, done.append, "second")
    scheduler.after_ms(3, done.append, "never").cancel()
    scheduler.run_for_ms(10)
    assert done == ["first", "second", "third"]
    assert scheduler.elapsed_ms == 10


def test_tasks_and_timers_of_a_host_run_on_simulated_time() -> None:
    scheduler, _, a, _ = two_hosts()
    done: list[float] = []

    async def work() -> None:
        await asyncio.sleep(0.5)
        done.append(asyncio.get_running_loop().time())

    a.boot(lambda: asyncio.get_running_loop().create_task(work()))
    scheduler.run_for_ms(400)
    assert done == []
    scheduler.run_for_ms(200)
    assert done == [0.5]


def test_callbacks_of_a_dead_process_do_not_run() -> None:
    scheduler, _, a, _ = two_hosts()
    done: list[str] = []
    a.boot(lambda: asyncio.get_running_loop().call_later(1, done.append, "old"))
    a.kill()
    a.boot(lambda: asyncio.get_running_loop().call_later(1, done.append, "new"))
    scheduler.run_for_ms(2000)
    assert done == ["new"]


def test_a_paused_process_runs_everything_late() -> None:
    scheduler, _, a, _ = two_hosts()
    done: list[float] = []
    a.boot(lambda: asyncio.get_running_loop().call_later(1, lambda: done.append(asyncio.get_running_loop().time())))
    a.pause(3000)
    scheduler.run_for_ms(5000)
    assert done == [3.0]


def test_a_callback_of_a_paused_process_can_be_cancelled_until_it_runs() -> None:
    scheduler, _, a, _ = two_hosts()
    done: list[str] = []

    def plan() -> None:
        loop = asyncio.get_running_loop()
        second = loop.call_later(1.0, done.append, "second")
        loop.call_later(0.9, second.cancel)

    a.boot(plan)
    a.pause(3000)
    scheduler.run_for_ms(5000)
    assert done == []


@pytest.mark.parametrize("operation", [1, 2, 3, 4])
def test_a_power_cut_ends_the_process_at_that_operation(operation: int) -> None:
    _, _, a, _ = two_hosts()
    reached: list[int] = []

    def write() -> None:
        a.disk.make_directory("/d")
        for number in range(1, 4):
            file = a.disk.open(f"/d/{number}")
            reached.append(number)
            file.close()

    a.boot(nothing)
    a.cut_power_after(operation)
    a.run(a.incarnation, write)
    assert not a.up
    assert len(reached) == max(0, operation - 2)


def test_a_process_may_die_between_two_effects() -> None:
    _, _, a, _ = two_hosts()
    done: list[int] = []

    def perform() -> None:
        for number in range(5):
            a.effect()
            done.append(number)

    a.boot(nothing)
    a.kill_after(3)
    a.run(a.incarnation, perform)
    assert (a.up, done) == (False, [0, 1])


def test_a_dead_process_cannot_write() -> None:
    _, _, a, _ = two_hosts()
    a.boot(nothing)
    file = a.disk.open("/f")
    a.kill()
    with pytest.raises(PowerCut):
        file.write_at(0, b"x")


def test_a_request_gets_its_response() -> None:
    scheduler, network, a, b = two_hosts()
    a.boot(nothing)
    b.boot(lambda: network.listen(b, 1, lambda request: request + 1))
    answers: list[Any] = []
    network.ask(a, Address("b", 1), 41, timeout_ms=1000).then(answers.append)
    scheduler.run_for_ms(2000)
    assert answers == [42]


def test_a_response_may_come_later_and_a_request_may_time_out() -> None:
    scheduler, network, a, b = two_hosts()
    a.boot(nothing)
    promise: Promise[Any] = Promise()
    b.boot(lambda: network.listen(b, 1, lambda request: promise))
    answers: list[Any] = []
    network.ask(a, Address("b", 1), 1, timeout_ms=1000).then(answers.append)
    scheduler.run_for_ms(2000)
    promise.resolve("too late")
    scheduler.run_for_ms(2000)
    assert answers == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_request_to_a_closed_port_or_a_dead_process_fails() -> None:
    scheduler, network, a, b = two_hosts()
    a.boot(nothing)
    b.boot(lambda: network.listen(b, 1, lambda request: Promise()))
    answers: list[Any] = []
    network.ask(a, Address("b", 2), 1, timeout_ms=1000).then(answers.append)
    network.ask(a, Address("b", 1), 1, timeout_ms=1000).then(answers.append)
    scheduler.run_for_ms(100)
    b.kill()
    network.hang_up(b)
    scheduler.run_for_ms(100)
    assert answers == [ErrorCode.NETWORK_EXCEPTION, ErrorCode.NETWORK_EXCEPTION]


def test_a_network_may_be_cut_in_one_direction_only() -> None:
    scheduler, network, a, b = two_hosts()
    a.boot(nothing)
    heard: list[Any] = []
    b.boot(lambda: network.listen(b, 1, heard.append))
    answers: list[Any] = []
    network.isolate("a", ["a", "b"], inbound=True, outbound=False)
    network.ask(a, Address("b", 1), "hello", timeout_ms=1000).then(answers.append)
    scheduler.run_for_ms(2000)
    assert (heard, answers) == (["hello"], [ErrorCode.REQUEST_TIMED_OUT])


def test_messages_are_duplicated_lost_and_reordered() -> None:
    scheduler, network, a, b = two_hosts()
    a.boot(nothing)
    heard: list[int] = []
    b.boot(lambda: network.listen(b, 1, heard.append))
    network.weather = Weather(lost=0.2, doubled=0.2, late=0.1)
    for number in range(100):
        network.ask(a, Address("b", 1), number, timeout_ms=100)
        scheduler.run_for_ms(1)
    scheduler.run_for_ms(10_000)
    assert len(set(heard)) < 100
    assert len(heard) > len(set(heard))
    assert heard != sorted(heard)
