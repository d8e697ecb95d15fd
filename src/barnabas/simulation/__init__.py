"""The simulated world: every port of a core or a shell, driven by one seed.

Reading order:

- ``scheduler``, ``loop``, ``disk``, ``network``, ``host``: simulated time, event loop, disk,
  network and machines.
- ``nemesis``: the faults and their times, all from the seed.
- ``world``, ``run``, ``violations``: one run of one seed, in two phases (faults, then none), and
  the two ways in which it fails.
- ``history``, ``transaction_ledger``: the claims that hold in every run.
- Four levels, each with more on top: ``quorum_world`` and ``quorum_process`` (a quorum alone);
  ``ControllerWorld`` and ``ClusterWorld`` in ``cluster_world``, with ``cluster_process``,
  ``frames`` and ``clients`` (whole nodes); ``groups_world`` (groups and transactions), with
  ``copier``, ``group_member``, ``classic_member``, ``consumer_member``, ``partition_sharing``,
  ``transactional_producer``, ``coordinator_client``, ``committed_readers`` and ``stable_offsets``.

Terms: the *checker* is the code of a world that sees all nodes at once and compares them with the
claims. A *violation* is the first event that contradicts a claim.

Invariants: the same seed gives the same run, to the last event, so a failing seed is a bug report.
Nothing reads the real clock, disk, network or randomness, and everything runs on one thread.
"""
