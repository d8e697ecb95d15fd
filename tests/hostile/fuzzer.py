"""Malformed and unexpected frames to a live node, one after the other.

A frame begins as a request of any API in any version, built from its declaration with values out of
:class:`Vocabulary`: names of existing and missing topics, extreme numbers, valid and invalid
batches. Then it stays as it is, or bits flip, bytes vanish, lengths become wrong, or two requests
are spliced. For any frame these must hold:

- the node lives, and a bystander is served at regular intervals;
- it logs no error: a malformed request is the client's fault, and a handler that raises is ours;
- every response can be decoded, to the last byte, in the version of the request.

Frame ``n`` of a seed depends only on the two numbers, so a failure is replayed alone::

    python -m tests.hostile.fuzzer --seed 7 --first 1234 --count 1
"""

from __future__ import annotations

import argparse
import random
import select
import struct
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from barnabas.api.broker_apis import BROKER_HANDLERS, WITH_RECEIVER
from barnabas.api.handler import Handlers
from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import HEADER_BYTES
from barnabas.records.compression import Codec
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, decode
from barnabas.wire.declare import ArrayOf, Field, FieldType, StructOf, declaration_of
from barnabas.wire.headers import read_request_prefix, request_header_version
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields
from barnabas.wire.types import Primitive
from tests.scenarios.client import Client, HungUp, batch_of, decode_response, frame_of
from tests.unit.records.made import with_header

TOPICS = ("fuzz-a", "fuzz-b")
PARTITIONS = 3
# After this many frames: a bystander is served, the process lives and has logged no error.
LOOK_EVERY = 100
REMEMBERED_FRAMES = 2 * LOOK_EVERY
# A live node answers in milliseconds. A request that takes longer is parked, or the node waits for
# bytes that will not come; or the machine is busy, which a question on another connection tells
# apart.
SILENCE_SECONDS = 0.25
# How often a value is taken from the likely ones, where there are any.
LIKELY_PART = 0.8
PROBE_VERSION = 3
PROBE = ApiVersionsRequest(client_software_name="fuzzer", client_software_version="1")


class Failure(AssertionError):
    """A forbidden reaction of a node, and the command that replays it."""


# -- requests


@dataclass
class Vocabulary:
    topic_ids: list[bytes] = field(default_factory=list)
    # For fields whose values should be better than random, by the names of the fields.
    likely: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    # Lists that are mostly refused unless they have one element.
    single: frozenset[str] = frozenset()

    strings: tuple[str, ...] = (
        *TOPICS,
        "missing",
        "",
        "1",
        "0",
        "__cluster_metadata",
        "__consumer_offsets",
        "__transaction_state",
        "consumer",
        "range",
        "(a+)+$",
        "..",
        "a/b",
        "max.message.bytes",
        "message.max.bytes",
        "retention.ms",
        "cleanup.policy",
        "compact",
        "compact,delete",
        "1000",
        "-1",
        "root",
        "ERROR",
        "metadata.version",
        "x" * 249,
        "x" * 300,
        "\N{SNOWMAN}",
        "nul\x00",
    )
    # Among them the numbers of resource types, endpoint types, operations and special timestamps.
    numbers = (-1, 0, 1, 2, 3, 4, 8, 16, 32, -2, -3, -4, -5, -6, 5, 7, 20)


# Those of coordinators, some of which they accept. Rebalances are short: a member that waits for
# others delays the fuzzer too.
_TIMEOUTS_MS = {
    "session_timeout_ms": (6_000, 6_000, 0, -1, 2**31 - 1),
    "rebalance_timeout_ms": (0, 1, 10, -1),
    "transaction_timeout_ms": (1_000, 60_000, 0, -1, 2**31 - 1),
}
_INTEGERS = {"int8": 8, "int16": 16, "uint16": -16, "int32": 32, "uint32": -32, "int64": 64}


class Maker:
    """Random requests from their declarations."""

    def __init__(self, chance: random.Random, words: Vocabulary) -> None:
        self._chance = chance
        self._words = words

    def message(self, cls: type[Any], version: int, depth: int = 0) -> Any:
        values: dict[str, Any] = {}
        for each in declaration_of(cls).fields:
            if version not in each.options.versions:
                continue
            if version in each.options.tagged and self._chance.random() < 0.5:
                continue
            if version in each.options.nullable and self._chance.random() < 0.15:
                values[each.name] = None
                continue
            values[each.name] = self._value(each, each.type, version, depth)
        return cls(**values)

    def _value(self, named: Field, kind: FieldType, version: int, depth: int) -> Any:
        chance = self._chance
        likely = self._words.likely.get(named.name)
        if likely and isinstance(kind, Primitive) and chance.random() < LIKELY_PART:
            return chance.choice(likely)
        match kind:
            case ArrayOf(element):
                count = chance.choice((0, 1, 1, 1, 2, 3)) if depth < 4 else 0
                if named.name in self._words.single and chance.random() < LIKELY_PART:
                    count = 1
                return [self._value(named, element, version, depth + 1) for _ in range(count)]
            case StructOf(cls):
                return self.message(cls, version, depth + 1)
            case Primitive(name="bool"):
                return chance.random() < 0.5
            case Primitive(name="float64"):
                return chance.choice((0.0, -1.0, 1e300, float("inf"), float("nan")))
            case Primitive(name="uuid"):
                return chance.choice([*self._words.topic_ids, bytes(16), bytes(15) + b"\x01", chance.randbytes(16)])
            case Primitive(name="string"):
                return chance.choice(self._words.strings)
            case Primitive(name="records"):
                return self._records()
            case Primitive(name="bytes"):
                return chance.randbytes(chance.choice((0, 1, 5, 300)))
            case Primitive(name=name):
                return self._integer(named.name, _INTEGERS[name])

    def _integer(self, name: str, bits: int) -> int:
        chance = self._chance
        if name in ("max_wait_ms", "timeout_ms"):
            return chance.choice((0, 0, 1, 10, -1))
        if name in _TIMEOUTS_MS:
            return chance.choice(_TIMEOUTS_MS[name])
        if name == "acks":
            return chance.choice((1, 1, -1, 0, 2))
        lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if bits > 0 else (0, (1 << -bits) - 1)
        if chance.random() < 0.15:
            return chance.choice((lowest, highest, lowest + 1, highest - 1))
        return min(highest, max(lowest, chance.choice(self._words.numbers)))

    def _records(self) -> bytes:
        chance = self._chance
        codec = chance.choice((Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY))
        batch = batch_of([chance.randbytes(chance.randrange(40)) for _ in range(chance.randrange(1, 4))], key=b"k", codec=codec)
        if chance.random() < 0.3:
            changed = chance.choice(
                ("record_count", "last_offset_delta", "attributes", "batch_length", "magic", "producer_id", "base_sequence")
            )
            batch = with_header(batch, **{changed: chance.choice((-1, 0, 1, 2, 3, 17, 100))})
        if chance.random() < 0.3:
            batch[chance.randrange(len(batch))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.1:
            del batch[chance.randrange(min(HEADER_BYTES, len(batch))) :]
        return bytes(batch)


# -- damage

_LIES = (
    *(struct.pack(">h", number) for number in (-1, -2, 0, 32767)),
    *(struct.pack(">i", number) for number in (-1, -2, 0, 2**31 - 1, -(2**31), 10**8)),
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x80\x80\x80\x00",
    b"\x00",
    b"\x01",
)


def flip(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    for _turn in range(chance.choice((1, 1, 2, 8))):
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
    return body


def cut(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    del body[chance.randrange(1, len(body) + 1) :]
    return body


def cut_inside(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    start = chance.randrange(len(body))
    del body[start : start + chance.choice((1, 1, 2, 4, 20))]
    return body or bytearray(b"\x00")


def lengthen(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    return body + chance.randbytes(chance.choice((1, 4, 100)))


def lie(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    position, number = chance.randrange(len(body)), chance.choice(_LIES)
    body[position : position + len(number)] = number
    return body


def repeat(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    start = chance.randrange(len(body))
    stop = start + chance.choice((1, 4, 16, 64))
    return body[:stop] + body[start:]


def splice(chance: random.Random, body: bytearray, other: bytes) -> bytearray:
    return body[: chance.randrange(1, len(body) + 1)] + other[chance.randrange(len(other)) :]


def other_version(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    body[2:4] = struct.pack(">h", chance.choice((-1, 0, 1, 2, 3, 5, 8, 12, 13, 17, 99)))
    return body


def other_api(chance: random.Random, body: bytearray, _: bytes) -> bytearray:
    body[:2] = struct.pack(">h", chance.choice([*BROKER_HANDLERS, -1, 93, 1000]))
    return body


DAMAGES: tuple[Callable[[random.Random, bytearray, bytes], bytearray], ...] = (
    flip,
    flip,
    lie,
    lie,
    cut,
    cut_inside,
    lengthen,
    repeat,
    splice,
    other_version,
    other_api,
)


@dataclass(frozen=True)
class Frame:
    index: int
    what: str
    body: bytes

    def __str__(self) -> str:
        return f"frame {self.index}: {self.what}, {self.body.hex()}"


def make_frame(seed: int, index: int, words: Vocabulary, keys: tuple[ApiKey, ...]) -> Frame:
    chance = random.Random(f"{seed}/{index}")
    body, what = _request(chance, words, keys)
    damages = chance.choice((0, 0, 1, 1, 1, 2, 3))
    mutable = bytearray(body)
    for _ in range(damages):
        damage = chance.choice(DAMAGES)
        what += f", {damage.__name__}"
        mutable = damage(chance, mutable, _request(chance, words, keys)[0])
    return Frame(index, what, bytes(mutable))


def _request(chance: random.Random, words: Vocabulary, keys: tuple[ApiKey, ...]) -> tuple[bytes, str]:
    key = chance.choice(keys)
    version = chance.choice(stable_versions(key).all())
    request = Maker(chance, words).message(messages(key)[0], version)
    return frame_of(request, version, correlation_id=chance.getrandbits(31), client_id=chance.choice((None, "", "fuzz")))[4:], (
        f"{key.api_name} v{version}"
    )


def read_request(body: Buffer, handlers: Handlers = BROKER_HANDLERS) -> tuple[ApiKey, int, Any] | None:
    """The request that a node will read in these bytes; None when they are malformed."""
    try:
        key, version, _, _, position = read_request_prefix(body)
        if key not in handlers or version not in stable_versions(ApiKey(key)):
            return None
        request = messages(ApiKey(key))[0]
        if request_header_version(request, version) == 2:
            position = skip_tagged_fields(body, position, len(body))
        return ApiKey(key), version, decode(request, version, body, position)[0]
    except (MalformedMessage, *DECODE_ERRORS):
        return None


def too_dear(body: bytes, handlers: Handlers = BROKER_HANDLERS) -> bool:
    """Legal requests that would only keep the disk busy (thousands of partitions), or delay the
    fuzzer (a fetch that parks), or that cause a state the fuzzer would report: an unregistered
    broker is not served until its next heartbeat.
    """
    match read_request(body, handlers):
        case (_, _, CreateTopicsRequest() as request):
            return sum(max(topic.num_partitions, len(topic.assignments), 1) for topic in request.topics) in range(30, 10_001)
        case (_, _, CreatePartitionsRequest() as request):
            return any(30 < topic.count <= 10_100 for topic in request.topics)
        case (_, _, FetchRequest() as request):
            return request.max_wait_ms > 50
        case (_, _, UnregisterBrokerRequest()):
            return True
        case _:
            return False


# -- against a node


class Fuzzer:
    # The APIs of the attacked listener.
    handlers: Handlers = BROKER_HANDLERS

    def __init__(
        self, kafka: EmbeddedBroker, seed: int, keys: tuple[ApiKey, ...] = tuple(BROKER_HANDLERS), *, door: str | None = None
    ) -> None:
        """``door`` is a listener other than the one for clients."""
        self._kafka = kafka
        self._door = door or kafka.bootstrap
        self._seed = seed
        self._keys = keys
        self._words = Vocabulary()
        self._recent: deque[Frame] = deque(maxlen=REMEMBERED_FRAMES)
        self._client: Client | None = None
        self.outcomes: Counter[str] = Counter()
        self._restock()

    def run(self, first: int, count: int) -> None:
        for index in range(first, first + count):
            frame = make_frame(self._seed, index, self._words, self._keys)
            if too_dear(frame.body, self.handlers):
                self.outcomes["not sent"] += 1
                continue
            self._recent.append(frame)
            self.outcomes[self._send(frame)] += 1
            if index % LOOK_EVERY == LOOK_EVERY - 1:
                self._look()
        self._look()
        self._hang_up()

    def _send(self, frame: Frame) -> str:
        """Send a frame and a probe behind it; returns the outcome."""
        if self._client is None:
            self._client = Client(self._door)
        client = self._client
        probe = frame_of(PROBE, PROBE_VERSION, correlation_id=frame.index)
        try:
            client.send_bytes(struct.pack(">i", len(frame.body)) + frame.body + probe)
            answer = self._receive(client)
            if answer is not None and self._is_probe(answer, frame.index):
                return "not answered"
            if answer is not None:
                self._check_answer(frame, answer)
                answer = self._receive(client)
            if answer is None:
                self._hang_up()
                return "silence"
            if not self._is_probe(answer, frame.index):
                raise self._failure(frame, "two responses to one request")
        except (HungUp, BrokenPipeError, ConnectionResetError):
            self._hang_up()
            return "hung up"
        return "answered"

    def _receive(self, client: Client) -> bytes | None:
        """The next frame; None if the node is silent, but answers a bystander that asked later."""
        if not _readable(client, SILENCE_SECONDS):
            with Client(self._door) as bystander:
                bystander.send_bytes(frame_of(PROBE, PROBE_VERSION))
                bystander.receive_frame()
            if not _readable(client, SILENCE_SECONDS):
                return None
        return client.receive_frame()

    def _is_probe(self, answer: bytes, index: int) -> bool:
        try:
            correlation_id, response = decode_response(answer, ApiVersionsRequest, PROBE_VERSION)
        except (AssertionError, *DECODE_ERRORS):
            return False
        # The node has no place for metrics of clients, so it does not announce their APIs.
        return correlation_id == index and {each.api_key for each in response.api_keys} == set(self.handlers) - WITH_RECEIVER

    def _check_answer(self, frame: Frame, answer: bytes) -> None:
        request = read_request(frame.body, self.handlers)
        if request is None:
            key, version = struct.unpack_from(">hh", frame.body)
            if key != ApiKey.API_VERSIONS or version in stable_versions(ApiKey.API_VERSIONS):
                raise self._failure(frame, f"a response to a malformed request: {answer.hex()}")
            decode_response(answer, ApiVersionsRequest, 0)
            return
        key, version, _ = request
        try:
            correlation_id, _ = decode_response(answer, messages(key)[0], version)
        except (AssertionError, *DECODE_ERRORS) as error:
            raise self._failure(frame, f"a response that cannot be decoded ({error}): {answer.hex()}") from error
        if correlation_id != struct.unpack_from(">i", frame.body, 4)[0]:
            raise self._failure(frame, f"a response with another correlation id: {answer.hex()}")

    def _look(self) -> None:
        if self._kafka.complaints:
            raise self._failure(None, f"errors in its log:\n{self._kafka.complaints}")
        try:
            self._restock()
        except (OSError, AssertionError) as error:
            raise self._failure(None, f"no service for a bystander: {error!r}\n{self._kafka.complaints}") from error

    def _restock(self) -> None:
        """A bystander recreates the topics that requests use, and those of coordinators: some
        requests delete topics.
        """
        with Client(self._kafka.bootstrap) as client:
            client.probe()
            for topic in TOPICS:
                told = client.ask(_metadata_of(topic)).topics[0]
                if told.error_code:
                    client.create_topic(topic, PARTITIONS)
            # A FindCoordinator makes the broker create the coordinator's topic.
            for kind, key in enumerate(("fuzz", "fuzz", "fuzz:AAAAAAAAAAAAAAAAAAAAAQ:0")):
                client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
            self._words.topic_ids = [client.ask(_metadata_of(topic)).topics[0].topic_id for topic in TOPICS]

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _failure(self, frame: Frame | None, what: str) -> Failure:
        first = frame.index if frame is not None else max(0, (self._recent[-1].index if self._recent else 0) - LOOK_EVERY)
        count = 1 if frame is not None else LOOK_EVERY + 1
        suspects = [frame] if frame is not None else list(self._recent)[-LOOK_EVERY:]
        lines = "\n".join(map(str, suspects[-20:]))
        return Failure(f"{what}\nreplay: python -m tests.hostile.fuzzer --seed {self._seed} --first {first} --count {count}\n{lines}")


def _readable(client: Client, seconds: float) -> bool:
    return bool(select.select([client.socket], [], [], seconds)[0])


def _metadata_of(topic: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)


def chunks(first: int, count: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(first, first + count, size):
        yield start, min(size, first + count - start)


def main() -> None:
    parser = argparse.ArgumentParser(description="Send malformed frames to a live node.")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--api", help="only this API, by Kafka's name of it")
    given = parser.parse_args()
    keys = tuple(key for key in BROKER_HANDLERS if given.api in (None, key.api_name))
    with EmbeddedBroker(process=True) as kafka:
        fuzzer = Fuzzer(kafka, given.seed, keys)
        for first, count in chunks(given.first, given.count, 5000):
            fuzzer.run(first, count)
            sys.stderr.write(f"seed {given.seed}, {first + count} frames: {dict(fuzzer.outcomes)}\n")


if __name__ == "__main__":
    main()
