"""The reasons why settings of a whole subject have no effect yet, one name per reason.

A key whose subject is implemented takes ``SERVED`` (the default) in its own table. A reason that no
key uses any more is deleted.
"""

from __future__ import annotations

from barnabas.config.keys import no_effect, refused

ONE_EVENT_LOOP = no_effect("one event loop serves the node, so there are no such threads to count")
NOTHING_TO_SWEEP = no_effect("a finished request leaves nothing behind to sweep")
METRICS_ARE_COUNTERS = no_effect("metrics are plain counters; the scraper chooses the windows")

APPENDED_AT_ONCE = no_effect("a coordinator appends each of its decisions at once, so there is nothing to collect")
CLEANED_IN_PIECES = no_effect("segments are read in pieces of four megabytes and written in pieces of one, by each worker")
READ_IN_PIECES = no_effect("a coordinator reads its log in pieces of a megabyte")
MATCHED_WHEN_TOPICS_CHANGE = no_effect("patterns are matched again whenever topics are created or deleted")

FLUSHED_TOGETHER = no_effect("each decision is written at once, and those that come while the disk is busy are flushed together")
FILES_GROW = no_effect("files grow as they are written")
SYSTEM_CHOOSES_BUFFERS = no_effect("the system chooses the buffers of connections between nodes")
A_JVM_CLASS = refused("it is a JVM class, and ignoring it would check or send other credentials")
KERBEROS_RENEWS = no_effect("the Kerberos library gets a new ticket from the keytab when the old one ends")
TOKENS_ON_DEMAND = no_effect("a token is renewed when a connection needs one, and no timer does it")
NO_ASSERTIONS = refused("this node gets its tokens with client credentials or from a file, and signs no assertions")
NO_OTHER_PERSISTER = refused("it is a JVM class, and without it delivery states would be kept in another place")
OPENSSL_SERVES_TLS = no_effect("OpenSSL serves TLS, and no JVM")
MEASURED_OVER_ELEVEN_SECONDS = no_effect("throttled replication is always measured over eleven windows of a second")
NO_DELAY = no_effect("nothing that a node starts needs to wait")
