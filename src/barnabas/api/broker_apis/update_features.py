"""UpdateFeatures (key 57): change the finalized feature levels of the cluster.

Behaviour: the controller decides; this broker forwards the request. All updates of a request
succeed or fail together. With ``validate_only`` the controller checks the request and changes
nothing.

Version notes: version 0 allows a downgrade with a flag; from 1 the upgrade type says so, and
``validate_only`` exists. From 2 the response has no result for each feature, only the error of the
whole.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: UpdateFeaturesRequest) -> Promise[UpdateFeaturesResponse]:
    return broker.controller.submit(request, caller)
