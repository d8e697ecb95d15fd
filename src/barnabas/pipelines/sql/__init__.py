"""SQL over topics: the tables of a query are found among the topics, for the time of the query.

Read :mod:`~.answering` first: it checks a statement (:mod:`~.syntax`) and gives it to one of two
engines. The columns of a topic are the same in both (:mod:`~.shapes`, :mod:`~.inference`,
:mod:`barnabas.pipelines.column_types`,
:mod:`~.moments`), and so are the offsets at which a query starts and ends (:mod:`~.topic_offsets`).

- :mod:`~.embedded`: DuckDB in this process, for the part of SQL that is proven to be equal.
- Spark: :mod:`~.topic_query` (a query, in batch or as a stream), :mod:`~.relations` (the names in a
  query), :mod:`~.topic_table` (a topic as a table), :mod:`~.time_filter` (how far back a query
  looks), :mod:`~.answers` (the rows) and :mod:`~.spark_thread` (Ctrl-C).

Invariants: a batch query ends at the offsets that the topics have when it starts; nothing is
committed; a query changes nothing; an engine never starts for a query with an unknown topic.

Not here: printing and the shell (:mod:`barnabas.cli.sql`).
"""
