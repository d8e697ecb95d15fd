"""The APIs that controllers serve to each other, to brokers, and to forwarding brokers.

Nouns: the *active controller* leads the quorum of the metadata log. Two kinds of handlers stand
here. One kind submits the request to the controller: :mod:`.broker_registration`,
:mod:`.broker_heartbeat`, :mod:`.alter_partition`, :mod:`.assign_replicas_to_dirs`,
:mod:`.allocate_producer_ids`, :mod:`.controller_registration`, :mod:`.add_raft_voter` and
:mod:`.remove_raft_voter`. The other kind passes it to the quorum: :mod:`.vote`,
:mod:`.begin_quorum_epoch`, :mod:`.end_quorum_epoch`, :mod:`.metadata_fetch`,
:mod:`.fetch_snapshot` and :mod:`.update_raft_voter`. :mod:`.envelope` alone has logic of its own:
it unwraps a client's request that a broker forwards.

Read in this order: :mod:`.broker_registration` and :mod:`.broker_heartbeat` (the life of a broker),
:mod:`.metadata_fetch` (how metadata spreads), :mod:`.vote`, :mod:`.envelope`.

Invariants: handlers hold no state; a controller that is not active answers NOT_CONTROLLER, or
NOT_LEADER_OR_FOLLOWER from the quorum, and the caller looks for the active one.

Not here: the table of these handlers (:mod:`barnabas.api.controller_handlers`), which adds the
administrative APIs that brokers serve too; decisions (:mod:`barnabas.controller`,
:mod:`barnabas.quorum`).
"""
