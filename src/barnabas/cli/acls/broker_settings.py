"""The settings of a broker that decide beside the rules.

Apache Kafka hides settings that are not its own, and ``super.users`` belongs to the authorizer, so
it does not tell them. A caller may also lack the right to read settings. Both mean: unknown.
"""

from __future__ import annotations

from typing import Final

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.security.acls.explanation import Settings
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse

_BROKER: Final = 4  # Kafka's number of this type of resource
_NAMES: Final = ("super.users", "allow.everyone.if.no.acl.found")


def authorizer_settings(brokers: Brokers) -> Settings:
    broker = brokers.all()[0]
    wanted = DescribeConfigsResource(resource_type=_BROKER, resource_name=str(broker.node_id), configuration_keys=list(_NAMES))
    response: DescribeConfigsResponse = brokers.ask(broker, DescribeConfigsRequest(resources=[wanted]))
    return Settings.of_broker({each.name: each.value for result in response.results for each in result.configs})
