"""DescribeCluster (key 60): the id of the cluster, and its brokers or its controllers.

Behaviour: a broker's listener describes brokers, a controller's listener describes controllers.
MISMATCHED_ENDPOINT_TYPE for a request for the other kind, UNSUPPORTED_ENDPOINT_TYPE for a kind that
does not exist.

Version notes: ``endpoint_type`` from 1 (KIP-919); before that both errors are INVALID_REQUEST.
Fenced brokers from 2, if the client asks for them.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import ALTER_CLUSTER, DESCRIBE_CLUSTER, checked
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.replication.other_brokers import any_alive
from barnabas.security.acls.operations import NOT_ASKED
from barnabas.wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse

NEEDS = checked(ALTER_CLUSTER, DESCRIBE_CLUSTER)

BROKERS, CONTROLLERS = 1, 2
_ENDPOINT_TYPE_VERSION_MIN = 1


def handle(broker: Broker, caller: Caller, request: DescribeClusterRequest) -> DescribeClusterResponse:
    for_controllers = caller.connection.listener.for_controllers
    if for_controllers and not broker.access.may(caller, ALTER_CLUSTER):
        return _refused(caller, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    served = CONTROLLERS if for_controllers else BROKERS
    if request.endpoint_type not in (BROKERS, CONTROLLERS):
        return _refused(caller, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Endpoint type {request.endpoint_type} does not exist.")
    if request.endpoint_type != served:
        return _refused(
            caller,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "Brokers describe only brokers, and controllers describe only controllers.",
        )
    image = broker.metadata.image
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message=None,
        endpoint_type=served,
        cluster_id=broker.cluster_id,
        # Clients of brokers send admin requests to any broker; clients of controllers must find the
        # active one.
        controller_id=broker.quorum.status().leader_id if served == CONTROLLERS else any_alive(image, caller.listener, broker.node_id),
        brokers=_controllers(image, caller) if served == CONTROLLERS else _brokers(image, caller, request),
        cluster_authorized_operations=(
            broker.access.cluster_operations(caller, DESCRIBE_CLUSTER) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _brokers(image: MetadataImage, caller: Caller, request: DescribeClusterRequest) -> list[DescribeClusterBroker]:
    found = []
    for broker_id, broker in sorted(image.cluster.brokers.items()):
        endpoint = broker.endpoint(caller.listener)
        if endpoint is None or (broker.fenced and not request.include_fenced_brokers):
            continue
        found.append(
            DescribeClusterBroker(broker_id=broker_id, host=endpoint.host, port=endpoint.port, rack=broker.rack, is_fenced=broker.fenced)
        )
    return found


def _controllers(image: MetadataImage, caller: Caller) -> list[DescribeClusterBroker]:
    return [
        DescribeClusterBroker(broker_id=controller_id, host=endpoint.host, port=endpoint.port, rack=None)
        for controller_id, controller in sorted(image.cluster.controllers.items())
        for endpoint in controller.endpoints
        if endpoint.name == caller.listener
    ]


def _refused(caller: Caller, error: ErrorCode, message: str) -> DescribeClusterResponse:
    if caller.version < _ENDPOINT_TYPE_VERSION_MIN and error is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        # A client that cannot name an endpoint type does not know the errors about it either.
        error = ErrorCode.INVALID_REQUEST
    return DescribeClusterResponse(throttle_time_ms=0, error_code=error, error_message=message, cluster_id="", brokers=[])
