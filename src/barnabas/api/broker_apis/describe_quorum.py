"""DescribeQuorum (key 55): the voters and observers of the metadata log, with the offset of each.

Behaviour: only the leader of the quorum knows the offsets, so a broker asks the active controller,
and any other controller answers with an error. The metadata log has one partition; a request for
any other partition gets no information.

Version notes: fetch and caught-up times from 1; directory ids, addresses of voters, and error
messages from 2.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.quorum.description import fit_to_version
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse

NEEDS = on_cluster(Operation.DESCRIBE)


def handle(broker: Broker, caller: Caller, request: DescribeQuorumRequest) -> Promise[DescribeQuorumResponse]:
    return broker.controller.submit(request, caller).map(lambda response: fit_to_version(response, caller.version))
