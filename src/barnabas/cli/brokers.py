"""``barnabas brokers``: list the brokers of a cluster with their load, and unregister those that
are gone.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX, Cluster, reach
from barnabas.cli.cluster.topic_metadata import ask_for_all_topics
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

_MISSING = "-"


def register(app: typer.Typer) -> None:
    brokers = typer.Typer(help="List the brokers, and remove those that are gone for good.", no_args_is_help=True)
    brokers.command("list")(list_brokers)
    brokers.command("unregister")(unregister)
    app.add_typer(brokers, name="brokers")


def list_brokers(as_json: AsJson = False, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """List all registered brokers, running or not, with the partitions each leads and holds."""
    cluster = reach(bootstrap, config_file)
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    response: DescribeClusterResponse = Brokers(cluster).ask_controller(request, codes=lambda response: [response.error_code])
    refuse_error(response.error_code, response.error_message, "Cannot list the brokers")
    leads, replicas = _duties(cluster)
    rows: list[dict[str, Any]] = [
        {
            "broker": each.broker_id,
            # Kafka reports no address for a broker that is down.
            "address": f"{each.host}:{each.port}" if each.host else None,
            "rack": each.rack,
            "state": "fenced" if each.is_fenced else "active",
            "leads": leads[each.broker_id],
            "replicas": replicas[each.broker_id],
        }
        for each in sorted(response.brokers, key=lambda each: each.broker_id)
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Broker", "Address", "Rack", "State", "Leads", "Replicas"),
        [(row["broker"], row["address"] or _MISSING, row["rack"] or _MISSING, row["state"], row["leads"], row["replicas"]) for row in rows],
    )


def unregister(
    broker: Annotated[int, typer.Argument(metavar="BROKER", min=0, help="The broker's node.id.")],
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Remove a broker that has been stopped for good. A broker that still runs would register
    again."""
    response: UnregisterBrokerResponse = Brokers(reach(bootstrap, config_file)).ask_controller(
        UnregisterBrokerRequest(broker_id=broker), codes=lambda response: [response.error_code]
    )
    if response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED:
        raise Refused(f"There is no broker {broker}.")
    refuse_error(response.error_code, response.error_message, f"Cannot unregister broker {broker}")
    typer.echo(f"Broker {broker} is no longer part of the cluster.")


def _duties(cluster: Cluster) -> tuple[Counter[int], Counter[int]]:
    """How many partitions each broker leads, and how many replicas it holds."""
    topics = ask_for_all_topics(cluster.reachable, cluster.properties, seconds_max=ANSWER_SECONDS_MAX)
    partitions = [partition for topic in topics for partition in topic.partitions]
    leads = Counter(each.leader.id for each in partitions if each.leader is not None)
    replicas = Counter(node.id for each in partitions for node in each.replicas)
    return leads, replicas
