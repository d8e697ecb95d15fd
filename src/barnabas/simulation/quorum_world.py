"""Level one: a quorum and nothing on top. Real cores, drivers and logs; a client that appends to
every leader.
"""

from __future__ import annotations

from random import Random

from barnabas.model.ids import NodeId
from barnabas.simulation.history import CommittedLog, Leaders
from barnabas.simulation.host import Host
from barnabas.simulation.nemesis import BOUNDARY, CLOCK, DOUBLING, KILL, LATENESS, LOSS, ONE_WAY, PARTITION, PAUSE, POWER, REFUSAL, SLOW
from barnabas.simulation.quorum_process import BROKER_RESOURCE, QuorumProcess
from barnabas.simulation.world import Scenario, World
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord

# Between two appends of the client.
APPEND_MS_MAX = 300
RECORDS_MAX = 3
SNAPSHOT_MS_MAX = 2000


class QuorumWorld(World):
    bearable = (KILL, POWER, BOUNDARY, PAUSE, SLOW, CLOCK, PARTITION, ONE_WAY, LOSS, DOUBLING, LATENESS, REFUSAL)
    process_class: type[QuorumProcess] = QuorumProcess

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.leaders = Leaders("quorum")
        self.committed = CommittedLog("metadata log")
        self.processes: dict[str, QuorumProcess] = {}
        self._clients = Random(self.chance.getrandbits(64))
        self._appended = 0
        self._resting = False
        self._acknowledged = 0
        self._needed: int | None = None

    def size(self, chance: Random) -> int:
        return chance.choice([3, 3, 3, 5])

    # -- life

    def begin(self) -> None:
        for host in self.hosts:
            self.restart(host)
        self._append_later()
        self._snapshot_later()

    def restart(self, host: Host) -> None:
        self.say(f"{host.name} starts")
        host.boot(lambda: self.start_process(host))

    def start_process(self, host: Host) -> None:
        process = self.process_class(self, host, NodeId(self.hosts.index(host) + 1))
        self.processes[host.name] = process
        process.start()

    def died(self, host: Host) -> None:
        self.processes.pop(host.name, None)
        self.committed.forget_node(host.name)

    # -- what the checker sees

    def became_leader(self, process: QuorumProcess, epoch: int) -> None:
        self.say(f"{process.host.name} leads epoch {epoch}")
        self.leaders.leads(process.host.name, epoch)
        log = process.log
        self.committed.leads(process.host.name, log.end_offset, process.written, epoch=epoch, log_start_offset=log.start_offset)

    def has_committed(self, process: QuorumProcess, high_watermark: int) -> None:
        self.say(f"{process.host.name} has committed {high_watermark}")
        self.committed.committed(process.host.name, high_watermark, process.written, log_start_offset=process.log.start_offset)

    def voted(self, process: QuorumProcess, epoch: int, candidate: int) -> None:
        """The node has decided, and is about to write its vote."""
        self.say(f"{process.host.name} votes for n{candidate} in epoch {epoch}")
        self.nemesis.before_promise(process.host)

    def truncated(self, process: QuorumProcess, end_offset: int) -> None:
        self.say(f"{process.host.name} truncates its log to {end_offset}")
        self.committed.cut(process.host.name, end_offset)

    # -- a client

    def _append_later(self) -> None:
        self.scheduler.after_ms(self._clients.random() * APPEND_MS_MAX, self._append)

    def _append(self) -> None:
        # Also to nodes that only believe that they lead: their appends must not be committed.
        leading = [process for process in self.processes.values() if process.driver.leading and not process.host.paused]
        if leading:
            process = self._clients.choice(leading)
            process.host.run(process.host.incarnation, self._append_to, process)
        if self._resting and self._needed is not None and self.committed.end_offset >= self._needed:
            return
        self._append_later()

    def _append_to(self, process: QuorumProcess) -> None:
        records: list[MetadataRecord] = []
        for _ in range(self._clients.randint(1, RECORDS_MAX)):
            self._appended += 1
            records.append(ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name="change", value=f"{self._appended}"))
        end_offset = process.driver.append(records)
        if self._resting and self._needed is None:
            self._needed = end_offset

    def _snapshot_later(self) -> None:
        self.scheduler.after_ms(self._clients.random() * SNAPSHOT_MS_MAX, self._snapshot)

    def _snapshot(self) -> None:
        if self.processes:
            process = self._clients.choice(list(self.processes.values()))
            process.host.run(process.host.incarnation, process.take_snapshot)
        self._snapshot_later()

    # -- the end

    def rest(self) -> None:
        self._resting = True

    def unsettled(self) -> str | None:
        if len(self.processes) < len(self.hosts):
            return "not all nodes are up"
        leading = [process for process in self.processes.values() if process.driver.leading]
        if len(leading) != 1:
            return f"{len(leading)} nodes lead"
        if self._needed is None or self.committed.end_offset < self._needed:
            return "nothing was committed since"
        (leader,) = leading
        end_offset = leader.log.end_offset
        for process in self.processes.values():
            if process.driver.high_watermark != end_offset:
                return f"{process.host.name} has committed {process.driver.high_watermark}, the leader's log ends at {end_offset}"
        return None

    def last_look(self) -> None:
        for process in self.processes.values():
            log = process.log
            self.committed.holds(process.host.name, log.end_offset, process.written, log_start_offset=log.start_offset)

    def facts(self) -> dict[str, int]:
        return {"epochs": self.leaders.epochs, "appended": self._appended, "committed": self.committed.end_offset}
