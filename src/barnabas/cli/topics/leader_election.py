"""``barnabas topics elect-leaders``: move leadership to the preferred replicas, or elect a replica
that may have lost records.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.cluster.admin_request import error_words
from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX, reach
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.model.errors import ErrorCode
from barnabas.reassignment.assignment import PartitionName
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions

_PREFERRED, _UNCLEAN = 0, 1
_ELECTED, _NOT_NEEDED = "elected", "not needed"


def elect_leaders(
    preferred: Annotated[bool, typer.Option("--preferred", help="Elect the first replica if it is in sync; this is the default.")] = False,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="For partitions without a leader, elect any replica that is up. RECORDS MAY BE LOST.")
    ] = False,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="TOPIC", help="All partitions of this topic, unless --partition is given.")
    ] = None,
    partition: Annotated[
        list[int], typer.Option("--partition", metavar="N", min=0, help="A partition of the topic; may be given several times.")
    ] = [],  # noqa: B006
    every: Annotated[bool, typer.Option("--all", help="All partitions of all topics.")] = False,
    partitions_file: Annotated[
        Path | None, typer.Option("--partitions-file", metavar="FILE", help='{"partitions": [{"topic": "t", "partition": 0}]}')
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Make the controller elect leaders now."""
    if preferred and unclean:
        raise Refused("An election is --preferred or --unclean, not both.")
    if (topic is not None) + every + (partitions_file is not None) != 1:
        raise Refused("Choose the partitions with one of --topic, --partitions-file and --all.")
    if partition and topic is None:
        raise Refused("--partition chooses partitions of --topic, so give both.")
    named = _read_partitions(partitions_file) if partitions_file is not None else []
    cluster = reach(bootstrap, config_file)
    if topic is not None:
        (described,) = cluster.admin().describe_topics([topic]).values()
        named = [PartitionName(topic, each) for each in partition or (each.id for each in described.partitions)]
    request = ElectLeadersRequest(
        election_type=_UNCLEAN if unclean else _PREFERRED,
        topic_partitions=None if every else _by_topic(named),
        timeout_ms=int(ANSWER_SECONDS_MAX * 1000),
    )
    response: ElectLeadersResponse = Brokers(cluster).ask_controller(request, codes=lambda response: [response.error_code])
    refuse_error(response.error_code, None, "Cannot elect leaders")
    rows, failed = [], []
    for result in sorted(response.replica_election_results, key=lambda each: each.topic):
        for each in sorted(result.partition_result, key=lambda each: each.partition_id):
            name = PartitionName(result.topic, each.partition_id)
            if each.error_code in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED):
                rows.append((*name, _ELECTED if each.error_code == ErrorCode.NONE else _NOT_NEEDED))
            else:
                failed.append(f"{name}: {(each.error_message or error_words(each.error_code)).rstrip('.!')}")
    if as_json:
        print_json([{"topic": topic, "partition": number, "result": result} for topic, number, result in rows])
    elif rows:
        print_table(("Topic", "Partition", "Result"), rows)
    elif not failed:
        typer.echo("Every partition has its preferred leader already.")
    if failed:
        raise Refused(f"Cannot elect a leader of {'; '.join(failed)}.")


def _by_topic(partitions: list[PartitionName]) -> list[TopicPartitions]:
    found: dict[str, list[int]] = {}
    for each in sorted(set(partitions)):
        found.setdefault(each.topic, []).append(each.number)
    return [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in found.items()]


def _read_partitions(path: Path) -> list[PartitionName]:
    try:
        entries = json.loads(path.read_text("utf-8"))["partitions"]
        found = [PartitionName(str(each["topic"]), int(each["partition"])) for each in entries]
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f'{path} is not of the form {{"partitions": [{{"topic": "t", "partition": 0}}]}}.') from error
    if not found:
        raise Refused(f"{path} names no partitions.")
    return found
