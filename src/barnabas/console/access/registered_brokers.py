"""All brokers that are registered, also those that are down."""

from __future__ import annotations

from barnabas.console.access.cluster_client import Broker, ClusterClient
from barnabas.console.access.refusals import refuse_error
from barnabas.console.errors import BadValue, NotFound
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse


async def registered_brokers(client: ClusterClient) -> list[Broker]:
    """In the order of their ids. A broker that is down is fenced, and may have no address."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    response: DescribeClusterResponse = await client.ask_any(request)
    refuse_error(response.error_code, response.error_message, "Cannot list the brokers")
    found = [Broker(each.broker_id, each.host, each.port, each.rack, each.is_fenced) for each in response.brokers]
    return sorted(found, key=lambda each: each.id)


async def registered_broker(client: ClusterClient, name: str) -> Broker:
    """Raises :class:`NotFound`."""
    if not name.isdecimal() or len(name) > 10:
        raise BadValue(f"A broker has a number, and not {name[:40]!r}.", "broker")
    for each in await registered_brokers(client):
        if each.id == int(name):
            return each
    raise NotFound(f"There is no broker {name}.")
