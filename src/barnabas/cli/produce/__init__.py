"""``barnabas produce``: send records.

Read :mod:`~.command` first, the options. :mod:`~.sources` cuts files and stdin into pieces,
:mod:`~.line_records` and :mod:`~.json_records` read a record from a piece, and :mod:`~.delivery`
hands it to librdkafka and counts the outcomes. Keys and values with schemas are encoded by
:mod:`barnabas.cli.registry_records`.

Invariants: whatever stops the reading, the records read before it are delivered; the printed count
is the number of records that the broker acknowledged; progress is drawn only for files, never over
lines that a person types.

Not here: the writer of our JSON lines (:mod:`barnabas.cli.consume`).
"""
