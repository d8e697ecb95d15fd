"""One node of a simulated quorum: the real core, driver and log. It may die between any two
effects, and the checker sees every effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from barnabas.metadata.snapshot import SnapshotId
from barnabas.model.ids import NodeId, Uuid
from barnabas.model.promise import Promise
from barnabas.quorum.core.effects import Effect, Persist, Truncate
from barnabas.quorum.core.node import QuorumNode
from barnabas.quorum.core.quorum import Identity
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, configured_voters
from barnabas.quorum.driver import QuorumDriver
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.simulation.history import Written
from barnabas.simulation.host import Host, HostCrashed
from barnabas.simulation.network import SimulatedPeers
from barnabas.storage.log_settings import LogSettings
from barnabas.wire.messages.vote import VoteRequest, VoteResponse
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord

if TYPE_CHECKING:
    from barnabas.simulation.quorum_world import QuorumWorld

CONTROLLER_PORT = 9093
LISTENER = "CONTROLLER"
DATA = "/data"
CLUSTER_ID = "simulated-cluster-0000"
# Small, so that a run rolls segments and drops them once a snapshot covers them.
SEGMENT_BYTES = 1024
METADATA_BYTES_MAX = 2048
# The content of each snapshot: the digest of the log that it replaces.
SNAPSHOT_KEY = "log up to here"
BROKER_RESOURCE = 4


class WatchedDriver(QuorumDriver):
    """The real driver, observed and interrupted between effects."""

    process: QuorumProcess

    def _perform(self, effect: Effect) -> None:
        self.process.host.effect()
        if isinstance(effect, Persist) and effect.state.voted_id >= 0:
            self.process.world.voted(self.process, effect.state.epoch, effect.state.voted_id)
        self.do(effect)
        if isinstance(effect, Truncate):
            self.process.world.truncated(self.process, self.process.log.end_offset)

    def do(self, effect: Effect) -> None:
        super()._perform(effect)


class QuorumProcess:
    driver_class: type[WatchedDriver] = WatchedDriver

    def __init__(self, world: QuorumWorld, host: Host, node_id: NodeId) -> None:
        self.world = world
        self.host = host
        self.node_id = node_id
        _format(host)
        settings = LogSettings(segment_bytes=SEGMENT_BYTES)
        self.log = MetadataLog(host.disk, DATA, settings, clean=False, now_ms=host.clock.wall_ms())
        voters = [(NodeId(number + 1), each.name, CONTROLLER_PORT) for number, each in enumerate(world.hosts)]
        key = ReplicaKey(node_id, Uuid(node_id.to_bytes(16, "big")))
        identity = Identity(key, CLUSTER_ID, LISTENER, (Endpoint(LISTENER, host.name, CONTROLLER_PORT),))
        self.core = QuorumNode(identity, configured_voters(LISTENER, voters), self.log.read_quorum_state(), None, host.entropy)
        self.driver = self.driver_class(
            self.core,
            self.log,
            SimulatedPeers(world.network, host),
            host.clock,
            cast(Any, None),
        )
        self.driver.process = self

    def start(self) -> None:
        self.world.network.listen(self.host, CONTROLLER_PORT, self.serve)
        self._check_snapshot()
        self.driver.start(self)

    def serve(self, request: Any) -> Promise[Any]:
        answer = self.driver.serve(request)
        if isinstance(request, VoteRequest):
            answer.then(lambda response: self._look_at_vote(request, response))
        return answer

    def _look_at_vote(self, request: VoteRequest, response: VoteResponse) -> None:
        asked = request.topics[0].partitions[0]
        if not asked.pre_vote and response.topics and response.topics[0].partitions[0].vote_granted:
            self.world.leaders.votes(self.host.name, asked.replica_epoch, asked.replica_id)

    # -- callbacks of the driver

    def committed(self, high_watermark: int) -> None:
        self.world.has_committed(self, high_watermark)

    def became_candidate(self, epoch: int) -> None:
        pass

    def became_leader(self, epoch: int, epoch_start_offset: int) -> None:
        self.world.became_leader(self, epoch)

    def resigned(self, epoch: int) -> None:
        self.world.say(f"{self.host.name} resigns epoch {epoch}")

    def snapshot_installed(self, snapshot: SnapshotId) -> None:
        self.world.say(f"{self.host.name} has fetched the snapshot of {snapshot.end_offset}")
        self._check_snapshot()

    def leader_changed(self) -> None:
        pass

    def failed(self, error: BaseException) -> None:
        raise HostCrashed(f"ends itself: {error}") from error

    def misbehaved(self, problem: str) -> None:
        self.world.say(f"{self.host.name} complains: {problem}")

    # -- logs and snapshots

    def written(self, start: int, end: int) -> Iterator[Written]:
        # The checker reads the bytes, also of control batches.
        for header, _ in self.log._log.batches(start, end):  # noqa: SLF001
            yield Written(header.base_offset, header.last_offset + 1, header.leader_epoch, header.crc)

    def take_snapshot(self) -> None:
        """A snapshot of everything committed, as a real node makes when its log has become long;
        its content identifies the log.
        """
        end_offset = self.driver.high_watermark
        known = self.world.committed.up_to(end_offset)
        if known is None or (self.log.snapshots() and self.log.snapshots()[-1].end_offset >= end_offset):
            return
        digest, epoch = known
        records: list[MetadataRecord] = [
            ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name=SNAPSHOT_KEY, value=f"{digest}")
        ]
        now_ms = self.host.clock.wall_ms()
        self.log.write_snapshot(SnapshotId(end_offset, epoch), records, last_timestamp=now_ms, now_ms=now_ms)
        self.log.retain(size_bytes_max=METADATA_BYTES_MAX, older_than_ms=0)
        self.driver.snapshots_changed()
        self.world.say(f"{self.host.name} has a snapshot of {end_offset}, its log begins at {self.log.start_offset}")

    def _check_snapshot(self) -> None:
        latest = self.log.read_latest_snapshot()
        if latest is not None:
            (record,) = latest[1]
            assert isinstance(record, ConfigRecord)
            self.world.committed.stands_for(self.host.name, latest[0].end_offset, int(record.value or 0))


def _format(host: Host) -> None:
    """The same files as after ``storage format``: a directory that survives a power cut."""
    host.disk.make_directory(DATA)
    host.disk.sync_directory("/")
