"""MirrorMaker on Spark: copies topics, their settings and group offsets from one cluster to
another, exactly once.

Read :mod:`~.mirror` first: the run from start to end. :mod:`~.partition_writer` is the part in
Spark's tasks, with :mod:`~.kept_clients` for its producers. :mod:`~.selection` decides which topics
are copied and their names, :mod:`~.provenance` prevents loops, :mod:`~.topics` and
:mod:`~.topic_settings` keep topics in step. :mod:`~.groups` translates offsets, from
:mod:`~.offset_syncs` (the topic that maps offsets) and :mod:`~.offset_map` (the map, pure), and
writes :mod:`~.checkpoint_record`. :mod:`~.schemas` keeps the registries in step,
:mod:`~.schema_ids` decides which ids are rewritten, and :mod:`~.new_schema` handles one that came
late. :mod:`~.cluster` is one of the two clusters, :mod:`~.report` the state after a batch.

Invariants: the position of a partition is committed in the same transaction as its records; an
offset is translated to an earlier one if need be, never to a later one; nothing is deleted on the
target.

Not here: options and the display (:mod:`barnabas.cli.mirror`).
"""
