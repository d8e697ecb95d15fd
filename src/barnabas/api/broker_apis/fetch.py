"""Fetch (key 1): batches of partitions, at once or when enough data has arrived; for consumers and
followers.

Behaviour:
- the response is sent at once if there are ``min_bytes``, if any partition has an error, or if the
  client does not want to wait;
- the first partition with data returns at least one batch of any size, so that a reader always
  makes progress;
- consumers read up to the high watermark, or with ``read_committed`` up to the last stable offset,
  with a list of the aborted transactions to skip. They may read from any replica (KIP-392), and a
  leader that knows a replica in the consumer's rack redirects the consumer to it;
- TOPIC_AUTHORIZATION_FAILED for a topic that the caller may not read, and for all topics if the
  caller names itself a follower and is no broker;
- followers read to the log end. The fetch offset of a follower acknowledges everything below it,
  which moves the high watermark. UNKNOWN_LEADER_EPOCH for a broker that is not one of the replicas,
  NOT_LEADER_OR_FOLLOWER for one that has restarted since;
- a consumer that is over its quota gets a response without partitions, and asks again for the same
  after its wait. With a quota, ``max_bytes`` is at most what the quota allows after a long pause;
- replicas that are being moved and are out of sync share ``leader.replication.throttled.rate``;
- a reader that is beyond the end of its last epoch gets that end as a diverging epoch, and
  truncates its log;
- for consumers the broker reads offsets below the local log from remote storage, for all such
  partitions of a request at once, and answers when the data has arrived or
  ``remote.fetch.max.wait.ms`` has passed. A follower gets OFFSET_MOVED_TO_TIERED_STORAGE and begins
  where the local log does;
- the broker does not open batches here: the response carries file regions, which the kernel sends.
  It checks only a batch that a follower fetches a second time. If the batch is damaged on this
  broker's disk, an in-sync replica takes over leadership and this broker fetches the replica again.

Version notes: sessions from 7; reading from followers from 11; diverging epochs from 12; topic ids
from 13; the replica epoch from 15; a broker that is not the leader names the leader from 16
(KIP-951).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.fetch.fetching import TOPIC_ID_VERSION_MIN, Fetching, named_partitions
from barnabas.api.fetch.readers import reader_for
from barnabas.api.needs import CLUSTER_ACTION, READ_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.replication.fetch_sessions import PartitionKey
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse

NEEDS = checked(READ_TOPIC, CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: FetchRequest) -> Answer[FetchResponse]:
    context = broker.fetch_sessions.begin(
        session_id=request.session_id,
        epoch=request.session_epoch,
        named=named_partitions(request),
        forgotten=[
            PartitionKey(topic.topic, topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions
        ],
        uses_topic_ids=caller.version >= TOPIC_ID_VERSION_MIN,
        now_ms=broker.clock.monotonic_ms(),
    )
    if isinstance(context, ErrorCode):
        return FetchResponse(throttle_time_ms=0, error_code=context, session_id=0, responses=[])
    fetching = Fetching(broker, caller, request, context, reader_for(broker, caller, request))
    return fetching.serve(fetching.respond)
