"""The bounds of the console, each with the reason for its number."""

from __future__ import annotations

from typing import Final

# A record that a person pastes into a form, or a file of records to produce.
BODY_BYTES_MAX: Final = 16 * 1024 * 1024
FORM_FIELDS_MAX: Final = 2_000
# The longest that a broker may take for one answer. A page that waits longer is of no use; a
# request that waits for a new leader ends sooner and can be repeated.
ANSWER_SECONDS_MAX: Final = 15.0
# The longest that health of one cluster may take, so that a dead cluster does not hide the others.
HEALTH_SECONDS_MAX: Final = 6.0
# Threads that wait for brokers. Each request of a page needs one for as long as a broker thinks.
THREADS_MAX: Final = 32
# Work beside requests: throttles that wait for the end of a reassignment, and the collection of
# rates, which has one task for each cluster.
TASKS_MAX: Final = 200
# Connections kept for one principal at one broker; more are closed after use.
IDLE_CONNECTIONS_MAX: Final = 4
# Brokers close idle connections after ten minutes by default.
IDLE_SECONDS_MAX: Final = 120.0
# Principals whose connections are kept at once, over all clusters.
CLIENTS_MAX: Final = 200
# One fetch may return a batch of 20 MB and more, whatever it asks for.
RESPONSE_BYTES_MAX: Final = 128 * 1024 * 1024
# How long the list of topics, of brokers and of groups is reused. A person reloads a page at that
# pace; lists of 10,000 topics take brokers and this process a few hundred milliseconds to make.
CATALOG_SECONDS: Final = 3.0

PAGE_SIZE: Final = 50
PAGE_SIZE_MAX: Final = 500
# Partitions whose sizes and offsets a list asks for; a list with more shows none.
LISTED_PARTITIONS_MAX: Final = 5_000

SESSIONS_MAX: Final = 10_000
SESSION_SECONDS: Final = 12 * 3600.0
SESSION_IDLE_SECONDS: Final = 2 * 3600.0
NOTICES_MAX: Final = 10
# Failed logins from one address within a minute, before further ones are refused for the rest of
# it. A person mistypes; a program that guesses is slowed down.
FAILED_LOGINS_MAX: Final = 10
FAILED_LOGIN_SECONDS: Final = 60.0
# A program sends its password with every request. The brokers are asked about it this often: a
# login for each request would cost more than the request.
BASIC_LOGIN_SECONDS: Final = 30.0
ADDRESSES_MAX: Final = 10_000

# Changes that the page of the audit log shows; the file and the log have all of them.
AUDIT_ENTRIES_MAX: Final = 1_000
# A parameter in the audit log is cut here: the log says that a record was sent, and is no copy.
AUDIT_VALUE_CHARACTERS_MAX: Final = 200

# Queries of SQL at once, over all people: each is a process of its own.
SQL_QUERIES_MAX: Final = 4
# A query is part of an address, so that it can be sent to a colleague.
SQL_CHARACTERS_MAX: Final = 10_000
SQL_ROWS_MAX: Final = 1_000
SQL_SECONDS_MAX: Final = 60.0
SQL_STREAM_SECONDS_MAX: Final = 3600.0
# The engine takes 512 MB for data; libraries reserve addresses that they never use.
SQL_ADDRESS_BYTES_MAX: Final = 6 * 1024**3
# Beyond its memory the engine uses temporary files, 4 GB of them.
SQL_FILE_BYTES_MAX: Final = 4 * 1024**3
# One row as JSON.
SQL_LINE_BYTES_MAX: Final = 4 * 1024 * 1024
# A signal interrupts the engine; a process that does not end by itself is killed.
SQL_STOP_SECONDS_MAX: Final = 3.0
# Topics whose columns a completion looks for, and records that it looks at in each.
SQL_SAMPLED_TOPICS_MAX: Final = 3
SQL_SAMPLED_RECORDS: Final = 20
SQL_SAMPLE_SECONDS: Final = 30.0
