"""The authority and all certificates of a cluster are replaced while clients work, and no node is
restarted.

The order is that of every change of an authority: nodes trust the new one as well, then show
certificates of the new one, then no longer trust the old one. At the end a node is killed, so the
others, which have only ever been renewed, must connect to a node that was started with the new
files, and it to them.
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from peers.cluster import QUICK, Node
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.chaos import PARTITIONS, TOPIC, Chaos, workers_for
from tests.cluster.checker import check
from tests.cluster.final_reads import read_to_the_end
from tests.cluster.history import History, Key, Outcome
from tests.cluster.secured import CONTROLLER_SECURE, SECURE, Certificates, Securing
from tests.cluster.secured_cluster import secured_with
from tests.cluster.view import View
from tests.cluster.workers import IdempotentSender, working
from tests.scenarios.client import Client
from tests.waiting import until

BROKER_RESOURCE = 4
LISTENERS = (SECURE, CONTROLLER_SECURE)

Announce = Callable[[View, Certificates, Node], None]


def by_file(view: View, certificates: Certificates, node: Node) -> None:
    """The node looks at its files now and then."""


def by_request(view: View, certificates: Certificates, node: Node) -> None:
    """IncrementalAlterConfigs names the files again, which makes the node read them at once."""
    values = {
        f"listener.name.{listener.lower()}.{name}": value
        for listener in LISTENERS
        for name, value in certificates.properties(node.id).items()
        if name.endswith(".location")
    }
    with view.access.connect(node.bootstrap, 30) as client:
        client.alter_configs(BROKER_RESOURCE, str(node.id), values)


@pytest.mark.parametrize("announce", [by_request, pytest.param(by_file, marks=pytest.mark.soak)])
def test_certificates_and_their_authority_are_replaced_under_load(tmp_path: Path, announce: Announce) -> None:
    history, keys = History(), [Key(TOPIC, partition) for partition in range(PARTITIONS)]
    securing = Securing(barnabas_cluster(brokers=3, properties=QUICK), tmp_path)
    certificates = securing.certificates
    old, new = certificates.authority, certificates.next_authority
    with secured_with(securing) as view:
        cluster = view.cluster
        view.create_topic(TOPIC, PARTITIONS)
        chaos = Chaos(cluster, view, history, keys, random.Random(1))

        def on_every_node(change: Callable[[int], None]) -> None:
            for node in cluster.nodes.values():
                renewed = renewals(node)
                change(node.id)
                announce(view, certificates, node)
                until(lambda node=node, renewed=renewed: renewals(node) >= renewed + len(LISTENERS), f"node {node.id} renews")  # type: ignore[misc]
            chaos.await_progress()

        with working(workers_for(view.access, history, keys, 1, IdempotentSender)):
            chaos.await_progress()
            on_every_node(lambda node_id: certificates.trust_in_node(node_id, old, new))
            on_every_node(lambda node_id: certificates.issue(node_id, new))
            on_every_node(lambda node_id: certificates.trust_in_node(node_id, new))
            certificates.trust_in_clients(new)
            for node in cluster.nodes.values():
                for port in (node.port, node.controller_port):
                    assert shows_certificate_of(port, new.certificate_pem)
                    assert not shows_certificate_of(port, old.certificate_pem)
            chaos.do("kill leader")
            chaos.await_progress()
        read_to_the_end(view.access, history, keys)
        check(history)
        assert not history.complaints, history.complaints[:5]
        assert history.done("send", Outcome.INFO) == 0, "a sender was told of an error"


def renewals(node: Node) -> int:
    return node.log_text().count('"certificates renewed"')


def shows_certificate_of(port: int, trusted_pem: str) -> bool:
    try:
        Client(f"127.0.0.1:{port}", tls=ssl.create_default_context(cadata=trusted_pem)).close()
    except ssl.SSLCertVerificationError:
        return False
    return True
