"""The same batches are appended to our log and to Kafka's, so that the files can be compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from barnabas.env.real_disk import RealDisk
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType
from barnabas.records.record import Record
from barnabas.records.validation import Accepted, validate
from barnabas.storage.log import Appended, Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.recovery import open_log
from tests.conformance.storage.oracle import LogOracle
from tests.unit.storage.logs import NOW_MS, marker

# The settings under both names. Kafka accepts segments smaller than a megabyte only under an
# internal name.
SETTINGS = LogSettings(segment_bytes=4096, index_interval_bytes=300, index_bytes_max=4096)
CONFIG = {"internal.segment.bytes": 4096, "index.interval.bytes": 300, "segment.index.bytes": 4096}
PARTITION = TopicPartition("topic", 0)


class Append(NamedTuple):
    batch: bytearray
    epoch: int = 0

    @property
    def by_client(self) -> bool:
        return not read_header(self.batch).control


class Roll(NamedTuple):
    pass


Step: TypeAlias = Append | Roll
Script: TypeAlias = Callable[[], list[Step]]


def records(count: int, *, size: int = 40, first: int = 0, timestamp: int = NOW_MS) -> list[Record]:
    """Keys and values that differ, headers on some records, and timestamps that rise and fall."""
    made = []
    for offset in range(count):
        number = first + offset
        value = (b"value-%d " % number * 20)[:size] if number % 7 else None
        headers = (("trace", b"%d" % number), ("empty", None)) if number % 5 == 0 else ()
        made.append(Record(offset, timestamp + number * 10 - number % 3 * 25, b"key-%d" % (number % 11), value, headers))
    return made


def batches(how_many: int, *, codec: Codec = Codec.NONE, first: int = 0, epoch: int = 0) -> list[Step]:
    return [
        Append(build_batch(records(1 + number % 6, size=20 + number * 13 % 200, first=number * 6), codec=codec), epoch)
        for number in range(first, first + how_many)
    ]


def in_codec(codec: Codec) -> list[Step]:
    return batches(60, codec=codec)


def epochs_and_rolls() -> list[Step]:
    steps: list[Step] = []
    for number, epoch in enumerate((0, 1, 5, 6)):
        steps += batches(14, first=number * 14, epoch=epoch)
        steps.append(Roll())
    return steps + batches(3, first=99, epoch=9)


class Producing:
    """Producers that count their sequence numbers."""

    def __init__(self) -> None:
        self.sequences: dict[tuple[int, int], int] = {}
        self.steps: list[Step] = []

    def send(self, producer_id: int, *, count: int = 2, epoch: int = 0, transactional: bool = False) -> None:
        sequence = self.sequences.get((producer_id, epoch), 0)
        self.sequences[producer_id, epoch] = sequence + count
        made = records(count, size=60, first=len(self.steps) * 10)
        batch = build_batch(made, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=transactional)
        self.steps.append(Append(batch))

    def end(self, producer_id: int, kind: ControlType, *, epoch: int = 0, coordinator_epoch: int = 3) -> None:
        self.steps.append(Append(marker(producer_id, kind, epoch=epoch, coordinator_epoch=coordinator_epoch)))


def idempotent_producers() -> list[Step]:
    producing = Producing()
    for number in range(40):
        producing.send(number % 3, count=1 + number % 4)
    producing.send(1, epoch=2)
    return producing.steps


def transactions() -> list[Step]:
    """Commits and aborts that overlap and span segments, and one transaction that stays open."""
    producing = Producing()
    for number in range(36):
        producing.send(1, transactional=True)
        if number % 2:
            producing.send(2, count=3, transactional=True)
        if number % 5 == 4:
            producing.end(1, ControlType.ABORT if number % 10 == 4 else ControlType.COMMIT)
        if number % 7 == 6:
            producing.end(2, ControlType.ABORT)
    producing.end(2, ControlType.ABORT, epoch=1, coordinator_epoch=4)
    producing.send(0, transactional=True)
    return producing.steps


SCRIPTS: dict[str, Script] = {
    **{f"{codec.name.lower()}": lambda codec=codec: in_codec(codec) for codec in Codec},  # type: ignore[misc]
    "epochs_and_rolls": epochs_and_rolls,
    "idempotent_producers": idempotent_producers,
    "transactions": transactions,
    "nothing": list,
    "one_batch": lambda: batches(1),
}


def open_ours(directory: Path, *, clean: bool = True, recovery_point: int = 0, settings: LogSettings = SETTINGS) -> Log:
    return open_log(
        RealDisk(),
        str(directory),
        PARTITION,
        settings,
        clean=clean,
        recovery_point=recovery_point,
        log_start_offset=0,
        now_ms=NOW_MS,
    )[0]


def write_ours(directory: Path, script: list[Step], *, close: bool = True) -> Log:
    """The steps of a produce request: validation, then the append."""
    directory.mkdir()
    log = open_ours(directory)
    for step in script:
        if isinstance(step, Roll):
            log.roll(now_ms=NOW_MS)
            continue
        batch = memoryview(bytearray(step.batch))
        header = read_header(batch)
        if step.by_client:
            accepted = validate(batch, SETTINGS.rules, now_ms=NOW_MS)
            assert isinstance(accepted, Accepted), accepted
            batch, header = accepted.batch, accepted.header
        outcome = log.append(batch, header, leader_epoch=step.epoch, now_ms=NOW_MS)
        assert isinstance(outcome, Appended), outcome
        assert not outcome.duplicate
    if close:
        log.close()
    return log


def write_kafkas(kafka: LogOracle, directory: Path, script: list[Step], *, close: bool = True) -> None:
    directory.mkdir()
    kafka.open(directory, CONFIG, now_ms=NOW_MS)
    for step in script:
        if isinstance(step, Roll):
            kafka.ask("roll")
            continue
        origin = "CLIENT" if step.by_client else "COORDINATOR"
        answer = kafka.append(step.batch, epoch=step.epoch, now_ms=NOW_MS, origin=origin)
        assert answer["code"] == 0, answer
    if close:
        kafka.ask("close")


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
