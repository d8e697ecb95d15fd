"""Answers queries without Spark, in this process and in about a second: DuckDB over the records.

The dialect is Spark's. A query is compiled node by node (:mod:`~.query_compiler` for SELECT,
:mod:`~.expressions` for expressions, :mod:`~.functions` for functions) from a list of what is
proven to have the same answer in both engines, and :class:`~.not_proven.NotProven` leaves the rest
to Spark. :mod:`~.answering` reads the records that the query needs; :mod:`~.record_columns` and
:mod:`~.json_values` convert them as Spark's ``from_json`` does; :mod:`~.engine` is DuckDB.

Invariants: the text of a query never reaches DuckDB, only SQL of ours and quoted constants; DuckDB
opens no file and no connection; an answer is complete before its first row is shown.

``docs/decisions/0012-sql-without-spark.md`` has the reasons and the limits.
"""
