"""The copiers as processes: each is started, watched, stopped, killed and replaced here. What they
do is in ``copier.py``.

Every copier writes its journal and its client's log to a file of its own in the directory of the
test's evidence (:mod:`tests.cluster.evidence`), and says on stdout when it begins and ends a call
that may block.

A copier *hangs* when such a call has lasted :data:`HANG_MARGIN_SECONDS` longer than its own limit,
although the coordinators of its group and of its transactional id answer another client. librdkafka
2.16 does that: ``send_offsets_to_transaction`` looks at its limit only when a response arrives.
Before it sends TxnOffsetCommit it waits for a connection to the group's coordinator. If that broker
was just killed and its fencing removes it from the metadata, librdkafka terminates its handle of
the broker, and the call goes on waiting for that handle. A captured run shows every request
answered and no TxnOffsetCommit sent. A supervisor would restart such an application, and so does
the test. It counts them in :attr:`Copiers.hung`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from peers.apache_kafka import java_program
from peers.cluster import ends_with_us
from tests.cluster.access import Access
from tests.cluster.asking import GROUP_KEY, TRANSACTION_KEY, ask_coordinator
from tests.cluster.copier import BROKEN, FENCED, GROUP, INPUT
from tests.waiting import until

INPUT_PARTITIONS = 4
# Added to the limit of a call, which the client itself should keep: several times the longest pulse
# of a starved run.
HANG_MARGIN_SECONDS = 20.0
_TAIL_CHARACTERS = 4000
_TRACE_SECONDS = 0.2


@dataclass(frozen=True)
class Kind:
    """The kind of a copier: its client, its membership and its group's protocol."""

    client: str = "librdkafka"
    static: bool = False
    protocol: str = "classic"


@dataclass(frozen=True)
class Call:
    """A call that a copier has begun and not ended."""

    name: str
    seconds_max: float
    begun: float

    def overdue(self) -> bool:
        return time.monotonic() > self.begun + self.seconds_max + HANG_MARGIN_SECONDS


class Copier:
    """One process, and its journal."""

    def __init__(self, kind: Kind, slot: int, access: Access, seed: str, journal: Path) -> None:
        self.kind = kind
        self.transactional_id = f"copier-{slot}"
        security = journal.with_suffix(".properties")
        settings = access.java if kind.client == "java" else access.librdkafka
        security.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        arguments = [access.bootstrap, self.transactional_id, f"instance-{slot}" if kind.static else "", kind.protocol, seed, str(security)]
        if kind.client == "java":
            command = java_program(Path(__file__).with_name("Copier.java"), *arguments, options=[f"-Dcopier={slot}"])
        else:
            command = [sys.executable, "-m", "tests.cluster.copier", *arguments]
        self._python = kind.client != "java"
        self.journal = journal
        with journal.open("wb") as output:
            self._process = subprocess.Popen(ends_with_us(command), stdout=subprocess.PIPE, stderr=output)
        self.ready = threading.Event()
        self.call: Call | None = None
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.paused = False

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            match line.decode().split():
                case ["ready"]:
                    self.ready.set()
                case ["begin", name, seconds]:
                    self.call = Call(name, float(seconds), time.monotonic())
                case ["end"]:
                    self.call = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def said(self) -> str:
        """The end of its journal, without its client's log."""
        lines = self.journal.read_text(errors="replace").splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("%"))[-_TAIL_CHARACTERS:]

    def where(self) -> str:
        """Its journal, and the call that it is in if it is written in Python."""
        if self._python and self.exit_code is None:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(_TRACE_SECONDS)
        return f"{self.call}, {self.journal.name} ends:\n{self.said()}"

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Copiers:
    """One copier in each slot, replaced when it ends, and the zombies that others have replaced."""

    def __init__(self, kinds: Sequence[Kind], access: Access, seed: int, evidence: Path) -> None:
        self._kinds = kinds
        self._access = access
        self._seed = seed
        self._evidence = evidence
        self._started = 0
        self.own_exits: list[str] = []
        self.hung: list[str] = []
        self._hung_in: list[str] = []
        self.zombies: list[Copier] = []
        self.running: list[Copier] = []

    def __enter__(self) -> Self:
        try:
            for slot in range(len(self._kinds)):
                self.running.append(self._start(slot))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for each in (*self.running, *self.zombies):
            each.kill()

    def _start(self, slot: int) -> Copier:
        self._started += 1
        journal = self._evidence / f"copier-{slot}-{self._started:03}.log"
        return Copier(self._kinds[slot], slot, self._access, f"{self._seed}/{self._started}", journal)

    def kill(self, slot: int) -> None:
        self.running[slot].kill()
        self.running[slot] = self._start(slot)

    def replace(self, slot: int) -> Copier:
        """Pauses the copier of the slot, wherever it is, and starts another with its transactional
        id. Returns the paused one."""
        zombie = self.running[slot]
        zombie.pause()
        self.zombies.append(zombie)
        self.running[slot] = self._start(slot)
        return zombie

    def look_after(self) -> None:
        """Starts copiers again that ended or hang."""
        for slot, each in enumerate(self.running):
            if each.exit_code is not None:
                self._check(each)
                self.own_exits.append(f"slot {slot} ended with {each.exit_code}: {each.said()}")
                self.kill(slot)
            elif each.call is not None and each.call.overdue() and self._coordinators_answer(each):
                self._count_hung(each)
                self.kill(slot)

    def _count_hung(self, copier: Copier) -> None:
        assert copier.call is not None
        self._hung_in.append(f"{copier.kind.client} in {copier.call.name} ({copier.journal.name})")
        self.hung.append(f"hung: {copier.where()}")

    @staticmethod
    def _check(copier: Copier) -> None:
        assert copier.exit_code != BROKEN, f"a copier was given a record that is not the next one: {copier.said()}"

    def _coordinators_answer(self, copier: Copier) -> bool:
        described = ask_coordinator(
            self._access,
            copier.transactional_id,
            DescribeTransactionsRequest(transactional_ids=[copier.transactional_id]),
            key_type=TRANSACTION_KEY,
        )
        return (
            described is not None
            and not any(each.error_code for each in described.transaction_states)
            and committed_offsets(self._access) != {}
        )

    def summary(self) -> str:
        where = f": {', '.join(self._hung_in)}" if self._hung_in else ""
        return (
            f"{self._started} copiers started, {len(self.own_exits)} ended by themselves, {len(self.hung)} hung inside their client{where}"
        )

    def whereabouts(self) -> list[str]:
        named = [*((f"slot {slot}", each) for slot, each in enumerate(self.running)), *(("zombie", each) for each in self.zombies)]
        return [f"{name}, exit code {each.exit_code}: {each.where()}" for name, each in named]

    def await_fencing(self) -> None:
        """Every zombie must end. The copy shows whether it did harm before, as with all copiers.

        The Java client's consumer may end first: one that wakes up after its partitions were given
        away sometimes fails in its poll ("No current assignment for partition"), before its
        producer learns that it is fenced.
        """
        for zombie in self.zombies:
            self._await_end(zombie)
            self._check(zombie)
            if zombie.exit_code != FENCED:
                self.own_exits.append(f"a zombie ended with {zombie.exit_code}: {zombie.said()}")

    def _await_end(self, zombie: Copier) -> None:
        def ended() -> bool:
            if zombie.exit_code is None and zombie.call is not None and zombie.call.overdue() and self._coordinators_answer(zombie):
                self._count_hung(zombie)
                zombie.kill()
            return zombie.exit_code is not None

        # A zombie inside a call has that call's limit and the margin; then it ends, or counts as
        # hung.
        until(ended, "the zombie ends", seen=lambda: zombie.call)


def committed_offsets(access: Access) -> dict[int, int]:
    """The offsets that finished transactions of the group have committed. Empty while no
    coordinator answers."""
    topics = [OffsetFetchRequestTopics(name=INPUT, partition_indexes=list(range(INPUT_PARTITIONS)))]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=GROUP, member_id=None, member_epoch=-1, topics=topics)], require_stable=False
    )
    answer = ask_coordinator(access, GROUP, request, 9, key_type=GROUP_KEY)
    if answer is None or answer.groups[0].error_code:
        return {}
    return {each.partition_index: max(each.committed_offset, 0) for each in answer.groups[0].topics[0].partitions}
