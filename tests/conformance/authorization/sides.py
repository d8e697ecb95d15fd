"""Apache Kafka and Barnabas with the same users, passwords and rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from barnabas.env.entropy import SystemEntropy
from barnabas.env.real_disk import RealDisk
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, Uuid
from barnabas.node.format import format_directories
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from peers.apache_kafka import CLUSTER_ID, apache_kafka, free_port, run_tool, server_properties, write_properties
from tests.conformance.differential.pair import SETTINGS, feature_levels
from tests.conformance.differential.raw_client import RawClient
from tests.waiting import until

ADMIN = "admin"
PASSWORD = "secret"
_IDENTIFYING = ("resource_type", "resource_name", "name", "topic", "topic_name", "topic_id", "group_id", "partition_index")
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


class LoggedIn(RawClient):
    """Logs in with PLAIN on every new connection."""

    def __init__(self, address: str, user: str, client_id: str | None = "differential") -> None:
        super().__init__(address, client_id)
        self._user = user

    def send_bytes(self, data: bytes) -> None:
        if self._socket is None:
            super().send_bytes(b"")  # connects
            handshake = self.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            assert handshake.error_code == ErrorCode.NONE, handshake
            token = b"\0".join((b"", self._user.encode(), PASSWORD.encode()))
            login = self.ask(SaslAuthenticateRequest(auth_bytes=token), 2)
            assert login.error_code == ErrorCode.NONE, login
        super().send_bytes(data)


class Side:
    """One of the two programs."""

    def __init__(self, name: str, broker: str, controller: str) -> None:
        self.name = name
        self._addresses = {"broker": broker, "controller": controller}
        self._clients: dict[tuple[str, str], LoggedIn] = {}
        self._ids: dict[str, Uuid] = {}
        self._fresh = count()

    def client(self, user: str, listener: str = "broker") -> LoggedIn:
        found = self._clients.get((user, listener))
        if found is None:
            found = self._clients[user, listener] = LoggedIn(self._addresses[listener], user)
        return found

    @property
    def admin(self) -> LoggedIn:
        return self.client(ADMIN)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def fresh(self, prefix: str = "fresh") -> str:
        """A name that was not used before. Both sides give out the same names in the same order."""
        return f"{prefix}-{next(self._fresh)}"

    def topic_id(self, name: str) -> Uuid:
        """Of a topic that is never deleted; a random one for a topic that does not exist."""
        if name not in self._ids:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            (topic,) = self.admin.ask(request, 12).topics
            self._ids[name] = Uuid(topic.topic_id) if topic.error_code == ErrorCode.NONE else Uuid(name.encode().ljust(16, b"."))
        return self._ids[name]

    def named(self, value: Any) -> Any:
        """An answer with the names of topics in place of their ids, and with lists in the order of
        what their items name: Kafka answers in the order of hash maps."""
        match value:
            case dict():
                return {key: self.named(each) for key, each in value.items()}
            case list():
                return sorted((self.named(each) for each in value), key=_identity)
            case bytes():
                return next((name for name, topic_id in self._ids.items() if topic_id == value), value)
            case _:
                return value

    def create(self, name: str, partitions: int = 1) -> str:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
        (made,) = self.admin.ask(CreateTopicsRequest(topics=[topic]), 7).topics
        assert made.error_code == ErrorCode.NONE, f"{self.name}: {made.error_message}"
        asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=asked)])

        def leads() -> bool:
            return not any(each.error_code for each in self.admin.ask(request, 10).topics[0].partitions)

        until(leads, f"{self.name} leads {name}", pause_seconds=0.001)
        return name

    def until(self, request: Any, version: int, fits: Any) -> None:
        until(lambda: fits(self.admin.ask(request, version)), f"{self.name} answers as expected", pause_seconds=0.01)


def _identity(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    return " ".join(str(item[each]) for each in _IDENTIFYING if each in item)


def settings(users: list[str], port: int, controller_port: int) -> dict[str, str]:
    known = " ".join(f'user_{name}="{PASSWORD}"' for name in (ADMIN, *users))
    jaas = f'{_MODULE} required username="{ADMIN}" password="{PASSWORD}" {known};'
    return SETTINGS | {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas,
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN}",
        "delegation.token.secret.key": "the same on all nodes",
        "auto.create.topics.enable": "true",
    }


@contextmanager
def both_sides(directory: Path, users: list[str]) -> Iterator[tuple[Side, Side]]:
    with ExitStack() as stack:
        port, controller_port = free_port(), free_port()
        theirs = directory / "kafka"
        extra = settings(users, port, controller_port)
        properties = directory / "format.properties"
        write_properties(properties, server_properties(theirs, port, controller_port, extra))
        levels = [part for name, level in feature_levels() for part in ("--feature", f"{name}={level}")]
        run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), *levels)
        bootstrap, process = stack.enter_context(apache_kafka(theirs, extra=extra, format_storage=False, port=port))
        # No test looks at its files any more, so it need not stop cleanly, which takes seconds.
        stack.callback(process.kill)
        kafka = Side("Kafka", bootstrap, f"127.0.0.1:{controller_port}")
        stack.callback(kafka.close)

        ours = directory / "barnabas"
        format_directories(RealDisk(), [str(ours)], cluster_id=CLUSTER_ID, node_id=NodeId(1), entropy=SystemEntropy(), now_ms=0)
        port, controller_port = free_port(), free_port()
        own = server_properties(ours, port, controller_port, settings(users, port, controller_port))
        node = stack.enter_context(EmbeddedBroker(data_dir=ours, config=own))
        barnabas = Side("Barnabas", node.bootstrap, f"127.0.0.1:{controller_port}")
        stack.callback(barnabas.close)
        yield kafka, barnabas
