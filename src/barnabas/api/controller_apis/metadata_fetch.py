"""Fetch (key 1) on a controller: the metadata log, for voters and for the brokers that follow it.

Behaviour: the one partition there is can be fetched by replicas only. The offset of a voter's fetch is its acknowledgement of everything
below. A log that has parted from the leader's is told where (diverging epoch); one that is behind its beginning, which snapshot to take.
A fetch that finds nothing new waits up to half a second. No fetch sessions.
Version notes: the leader's address from 17, with directory ids (KIP-853); a follower that already knows the high watermark says so from 18.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.fetch import FetchRequest


def handle(broker: Broker, caller: Caller, request: FetchRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version)
