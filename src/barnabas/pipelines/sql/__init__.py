"""SQL over topics: the tables of a query are found among the topics, for the time of the query.

Read :mod:`~.topic_query` first (a query, in batch or as a stream), then :mod:`~.relations` (the
names in a query), :mod:`~.topic_table` (a topic as a table), :mod:`~.topic_offsets` (where to start
and end), :mod:`~.time_filter` (how far back a query looks) and :mod:`~.answers` (the rows).

Invariants: a batch query ends at the offsets that the topics have when it starts; nothing is
committed; a query changes nothing.

Not here: printing (:mod:`barnabas.cli.sql`).
"""
