"""CreateTopics of a limited client through a broker that is not the active controller: the
controller limits the client, and the broker makes it wait."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedCluster
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from tests.scenarios.client import Client
from tests.scenarios.quotas.altering import set_quota
from tests.scenarios.quotas.test_controller_mutation_rate import SELF, SLOW, creating
from tests.waiting import until

VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")
QUORUM = DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])])


def test_a_forwarded_request_is_limited_once_and_throttled_by_its_broker(kafka_cluster: EmbeddedCluster) -> None:
    addresses = kafka_cluster.bootstrap.split(",")
    with Client(addresses[0]) as admin:
        leader = admin.ask(QUORUM).topics[0].partitions[0].leader_id
        set_quota(admin, SELF, controller_mutation_rate=SLOW)
        follower = next(address for number, address in enumerate(addresses, start=1) if number != leader)
        until(lambda: _refused(follower), "the broker knows of the quota")
        with Client(follower) as client:
            response = client.ask(creating(late=1))
            assert response.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
            assert response.throttle_time_ms > 1000
            client.send(VERSIONS)
            client.socket.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.receive_frame()


def _refused(address: str) -> bool:
    """Uses up the quota, if need be, and whether this broker passes the wait on."""
    with Client(address) as client:
        return bool(client.ask(creating(early=1, more=1)).throttle_time_ms > 0)
