"""DescribeQuorum (key 55): the voters and observers of the metadata log and how far each has come.

Behaviour: only the leader of the quorum knows, so a broker asks the active controller, and a controller that does not lead says so. The
metadata log's one partition is the only thing that can be asked for; a request that names anything else learns nothing.
Version notes: fetch and catch-up times from 1; directories, the addresses of voters, and error messages, from 2.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.quorum.description import fit_to_version
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse


def handle(broker: Broker, caller: Caller, request: DescribeQuorumRequest) -> Promise[DescribeQuorumResponse]:
    return broker.controller.submit(request, caller).map(lambda response: fit_to_version(response, caller.version))
