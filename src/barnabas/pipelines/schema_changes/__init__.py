"""What happens when a source no longer has the columns it had: stop, announce, or take the new columns over.

A source that does not declare its columns remembers the ones it saw first, beside the checkpoint (:mod:`remembered`). Whenever it
reads, it compares what it finds with what it remembers (:mod:`columns`, pure):

found                          ``schema_changes: stop`` (the default)            ``schema_changes: accept``
============================   ===============================================   =========================================
a column is missing            the pipeline stops before it reads the rows       taken over; the pipeline restarts by itself
a column has another type      the same                                          the same
a new column                   announced once in a run; its values stay out      the same
                               (CSV stops)

``barnabas pipelines accept-schema`` (:mod:`acceptance`) takes over what ``stop`` stopped at or announced. Rows that were read in the old
shape are written before the pipeline stops, and rows in the new shape are not read, so nothing is lost in between.

Each kind of source looks in its own way: a database is asked at every poll (:mod:`barnabas.pipelines.sources.jdbc`), Parquet files are
looked at by the tasks that read them (:mod:`barnabas.pipelines.sources.parquet_columns`), headers of CSV by Spark's own reader, and JSON
record by record (:mod:`barnabas.pipelines.formats.json_fields`). Every look comes before a row of the new shape is written.
"""
