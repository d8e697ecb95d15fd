"""``barnabas share-groups dead-letters``: records that a member rejected."""

from __future__ import annotations

from confluent_kafka import AcknowledgeType

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.cli.share_groups.test_share_groups import member
from tests.waiting import until


def test_rejected_records_are_listed_with_their_origin(cli: Cli, broker: EmbeddedBroker, orders: str) -> None:
    letters = f"dlq.{orders}"
    assert cli("share-groups", "dead-letters", orders).complaint.startswith(f"{orders} keeps no dead letters")
    cli("topics", "create", letters, "--config", "errors.deadletterqueue.group.enable=true").worked()
    cli("configs", "alter", "--group", orders, "--set", f"errors.deadletterqueue.topic.name={letters}").worked()
    assert cli("share-groups", "dead-letters", orders, "--json").json == []
    accept, reject = AcknowledgeType.ACCEPT, AcknowledgeType.REJECT
    with member(broker, orders, accept, reject, accept):
        (letter,) = until(lambda: cli("share-groups", "dead-letters", orders, "--json").json, "the letter is written")
    assert (letter["topic"], letter["deliveries"]) == (orders, "1")
    assert "rejected" in letter["reason"]
    (row,) = cli("share-groups", "dead-letters", orders).rows
    assert row[0] == orders
    assert cli("share-groups", "dead-letters", orders, "--topic", "dlq.none").complaint.startswith("The topic dlq.none cannot be read")
