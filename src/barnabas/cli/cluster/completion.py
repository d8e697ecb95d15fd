"""Names of topics, groups, settings and profiles, for the shell's completion.

A shell waits for the answer while the user looks at the cursor. So every wait here is short, and
any failure means that there is nothing to propose: no text of ours may appear in a command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import typer

from barnabas.cli.errors import Refused

if TYPE_CHECKING:
    from barnabas.cli.cluster.choice import Choice

# A pause that a person at a keyboard just notices.
SECONDS_MAX: Final = 1.0


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    def names(choice: Choice) -> Iterable[str]:
        from barnabas.wire.messages.metadata import MetadataRequest

        internal = incomplete.startswith("_")
        response = _ask(choice, MetadataRequest(topics=None, allow_auto_topic_creation=False))
        return (each.name for each in response.topics if internal or not each.is_internal)

    # After a comma or a colon come partitions, which are not completed.
    return _matching(context, incomplete, names, with_librdkafka=lambda client: client.list_topics(timeout=SECONDS_MAX).topics)


def complete_groups(context: typer.Context, incomplete: str) -> list[str]:
    def names(choice: Choice) -> Iterable[str]:
        from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
        from barnabas.wire.messages.list_groups import ListGroupsRequest

        # Each broker lists the groups that it coordinates.
        found = _ask(choice, DescribeClusterRequest(include_cluster_authorized_operations=False)).brokers
        for broker in found:
            yield from (each.group_id for each in _ask(choice, ListGroupsRequest(), f"{broker.host}:{broker.port}").groups)

    def listed(client: Any) -> Iterable[str]:
        return [each.group_id for each in client.list_consumer_groups(request_timeout=SECONDS_MAX).result(SECONDS_MAX).valid]

    return _matching(context, incomplete, names, with_librdkafka=listed)


def complete_topic_settings(incomplete: str) -> list[str]:
    """``name=``, so that the value can follow at once."""
    return [f"{name}=" for name in _setting_names({}) if name.startswith(incomplete)]


def complete_settings(context: typer.Context, incomplete: str) -> list[str]:
    """The settings of the resource that the command line names so far; of topics when it names
    none."""
    return [name for name in _setting_names(context.params) if name.startswith(incomplete)]


def complete_setting_values(context: typer.Context, incomplete: str) -> list[str]:
    return [f"{name}=" for name in complete_settings(context, incomplete)]


def _setting_names(resource: dict[str, Any]) -> list[str]:
    # Declarations of our own: Kafka's brokers have the same names, and no request is needed.
    if resource.get("broker") is not None or resource.get("broker_defaults"):
        from barnabas.config.broker_keys import BROKER_KEYS

        return sorted(BROKER_KEYS)
    if resource.get("group") is not None:
        from barnabas.config.group_keys import GROUP_KEYS

        return sorted(GROUP_KEYS)
    if resource.get("client_metrics") is not None:
        from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS

        return sorted(CLIENT_METRICS_KEYS)
    from barnabas.config.topic_keys import TOPIC_KEYS

    return sorted(TOPIC_KEYS)


def complete_profiles(incomplete: str) -> list[str]:
    from barnabas.cli.profiles.profile_file import ProfileFile

    try:
        return sorted(name for name in ProfileFile.read().profiles if name.startswith(incomplete))
    except Refused:
        return []


def _matching(
    context: typer.Context,
    incomplete: str,
    names: Callable[[Choice], Iterable[str]],
    *,
    with_librdkafka: Callable[[Any], Iterable[str]],
) -> list[str]:
    from barnabas.cli.cluster.admin_request import may_ask
    from barnabas.cli.cluster.options import options_in
    from barnabas.cli.cluster.reach import chosen

    try:
        choice, _ = chosen(context.params.get("bootstrap"), context.params.get("config_file"), options_in(context))
        found = names(choice) if may_ask(choice.properties) else _by_librdkafka(choice, with_librdkafka)
        return sorted({name for name in found if name.startswith(incomplete)})
    except Refused:
        return []


def _ask(choice: Choice, request: Any, address: str | None = None) -> Any:
    from barnabas.cli.cluster.admin_request import ask
    from barnabas.cli.cluster.options import DEFAULT_BOOTSTRAP
    from barnabas.cli.cluster.reach import check_addresses

    addresses = [address] if address else [text for text, _ in check_addresses(choice.addresses or DEFAULT_BOOTSTRAP)]
    refused = Refused("There are no addresses.")
    for each in addresses:
        try:
            return ask(each, choice.properties, request, seconds_max=SECONDS_MAX)
        except Refused as error:
            refused = error
    raise refused


def _by_librdkafka(choice: Choice, names: Callable[[Any], Iterable[str]]) -> Iterable[str]:
    from confluent_kafka import KafkaException

    from barnabas.cli.cluster.options import DEFAULT_BOOTSTRAP
    from barnabas.cli.cluster.reach import Cluster

    addresses = choice.addresses or DEFAULT_BOOTSTRAP
    try:
        return names(Cluster(addresses, addresses, choice.properties).admin().client)
    except (KafkaException, TimeoutError) as error:
        raise Refused(f"No names are known: {error}.") from error
