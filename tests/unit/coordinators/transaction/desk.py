"""A transaction coordinator with one shard, its log in memory, and a small language: commands in,
transcript out.

    init T [as 1000/0] [timeout 5000]  InitProducerId
    add T 1000/0 a-0,a-1 [v2]          AddPartitionsToTxn, of a client of version 2
    verify T 1000/0 a-0
    end T 1000/0 commit|abort [v2]     EndTxn
    markers                            write all requested markers
    wait 10000                         milliseconds pass
    reload                             another broker takes over and has only the log
    level 0                            the cluster's transaction.version
    refuse NOT_ENOUGH_REPLICAS | NONE  the log's answer to appends
    count T 32766                      set the producer's epoch, by a record of another coordinator

The transcript has every command as ``> command``, and below it the answer, the ``log`` and the
effects to ``do``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import decode_record
from barnabas.coordinators.runtime import CoordinatorRuntime
from barnabas.coordinators.transaction.decision import Granted
from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.coordinators.transaction.fresh_producer_id import run_with_producer_id
from barnabas.coordinators.transaction.log_record import record_of, transaction_of
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.record_types import TRANSACTION_RECORD_TYPES
from barnabas.coordinators.transaction.settings import TransactionSettings
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.records.record import open_batch

START_MS = 1_700_000_000_000
SHARD = 0
COORDINATOR_EPOCH = 5
TIMEOUT_MS = 60_000


class Desk:
    def __init__(self, settings: TransactionSettings | None = None) -> None:
        self.settings = settings or TransactionSettings()
        self.now_ms = START_MS
        self.level = 2
        self.batches: list[bytearray] = []
        self.refusal = ErrorCode.NONE
        self.effects: list[WriteMarkers] = []
        self.producer_ids = count(1000)
        self.lines: list[str] = []
        self.epoch = COORDINATOR_EPOCH - 1
        self.reload()

    # The clock and the log of the coordinator.

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms

    def append(self, partition: int, batch: bytearray) -> int | ErrorCode:
        assert partition == SHARD
        if self.refusal:
            return self.refusal
        self.batches.append(batch)
        for record in open_batch(batch):
            assert record.key is not None
            self.lines.append(f"  log {_shown(bytes(record.key), None if record.value is None else bytes(record.value))}")
        return len(self.batches)

    def replicated(self, partition: int, end_offset: int) -> Promise[ErrorCode]:
        return Promise.kept(ErrorCode.NONE)

    # The commands of the language.

    def reload(self, *, tick: bool = True) -> None:
        """``tick`` runs the timers that are due at once."""
        self.epoch += 1
        self.effects.clear()
        self.runtime = CoordinatorRuntime(
            lambda partition: TransactionMachine(partition, self.settings, lambda: self.epoch, lambda: self.level),
            TRANSACTION_RECORD_TYPES,
            self,
            on_effect=self._do,
            on_deadline=lambda deadline_ms: None,
        )
        self.coordinator = Coordinator("__transaction_state", self.runtime, self, lambda: 1)
        self.runtime.begin_loading(SHARD, self.epoch)
        for batch in self.batches:
            self.runtime.replay_batch(SHARD, self.epoch, batch)
        self.runtime.finish_loading(SHARD, self.epoch, len(self.batches), self.now_ms)
        if tick:
            self.runtime.tick(self.now_ms)

    @property
    def machine(self) -> TransactionMachine:
        (machine,) = self.runtime.machines()
        return machine

    def init(self, transactional_id: str, given: ProducerIdentity | None = None, timeout_ms: int = TIMEOUT_MS) -> Granted:
        def begin(machine: TransactionMachine, now_ms: int, offered: int | None) -> Outcome[Granted]:
            return machine.init_producer_id(transactional_id, timeout_ms=timeout_ms, given=given, offered=offered, now_ms=now_ms)

        return run_with_producer_id(self.coordinator, self._next_producer_id, transactional_id, begin).value

    def add(self, transactional_id: str, given: ProducerIdentity, partitions: list[TopicPartition], version: int = 2) -> ErrorCode:
        return self.coordinator.run(
            transactional_id,
            lambda machine, now_ms: machine.add_partitions(transactional_id, *given, partitions, now_ms, transaction_version=version),
        ).value

    def verify(
        self, transactional_id: str, given: ProducerIdentity, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode] | ErrorCode:
        return self.coordinator.run(transactional_id, lambda machine, _: machine.verify(transactional_id, *given, partitions)).value

    def end(self, transactional_id: str, given: ProducerIdentity, *, committed: bool, version: int = 2) -> Granted:
        def ask(machine: TransactionMachine, now_ms: int, offered: int | None) -> Outcome[Granted]:
            return machine.end(transactional_id, *given, now_ms, committed=committed, transaction_version=version, offered=offered)

        return run_with_producer_id(self.coordinator, self._next_producer_id, transactional_id, ask).value

    def write_markers(self) -> None:
        effects, self.effects = self.effects, []
        for each in effects:
            self.written(each)

    def written(self, effect: WriteMarkers) -> None:
        self.coordinator.run(
            effect.transactional_id,
            lambda machine, now_ms: machine.markers_written(effect.transactional_id, effect.producer_id, effect.producer_epoch, now_ms),
        )

    def wait(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        self.runtime.tick(self.now_ms)

    def use_up_epochs(self, transactional_id: str, epoch: int) -> None:
        used = replace(self.machine.transactions[transactional_id], producer_epoch=epoch)
        self.coordinator.run_at(SHARD, lambda machine, now_ms: Outcome(None, [record_of(used, self.level)]))

    def _next_producer_id(self) -> Promise[int]:
        return Promise.kept(next(self.producer_ids))

    def _do(self, partition: int, effect: WriteMarkers) -> None:
        assert partition == SHARD
        assert effect.coordinator_epoch == self.epoch
        self.effects.append(effect)
        end = "commit" if effect.committed else "abort"
        identity = f"{effect.producer_id}/{effect.producer_epoch}"
        self.lines.append(
            f"  do {end} {effect.transactional_id} {identity} {_joined(effect.partitions)} v{effect.transaction_version}".rstrip()
        )

    # The language.

    def perform(self, command: str) -> None:
        self.lines.append(f"> {command}")
        where = len(self.lines)
        answer = self._answer(command.split())
        if answer is not None:
            self.lines.insert(where, f"  {_answered(answer)}")

    def _answer(self, words: list[str]) -> object:
        match words:
            case ["init", name]:
                return self.init(name)
            case ["init", name, "as", given]:
                return self.init(name, _identity(given))
            case ["init", name, "timeout", timeout_ms]:
                return self.init(name, timeout_ms=int(timeout_ms))
            case ["add", name, given, partitions, *version]:
                return self.add(name, _identity(given), _partitions(partitions), _version(version))
            case ["verify", name, given, partitions]:
                return self.verify(name, _identity(given), _partitions(partitions))
            case ["end", name, given, how, *version]:
                return self.end(name, _identity(given), committed=how == "commit", version=_version(version))
            case ["markers"]:
                self.write_markers()
            case ["wait", duration_ms]:
                self.wait(int(duration_ms))
            case ["reload"]:
                self.reload()
            case ["level", level]:
                self.level = int(level)
            case ["refuse", code]:
                self.refusal = ErrorCode[code]
            case ["count", name, epoch]:
                self.use_up_epochs(name, int(epoch))
            case _:
                raise AssertionError(f"no such command: {words}")
        return None


def holds(transcript: str) -> None:
    """The commands of the transcript give the same transcript when they run at a new desk."""
    expected = [line[4:].rstrip() for line in transcript.strip("\n").splitlines()]
    while expected and not expected[-1]:
        expected.pop()
    desk = Desk()
    for line in expected:
        if line.startswith("> "):
            desk.perform(line[2:])
    assert "\n".join(desk.lines) == "\n".join(expected)


def _identity(text: str) -> ProducerIdentity:
    producer_id, epoch = text.split("/")
    return ProducerIdentity(int(producer_id), int(epoch))


def _partitions(text: str) -> list[TopicPartition]:
    return [TopicPartition(topic, int(partition)) for topic, partition in (each.split("-") for each in text.split(","))]


def _version(words: list[str]) -> int:
    return int(words[0][1:]) if words else 0


def _answered(answer: object) -> str:
    match answer:
        case ProducerIdentity(producer_id, epoch):
            return f"{producer_id}/{epoch}"
        case ErrorCode():
            return answer.name
        case dict():
            return " ".join(f"{partition}:{code.name}" for partition, code in answer.items())
        case _:
            return str(answer)


def _shown(key: bytes, value: bytes | None) -> str:
    record = decode_record(TRANSACTION_RECORD_TYPES, key, value)
    assert record is not None
    transactional_id = record.key.transactional_id
    if record.value is None:
        return f"{transactional_id} forgotten"
    return described(transaction_of(transactional_id, record.value)) + ("" if record.version else " (version 0)")


def described(transaction: Transaction) -> str:
    words = [transaction.transactional_id, transaction.state.title, f"{transaction.producer_id}/{transaction.producer_epoch}"]
    if transaction.partitions:
        words.append(_joined(sorted(transaction.partitions)))
    if transaction.client_version:
        words.append(f"v{transaction.client_version}")
    if transaction.previous_producer_id not in (transaction.producer_id, -1):
        words.append(f"before {transaction.previous_producer_id}")
    if transaction.next_producer_id != -1:
        words.append(f"then {transaction.next_producer_id}")
    return " ".join(words)


def _joined(partitions: list[TopicPartition] | tuple[TopicPartition, ...]) -> str:
    return ",".join(str(each) for each in partitions) or "nowhere"
