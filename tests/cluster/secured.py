"""Nodes with SASL_SSL and ACLs: their certificates, users and settings, and the stages in which a
plaintext cluster becomes a secured one.

Nodes log in to each other as ``node``, with PLAIN. The clients under test log in as ``app``, which
ACLs allow what these tests do, with PLAIN or with SCRAM-SHA-512. ``admin`` and ``node`` are super
users.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from barnabas.config.broker_keys.security import STANDARD_AUTHORIZER
from barnabas.devcluster.certificates import CertificateAuthority
from peers.cluster import Cluster, Node
from peers.ports import free_ports
from tests.cluster.access import Access, Login, Security
from tests.waiting import PATIENCE_SECONDS

SECURE, CONTROLLER_SECURE = "SECURE", "CONTROLLER_SECURE"
SCRAM = "SCRAM-SHA-512"
NODE, ADMIN, APP = Login("node", "of-nodes"), Login("admin", "of-admin"), Login("app", "of-app")
STRANGER = Login("stranger", "of-stranger")
_JAAS = (
    f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{NODE.user}" password="{NODE.password}" '
    + " ".join(f'user_{each.user}="{each.password}"' for each in (NODE, ADMIN, APP, STRANGER))
    + ";"
)
_SCRAM_JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_ITERATIONS = 4096


class Certificates:
    """The key stores and trust stores of nodes, as PEM files, and the trust store of clients.

    ``next_authority`` is the one that replaces ``authority`` when certificates are renewed. Clients
    trust both from the start, because librdkafka reads its trust store only once.
    """

    def __init__(self, directory: Path, nodes: Iterable[int]) -> None:
        self._directory = directory
        directory.mkdir()
        self.nodes = list(nodes)
        now = datetime.datetime.now(datetime.UTC)
        self.authority, self.next_authority = (CertificateAuthority.make(each, now=now) for each in ("first", "second"))
        self.trust_in_clients(self.authority, self.next_authority)
        for node_id in self.nodes:
            self.trust_in_node(node_id, self.authority)
            self.issue(node_id, self.authority)

    @property
    def trusted_by_clients(self) -> Path:
        return self._directory / "clients-trust.pem"

    def keys_of(self, node_id: int) -> Path:
        return self._directory / f"node-{node_id}.pem"

    def trusted_by(self, node_id: int) -> Path:
        return self._directory / f"node-{node_id}-trust.pem"

    def trust_in_clients(self, *authorities: CertificateAuthority) -> None:
        replace_file(self.trusted_by_clients, "".join(each.certificate_pem for each in authorities))

    def trust_in_node(self, node_id: int, *authorities: CertificateAuthority) -> None:
        replace_file(self.trusted_by(node_id), "".join(each.certificate_pem for each in authorities))

    def issue(self, node_id: int, authority: CertificateAuthority) -> None:
        """A new key and certificate for the node."""
        issued = authority.issue(f"node-{node_id}", ["127.0.0.1", "localhost"], now=datetime.datetime.now(datetime.UTC))
        replace_file(self.keys_of(node_id), issued.key_pem + issued.chain_pem)

    def properties(self, node_id: int) -> dict[str, str]:
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.keys_of(node_id)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted_by(node_id)),
            # A node that does not show its certificate is recognised by its password alone; one
            # that shows a certificate must show one that is trusted.
            "ssl.client.auth": "requested",
        }


def replace_file(path: Path, text: str) -> None:
    """As renewal tools do it: the file is whole at every moment."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


class Securing:
    """The stages from PLAINTEXT to SASL_SSL with ACLs. Each is one rolling restart.

    With ``dynamic_voters`` the voters are in the metadata log, and nodes have bootstrap servers.
    """

    def __init__(self, cluster: Cluster, directory: Path, *, dynamic_voters: bool = False) -> None:
        self.cluster = cluster
        self._dynamic_voters = dynamic_voters
        self.certificates = Certificates(directory / "certificates", cluster.nodes)
        self._ports: Mapping[int, tuple[int, int]] = {}

    @property
    def security(self) -> Security:
        return Security(self.certificates.trusted_by_clients, APP, ADMIN)

    @property
    def with_scram(self) -> Security:
        return replace(self.security, client=replace(APP, mechanism=SCRAM))

    def secure_from_the_start(self, properties: Mapping[str, str] | None = None) -> None:
        """For a cluster that has not been started yet."""
        self._ports = {node.id: (node.port, node.controller_port) for node in self.cluster.nodes.values()}
        for node in self.cluster.nodes.values():
            self.remove_plaintext(node)
            node.properties |= properties or {}

    def add_secure_listeners(self, node: Node) -> None:
        if not self._ports:
            ports = iter(free_ports(2 * len(self.cluster.nodes)))
            self._ports = {each: (next(ports), next(ports)) for each in self.cluster.nodes}
        self._listen(node, plaintext=True)
        self._find_voters_on(node, {each.id: each.controller_port for each in self.cluster.controllers})
        node.properties |= self._settings(node) | {"controller.listener.names": f"CONTROLLER,{CONTROLLER_SECURE}"}

    def move_nodes_over(self, node: Node) -> None:
        """Nodes reach each other on the secure listeners from now on. ACLs are checked where there
        are any; nodes that have not moved yet are anonymous, and there are none for them."""
        self._find_voters_on(node, {each.id: self._ports[each.id][1] for each in self.cluster.controllers})
        node.properties |= {
            "inter.broker.listener.name": SECURE,
            "controller.listener.names": f"{CONTROLLER_SECURE},CONTROLLER",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": f"User:{NODE.user};User:{ADMIN.user}",
            "allow.everyone.if.no.acl.found": "true",
        }

    def move_tests_over(self) -> None:
        """The test itself reaches the nodes on the secure listeners from now on."""
        for node in self.cluster.nodes.values():
            node.port, node.controller_port = node.advertised_port, node.advertised_controller_port = self._ports[node.id]

    def remove_plaintext(self, node: Node) -> None:
        self.move_nodes_over(node)
        self._listen(node, plaintext=False)
        node.properties |= self._settings(node) | {
            "controller.listener.names": CONTROLLER_SECURE,
            "allow.everyone.if.no.acl.found": "false",
        }

    def _find_voters_on(self, node: Node, ports: Mapping[int, int]) -> None:
        if self._dynamic_voters:
            node.properties.pop("controller.quorum.voters", None)
            node.properties["controller.quorum.bootstrap.servers"] = ",".join(f"127.0.0.1:{port}" for port in ports.values())
        else:
            node.properties["controller.quorum.voters"] = ",".join(f"{each}@127.0.0.1:{port}" for each, port in ports.items())

    def _listen(self, node: Node, *, plaintext: bool) -> None:
        port, controller_port = self._ports[node.id]
        listeners = []
        if node.is_broker:
            listeners += [f"PLAINTEXT://127.0.0.1:{node.port}"] * plaintext + [f"{SECURE}://127.0.0.1:{port}"]
        if node.is_controller:
            listeners += [f"CONTROLLER://127.0.0.1:{node.controller_port}"] * plaintext
            listeners += [f"{CONTROLLER_SECURE}://127.0.0.1:{controller_port}"]
        node.properties["listeners"] = node.properties["advertised.listeners"] = ",".join(listeners)

    def _settings(self, node: Node) -> dict[str, str]:
        return {
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{SECURE}:SASL_SSL,{CONTROLLER_SECURE}:SASL_SSL",
            "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
            f"listener.name.{CONTROLLER_SECURE.lower()}.sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            f"listener.name.{SECURE.lower()}.plain.sasl.jaas.config": _JAAS,
            f"listener.name.{SECURE.lower()}.{SCRAM.lower()}.sasl.jaas.config": _SCRAM_JAAS,
            f"listener.name.{CONTROLLER_SECURE.lower()}.plain.sasl.jaas.config": _JAAS,
            **self.certificates.properties(node.id),
        }


# -- the user of the clients ------------------------------------------------------------------


def allow_app(access: Access) -> None:
    """ACLs for everything that clients of these tests do: topics, groups and transactional ids."""
    admin = AdminClient({**access.as_admin.librdkafka, "log_level": 2})
    topic, group, transactional_id = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
    wanted = [
        (topic, "t", ResourcePatternType.LITERAL, AclOperation.READ),
        (topic, "t", ResourcePatternType.LITERAL, AclOperation.WRITE),
        (topic, "input", ResourcePatternType.LITERAL, AclOperation.READ),
        (topic, "input", ResourcePatternType.LITERAL, AclOperation.WRITE),
        (topic, "output", ResourcePatternType.PREFIXED, AclOperation.READ),
        (topic, "output", ResourcePatternType.PREFIXED, AclOperation.WRITE),
        (group, "*", ResourcePatternType.LITERAL, AclOperation.READ),
        (transactional_id, "copier-", ResourcePatternType.PREFIXED, AclOperation.WRITE),
        (transactional_id, "sender-", ResourcePatternType.PREFIXED, AclOperation.WRITE),
    ]
    bindings = [
        AclBinding(kind, name, pattern, f"User:{APP.user}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, pattern, operation in wanted
    ]
    for each in admin.create_acls(bindings, request_timeout=PATIENCE_SECONDS).values():
        each.result(PATIENCE_SECONDS)


def set_scram_password(access: Access, password: str) -> None:
    admin = AdminClient({**access.as_admin.librdkafka, "log_level": 2})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
    changes: list[UserScramCredentialAlteration] = [UserScramCredentialUpsertion(APP.user, info, password.encode())]
    for each in admin.alter_user_scram_credentials(changes, request_timeout=PATIENCE_SECONDS).values():
        each.result(PATIENCE_SECONDS)
