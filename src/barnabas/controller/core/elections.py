"""Leader elections on request, and the periodic return to preferred leaders.

The first replica of a partition is its preferred leader. Replicas are placed so that preferred
leaders are spread evenly; after restarts the actual leaders are not. A request names partitions, or
means all of them.
"""

from __future__ import annotations

from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partition_change import Election, Wanted
from barnabas.controller.core.partitions import Partitions
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

# Periodic elections come in batches of this size: one batch is one write, and heartbeats must be
# served in between.
ELECTIONS_PER_TICK_MAX = 1000
_PREFERRED, _UNCLEAN = 0, 1
_ELECTIONS = {_PREFERRED: Election.PREFERRED, _UNCLEAN: Election.UNCLEAN}


def elect_leaders(partitions: Partitions, request: ElectLeadersRequest) -> Outcome:
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        return Outcome(ElectLeadersResponse(throttle_time_ms=0, error_code=ErrorCode.INVALID_REQUEST, replica_election_results=[]))
    results = []
    topics = partitions.image.topics.by_name
    if request.topic_partitions is None:
        for name, topic in topics.items():
            elected = [_elect(partitions, name, index, election) for index in topic.partitions]
            # A request for all partitions gets no entries for those that needed no election.
            needed = [each for each in elected if each.error_code != ErrorCode.ELECTION_NOT_NEEDED]
            results.append(ReplicaElectionResult(topic=name, partition_result=needed))
    else:
        for asked in request.topic_partitions:
            elected = [_elect(partitions, asked.topic, index, election) for index in asked.partitions]
            results.append(ReplicaElectionResult(topic=asked.topic, partition_result=elected))
    response = ElectLeadersResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, replica_election_results=results)
    return Outcome(response, partitions.records)


def _elect(partitions: Partitions, name: str, index: int, election: Election) -> PartitionResult:
    def answer(error: ErrorCode, message: str | None) -> PartitionResult:
        return PartitionResult(partition_id=index, error_code=error, error_message=message)

    topic = partitions.image.topics.by_name.get(name)
    if topic is None:
        return answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = partitions.find(topic, index)
    if partition is None:
        return answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    unclean = election is Election.UNCLEAN
    if partition.leader != NO_NODE if unclean else partition.leader == partition.preferred_leader:
        return answer(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    if partitions.change(topic, index, Wanted(), election=election) is not None:
        return answer(ErrorCode.NONE, None)
    if unclean:
        return answer(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available.")
    return answer(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")


def balance_leaders(partitions: Partitions) -> bool:
    """Give leadership back to preferred leaders that may lead. Returns whether there may be more to
    do."""
    for topic, index, partition in partitions:
        if partition.leader != partition.preferred_leader:
            partitions.change(topic, index, Wanted(), election=Election.PREFERRED)
            if len(partitions.records) >= ELECTIONS_PER_TICK_MAX:
                return True
    return False


def elect_unclean(partitions: Partitions) -> bool:
    """Elect any live replica for partitions without a leader whose topics allow that. Returns
    whether there may be more to do."""
    for topic, index, partition in partitions:
        if partition.leader == NO_NODE and partitions.unclean_allowed(topic):
            partitions.change(topic, index, Wanted(), election=Election.UNCLEAN)
            if len(partitions.records) >= ELECTIONS_PER_TICK_MAX:
                return True
    return False
