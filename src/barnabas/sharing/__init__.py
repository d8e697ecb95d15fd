"""Share partitions: records that members of share groups get, lock and acknowledge one by one.

Nouns: a *share partition* is one partition as one share group consumes it; the leader of the
partition has it. A *run* is a range of its offsets with the same state, and its *window* holds the
runs from the first offset that is not done to the last that was fetched. A *delivery* locks offsets
for a member. A *change* is a new state of some offsets that must be written down before it counts.
A *session* is the list of partitions that a member fetches from this broker.

To read first: :mod:`.core`, which decides everything; :mod:`.local_share_partition`, which gives
the machine a log, a timer and the persister; :mod:`.share_fetch`, the hot path.
:mod:`.local_share_partitions` has all of them, and the sessions.

Invariants:

- an offset is delivered to one member at a time;
- an acknowledgement is answered when the share coordinator has written it;
- nothing opens a batch to deliver it: the response carries a region of the file;
- a share partition belongs to one leader epoch. A leader that comes back reads the state again.

Not here: the durable state (:mod:`barnabas.coordinators.share`), memberships and assignments
(:mod:`barnabas.coordinators.group`), the translation of requests
(:mod:`barnabas.api.broker_apis.share_fetch`).
"""
