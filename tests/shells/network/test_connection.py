"""One connection with a transport in memory: reading, the order of responses, and when reading
stops.

The listener is a real one that is bound and never listens; nothing here goes through a socket.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.model.promise import Promise
from barnabas.network.connection import REPLIES_WAITING_MAX, Connection
from barnabas.network.listener import ConnectionLimits, Listener
from barnabas.wire.frames import OutFrame
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.types import RecordsSource
from tests.waiting import until

_LENGTH = struct.Struct(">i")


class MemoryTransport(asyncio.Transport):
    """Accepts all writes, and records the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.reading = True
        self.closed = self.aborted = False
        self.untaken_bytes = 0

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return self.untaken_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("10.0.0.1", 1), "sockname": ("10.0.0.2", 2)}.get(name, default)

    def is_reading(self) -> bool:
        return self.reading

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True


def answer(number: int) -> OutFrame:
    frame = OutFrame(4)
    frame += b"answer %d" % number
    frame.seal()
    return frame


class Served:
    """A connection, and a server that answers as a test scripts it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: ConnectionLimits) -> None:
        self.refusals: list[str] = []
        self.listener = Listener(
            "T",
            "127.0.0.1",
            0,
            limits,
            apis=frozenset(),
            for_controllers=False,
            report=lambda _, reason: self.refusals.append(reason),
        )
        self.listener.loop = loop
        self.requests: list[bytes] = []
        self.replies: dict[bytes, Any] = {}
        self.transport = MemoryTransport()
        self.connection = Connection(self.listener, self._serve, self.listener._socket, "127.0.0.1")
        self.connection.connection_made(self.transport)

    def _serve(self, _: Connection, frame: memoryview) -> Any:
        request = bytes(frame)
        self.requests.append(request)
        if request == b"garbage":
            raise MalformedMessage("not a request")
        return self.replies.get(request, answer(len(self.requests)))

    def receive(self, data: bytes) -> None:
        while data:
            target = self.connection.get_buffer(-1)
            size = min(len(target), len(data))
            target[:size] = data[:size]
            self.connection.buffer_updated(size)
            data = data[size:]

    def turn(self) -> None:
        """Run one turn of the loop."""
        loop = self.listener.loop
        loop.call_soon(loop.stop)
        loop.run_forever()

    def answers(self) -> list[bytes]:
        stream, found = b"".join(self.transport.written), []
        while stream:
            (length,) = _LENGTH.unpack_from(stream)
            found.append(stream[4 : 4 + length])
            stream = stream[4 + length :]
        return found


class Records(RecordsSource):
    """A region of ``size_bytes``, in a file that has ``data`` at its place."""

    def __init__(self, data: bytes, size_bytes: int | None = None) -> None:
        self.position = 0
        self._data = data
        self._size_bytes = len(data) if size_bytes is None else size_bytes
        self.released = False

    def __len__(self) -> int:
        return self._size_bytes

    def read(self) -> bytes:
        return self._data

    def release(self) -> None:
        self.released = True


def with_records(*sources: Records) -> OutFrame:
    frame = OutFrame(4)
    for number, source in enumerate(sources):
        frame += b"<%d>" % number
        frame.cut(source)
    frame += b"<end>"
    frame.seal()
    return frame


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def served(loop: asyncio.AbstractEventLoop) -> Iterator[Served]:
    made = Served(loop, ConnectionLimits(request_bytes_max=1000))
    yield made
    made.listener._socket.close()


def framed(body: bytes) -> bytes:
    return _LENGTH.pack(len(body)) + body


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Run the work that was put off until the loop's next turns."""
    for _ in range(50):
        loop.run_until_complete(asyncio.sleep(0))


def test_few_bytes_of_records_are_written_with_their_response(served: Served, loop: asyncio.AbstractEventLoop) -> None:
    sources = Records(b"first"), Records(b""), Records(b"x" * 100)
    served.replies[b"fetch"] = with_records(*sources)
    served.receive(framed(b"fetch"))
    turn(loop)
    assert served.answers() == [b"<0>first<1><2>" + b"x" * 100 + b"<end>"]
    assert len(served.transport.written) == 1
    assert all(each.released for each in sources)


def test_a_response_whose_records_are_shorter_than_announced_ends_the_connection(served: Served, loop: asyncio.AbstractEventLoop) -> None:
    sources = Records(b"whole"), Records(b"cut", size_bytes=10)
    served.replies[b"fetch"] = with_records(*sources)
    served.receive(framed(b"fetch"))
    turn(loop)
    assert served.transport.aborted
    assert served.transport.written == []
    assert all(each.released for each in sources)


def test_requests_are_served_in_order_however_the_stream_is_cut(served: Served, loop: asyncio.AbstractEventLoop) -> None:
    stream = b"".join(framed(b"request %d" % number) for number in range(5))
    for start in range(0, len(stream), 7):
        served.receive(stream[start : start + 7])
    turn(loop)
    assert served.requests == [b"request %d" % number for number in range(5)]
    assert served.answers() == [b"answer %d" % number for number in range(1, 6)]


def test_no_response_overtakes_one_that_is_still_pending(served: Served, loop: asyncio.AbstractEventLoop) -> None:
    first: Promise[OutFrame | None] = Promise()
    third: Promise[OutFrame | None] = Promise()
    served.replies = {b"first": first, b"third": third}
    served.receive(b"".join(map(framed, (b"first", b"second", b"third", b"fourth"))))
    turn(loop)
    assert served.requests == [b"first", b"second", b"third", b"fourth"]
    assert served.answers() == []
    third.resolve(answer(103))
    assert served.answers() == []
    first.resolve(answer(101))
    turn(loop)
    assert served.answers() == [b"answer 101", b"answer 2", b"answer 103", b"answer 4"]


def test_a_request_without_a_response_does_not_block_later_responses(served: Served, loop: asyncio.AbstractEventLoop) -> None:
    silent: Promise[OutFrame | None] = Promise()
    served.replies = {b"silent": silent}
    served.receive(framed(b"silent") + framed(b"next"))
    silent.resolve(None)
    turn(loop)
    assert served.answers() == [b"answer 2"]


def test_reading_stops_while_too_many_requests_are_in_flight(served: Served, loop: asyncio.AbstractEventLoop) -> None:
    first: Promise[OutFrame | None] = Promise()
    served.replies = {b"first": first}
    served.receive(framed(b"first"))
    while served.transport.is_reading():
        served.receive(framed(b"more"))
        turn(loop)
        assert len(served.requests) < 2 * REPLIES_WAITING_MAX
    first.resolve(answer(0))
    turn(loop)
    assert served.transport.is_reading()
    assert len(served.answers()) == len(served.requests)


def test_reading_stops_while_the_peer_does_not_receive_its_responses(served: Served) -> None:
    served.connection.pause_writing()
    states = [served.transport.reading]
    served.connection.resume_writing()
    states.append(served.transport.reading)
    assert states == [False, True]


def test_a_malformed_request_ends_the_connection_and_later_ones_are_not_served(served: Served, loop: asyncio.AbstractEventLoop) -> None:
    served.receive(framed(b"good") + framed(b"garbage") + framed(b"behind"))
    turn(loop)
    assert served.requests == [b"good", b"garbage"]
    assert served.answers() == [b"answer 1"]
    assert served.transport.closed
    assert served.refusals == ["not a request"]


@pytest.mark.parametrize("length", [0, -1, 1001, 2**31 - 1])
def test_an_invalid_length_ends_the_connection_after_earlier_responses(
    served: Served, loop: asyncio.AbstractEventLoop, length: int
) -> None:
    served.receive(framed(b"good") + _LENGTH.pack(length) + b"xyz")
    turn(loop)
    assert served.answers() == [b"answer 1"]
    assert served.transport.closed
    assert f"frame of {length} bytes" in served.refusals[0]


def test_responses_after_the_peer_left_are_dropped(served: Served) -> None:
    late: Promise[OutFrame | None] = Promise()
    served.replies = {b"first": late}
    served.receive(framed(b"first"))
    served.connection.connection_lost(None)
    late.resolve(answer(1))
    assert served.answers() == []
    assert served.listener.connections == set()


def test_a_peer_shows_life_by_requests_by_waiting_and_by_receiving(served: Served) -> None:
    late: Promise[OutFrame | None] = Promise()
    served.replies = {b"first": late}
    shows_life = served.connection.showed_life
    assert [shows_life(), shows_life()] == [True, False], "the peer connected, and then sent nothing"
    served.receive(framed(b"first"))
    assert [shows_life(), shows_life(), shows_life()] == [True, True, True], "it waits for us"
    served.transport.untaken_bytes = 9
    assert [shows_life(), shows_life()] == [True, False], "now the connection waits for the peer, which receives nothing"
    served.transport.untaken_bytes = 7
    assert shows_life()
    late.resolve(answer(1))
    served.transport.untaken_bytes = 0
    assert [shows_life(), shows_life()] == [True, False]


def test_work_for_a_peer_that_left_is_abandoned(served: Served) -> None:
    late: Promise[OutFrame | None] = Promise()
    stopped: list[bool] = []
    late.if_abandoned(lambda: stopped.append(True))
    served.replies = {b"first": late.map(lambda frame: frame)}
    served.receive(framed(b"first"))
    served.connection.connection_lost(None)
    assert stopped == [True]


def test_many_requests_of_one_read_take_turns_with_other_connections(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(1000))
    monkeypatch.setattr("barnabas.network.connection.monotonic", lambda: next(seconds))
    served.receive(b"".join(framed(b"%d" % number) for number in range(5)))
    assert served.requests == [b"0"]
    assert not served.transport.reading
    for served_by_now in range(2, 6):
        served.turn()
        assert len(served.requests) == served_by_now
    assert served.requests == [b"%d" % number for number in range(5)]
    assert served.transport.reading


def test_earlier_requests_are_served_before_an_invalid_length_ends_the_stream(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(1000))
    monkeypatch.setattr("barnabas.network.connection.monotonic", lambda: next(seconds))
    served.receive(framed(b"1") + framed(b"2") + _LENGTH.pack(-1))
    assert not served.transport.closed
    served.turn()
    assert served.requests == [b"1", b"2"]
    assert served.transport.closed


def test_received_and_sent_bytes_are_counted(served: Served) -> None:
    served.receive(framed(b"12345"))
    assert (served.listener.bytes_in, served.listener.bytes_out) == (9, len(b"answer 1") + 4)


# -- throttling


FOR_EVER_SECONDS = 1000.0


def test_a_throttled_connection_reads_nothing_and_sends_its_responses(served: Served) -> None:
    late: Promise[Any] = Promise()
    served.replies[b"a"] = late
    served.receive(framed(b"a"))
    served.connection.throttle(FOR_EVER_SECONDS)
    assert not served.transport.reading
    late.resolve(answer(1))
    assert served.answers() == [b"answer 1"]
    assert not served.transport.reading


def test_requests_that_arrived_with_a_throttled_one_wait_as_well(served: Served) -> None:
    def serve(connection: Connection, frame: memoryview) -> Any:
        connection.throttle(FOR_EVER_SECONDS)
        return answer(len(frame))

    served.connection.serve_with(serve, request_bytes_max=1000)
    served.receive(framed(b"a") + framed(b"bb"))
    served.turn()
    assert served.answers() == [b"answer 1"]


def test_of_two_throttles_the_one_that_ends_last_counts(served: Served) -> None:
    served.connection.throttle(FOR_EVER_SECONDS)
    served.connection.throttle(0.0)
    served.turn()
    served.turn()
    assert not served.transport.reading


def test_reading_continues_when_the_throttle_ends(served: Served) -> None:
    served.connection.throttle(0.0)
    assert not served.transport.reading

    def is_read() -> bool:
        served.turn()
        return served.transport.reading

    until(is_read, "the connection is read again")


def test_a_connection_that_is_lost_leaves_no_timer_behind(served: Served) -> None:
    served.connection.throttle(FOR_EVER_SECONDS)
    timer = served.connection._throttled
    assert timer is not None
    served.connection.connection_lost(None)
    assert timer.cancelled()
    served.connection.throttle(FOR_EVER_SECONDS)
    assert served.connection._throttled is timer
