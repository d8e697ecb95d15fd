"""The reaction to changed columns of a source: stop, announce, or accept the new columns.

A source that does not declare its columns remembers the first ones it saw, beside the checkpoint
(:mod:`remembered`). Whenever it reads, it compares the columns it finds with the remembered ones
(:mod:`columns`, pure):

found                       ``schema_changes: stop`` (the        ``schema_changes: accept``
                            default)
=========================   ==================================   ===================================
a column is missing         the pipeline stops before it reads   accepted; the pipeline restarts by
                            the rows                             itself
a column has another type   the same                             the same
a new column                announced once in a run; its         the same as above
                            values are left out (CSV stops)

``barnabas pipelines accept-schema`` (:mod:`acceptance`) accepts the changes that ``stop`` stopped
at or announced. Rows that were read in the old shape are written before the pipeline stops, and
rows in the new shape are not read, so nothing is lost in between. :mod:`merging` computes the new
columns of JSON records (pure), and :mod:`endings` decides whether a query ended because of its
columns.

Each kind of source checks in its own way: a database at every poll
(:mod:`barnabas.pipelines.sources.jdbc`), Parquet files in the tasks that read them
(:mod:`barnabas.pipelines.sources.parquet_columns`), headers of CSV in Spark's own reader, and JSON
record by record (:mod:`barnabas.pipelines.formats.json_fields`). Every check comes before a row of
the new shape is written.
"""
