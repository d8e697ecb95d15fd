"""Why settings of a whole subject change nothing yet: one name per reason, so that a step forward flips them by subject.

A key whose subject arrives takes ``SERVED`` (the default) in its own table; when the last user of a name is gone, so is the name.
"""

from __future__ import annotations

from barnabas.config.keys import no_effect

ONE_EVENT_LOOP = no_effect("one event loop serves the node, so there are no such threads to count")
NOTHING_TO_SWEEP = no_effect("a finished request leaves nothing behind to be swept")
METRICS_ARE_COUNTERS = no_effect("metrics are plain counters; who scrapes them chooses the windows")

APPENDED_AT_ONCE = no_effect("a coordinator appends each of its decisions at once, so there is nothing to collect")
CLEANED_IN_PIECES = no_effect("segments are read in pieces of four megabytes and written in pieces of one, by each worker")
READ_IN_PIECES = no_effect("a coordinator reads its log in pieces of a megabyte")
MATCHED_WHEN_TOPICS_CHANGE = no_effect("patterns are matched anew whenever topics come or go")

FLUSHED_TOGETHER = no_effect("each decision is written at once, and those that come while the disk is busy are flushed together")
FILES_GROW = no_effect("files grow as they are written")
SYSTEM_CHOOSES_BUFFERS = no_effect("the system chooses the buffers of connections between nodes")
NO_DELAY = no_effect("nothing that starts with a node needs to wait")

WITH_ACLS = no_effect("arrives with authorization")
WITH_CLIENT_METRICS = no_effect("arrives with client metrics")
WITH_DELEGATION_TOKENS = no_effect("arrives with delegation tokens")
WITH_QUOTAS = no_effect("arrives with quotas")
WITH_SASL = no_effect("no SASL listener can be configured yet")
WITH_SHARE_GROUPS = no_effect("arrives with share groups")
WITH_STREAMS_GROUPS = no_effect("arrives with streams groups")
WITH_TLS = no_effect("no TLS listener can be configured yet")
