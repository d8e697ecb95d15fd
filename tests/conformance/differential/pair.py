"""Apache Kafka and Barnabas side by side, with the same configuration and the same requests.

Both are nodes of broker and controller with the feature levels that Barnabas has, so that a
difference is a difference of behaviour and not of features. Both sides keep the changes of one test
for the next one, so tests use names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from barnabas.controller.core.features import SUPPORTED_FEATURES
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.compiler import FieldNotInVersion, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from peers.apache_kafka import CLUSTER_ID, apache_kafka, free_port, run_tool, server_properties, write_properties
from tests.cli.running import Cli
from tests.conformance.differential.comparison import Deviation, described, deviations, plain
from tests.conformance.differential.raw_client import RawClient
from tests.waiting import until

# Settings that make both sides quick and quiet; they are part of what DescribeConfigs shows, so
# both must have them.
SETTINGS = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.retention.hours": "1000000",
    "num.partitions": "2",
    # Kafka collects changes of a group for a second; here each is answered at once.
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    # On a machine that is busy with other tests a broker may be silent for long, and would lose its
    # partitions.
    "broker.session.timeout.ms": "60000",
}


# The only voter needs no address to find the others.
_DYNAMIC_QUORUM = {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": "127.0.0.1:1"}


class Peer:
    """One of the two programs: connections to its broker's and its controller's listener, and the
    ids that it assigned."""

    def __init__(self, name: str, bootstrap: str, data: Path) -> None:
        self.name = name
        self.data = data
        self.broker = RawClient(bootstrap)
        self.controller = RawClient(self._controller_address())

    def _controller_address(self) -> str:
        request = DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])])
        (listener,) = self.broker.ask(request, 2).nodes[0].listeners
        return f"{listener.host}:{listener.port}"

    def close(self) -> None:
        self.broker.close()
        self.controller.close()

    def topic_id(self, name: str) -> Uuid:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = self.broker.ask(request, 12).topics
        assert topic.error_code == ErrorCode.NONE, f"{self.name} has no topic {name}"
        return Uuid(topic.topic_id)


Question: TypeAlias = "Any | Callable[[Peer, int], Any]"
"""A request, or a function that makes one for a peer and a version: ids differ from broker to broker, and a topic is made once."""


class Pair:
    def __init__(self, kafka: Peer, barnabas: Peer) -> None:
        self.kafka = kafka
        self.barnabas = barnabas

    @property
    def peers(self) -> tuple[Peer, Peer]:
        return self.kafka, self.barnabas

    def same(
        self,
        question: Question,
        versions: Iterable[int] | None = None,
        *,
        differ: Mapping[str, str] | None = None,
        to_controller: bool = False,
    ) -> list[tuple[Any, Any]]:
        """Asks both, in every version that can carry the question, and fails with all differences
        of the answers."""
        found: list[tuple[int, Deviation]] = []
        answers = []
        key = ApiKey(declaration_of(type(_made(question, self.kafka, 0))).key or 0)
        offered = stable_versions(key)
        for version in range(offered.lowest, offered.highest + 1) if versions is None else versions:
            try:
                encode(_made(question, self.kafka, version), version)
            except FieldNotInVersion:
                continue
            kafka, barnabas = (self.ask(peer, question, version, to_controller=to_controller) for peer in self.peers)
            answers.append((kafka, barnabas))
            differences = deviations(key.api_name, plain(kafka, version), plain(barnabas, version), differ or {})
            found += [(version, each) for each in differences]
        assert answers, "no version can carry this request"
        if found:
            raise AssertionError(f"{described(found)}\nasked: {_made(question, self.kafka, found[0][0])!r:.1000}")
        return answers

    def soon_same(self, question: Question, versions: Iterable[int] | None = None, *, differ: Mapping[str, str] | None = None) -> None:
        """The same for changes that take effect after the answer, because Kafka's brokers follow
        their controller with a delay."""
        asked = None if versions is None else list(versions)
        until(lambda: self.same(question, asked, differ=differ), "both give the same answer", retry_on=AssertionError)

    @staticmethod
    def ask(peer: Peer, question: Question, version: int, *, to_controller: bool = False) -> Any:
        return (peer.controller if to_controller else peer.broker).ask(_made(question, peer, version), version)

    def create(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """A topic on both sides, ready for use."""
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=1,
                    assignments=[],
                    configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
                )
            ]
        )
        for peer in self.peers:
            (made,) = peer.broker.ask(request, 7).topics
            assert made.error_code == ErrorCode.NONE, f"{peer.name}: {made.error_message}"
            self._await(peer, name, partitions)
        return name

    @staticmethod
    def _await(peer: Peer, name: str, partitions: int) -> None:
        """Kafka answers before its broker leads the new partitions, and also shows them in its
        metadata before."""
        asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=asked)])

        def codes() -> list[int]:
            return [each.error_code for each in peer.broker.ask(request, 10).topics[0].partitions]

        until(lambda: not any(codes()), f"{peer.name} leads {name}", seen=codes, pause_seconds=0.001)


def _made(question: Question, peer: Peer, version: int) -> Any:
    return question(peer, version) if callable(question) else question


@contextmanager
def kafka_and_barnabas(
    directory: Path,
    *,
    of_kafka: Mapping[str, str] | None = None,
    of_barnabas: Mapping[str, str] | None = None,
    classes: Path | None = None,
    dynamic_quorum: bool = False,
) -> Iterator[Pair]:
    """``classes`` are those of Kafka's plugins. A setting for one side is for something that the
    other side does not have. Quorums are of static voters, or dynamic ones of one voter each."""
    common = {**SETTINGS, **(_DYNAMIC_QUORUM if dynamic_quorum else {})}
    options = ["--standalone"] if dynamic_quorum else []
    with ExitStack() as stack:
        theirs = directory / "kafka"
        properties = directory / "format.properties"
        write_properties(properties, server_properties(theirs, free_port(), free_port(), common))
        levels = [part for name, level in feature_levels() for part in ("--feature", f"{name}={level}")]
        run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), *levels, *options)
        bootstrap, process = stack.enter_context(
            apache_kafka(theirs, extra={**common, **(of_kafka or {})}, format_storage=False, classes=classes)
        )
        # No test looks at its files any more, so it need not stop cleanly, which takes seconds.
        stack.callback(process.kill)
        kafka = Peer("Kafka", bootstrap, theirs)
        stack.callback(kafka.close)

        ours = directory / "barnabas"
        settings = server_properties(ours, free_port(), free_port(), {**common, **(of_barnabas or {})})
        write_properties(properties, settings)
        Cli()("storage", "format", "--cluster-id", CLUSTER_ID, "--config", properties, *options)
        node = stack.enter_context(EmbeddedBroker(data_dir=ours, config=settings))
        barnabas = Peer("Barnabas", node.bootstrap, ours)
        stack.callback(barnabas.close)
        yield Pair(kafka, barnabas)


# Features that Kafka 4.3 enables in a new cluster. Those that Barnabas lacks get level 0.
_OPTIONAL_FEATURES = ("transaction.version", "group.version", "share.version", "streams.version", "eligible.leader.replicas.version")


def feature_levels() -> Iterator[tuple[str, int]]:
    for name in _OPTIONAL_FEATURES:
        yield name, SUPPORTED_FEATURES[name].highest if name in SUPPORTED_FEATURES else 0
