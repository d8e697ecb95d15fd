"""Every metric of a node, declared once: name, unit and meaning."""

from __future__ import annotations

from barnabas.telemetry.metrics import Kind, Metric

_COUNTER, _GAUGE, _HISTOGRAM = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM

REQUESTS = Metric("barnabas_requests_total", _COUNTER, "requests", "Requests answered, by API.", ("api",))
REQUEST_SECONDS = Metric(
    "barnabas_request_seconds",
    _HISTOGRAM,
    "seconds",
    "From the last byte of a request to its response, waiting included.",
    ("api",),
)
RESPONSE_ERRORS = Metric(
    "barnabas_response_errors_total",
    _COUNTER,
    "errors",
    "Error codes in responses: one for a whole response, or one for each topic, group or partition in it.",
    ("api", "error"),
)
NETWORK_BYTES_IN = Metric("barnabas_network_bytes_in_total", _COUNTER, "bytes", "Bytes received from clients.", ("listener",))
NETWORK_BYTES_OUT = Metric(
    "barnabas_network_bytes_out_total", _COUNTER, "bytes", "Bytes sent to clients, record batches from files not counted.", ("listener",)
)
CONNECTIONS = Metric("barnabas_connections", _GAUGE, "connections", "Connections open now.", ("listener",))
CONNECTIONS_ACCEPTED = Metric("barnabas_connections_accepted_total", _COUNTER, "connections", "Connections accepted.", ("listener",))
CONNECTIONS_REFUSED = Metric(
    "barnabas_connections_refused_total", _COUNTER, "connections", "Connections refused: too many, or not speaking Kafka.", ("listener",)
)
AUTHENTICATIONS = Metric(
    "barnabas_authentications_total",
    _COUNTER,
    "authentications",
    "SASL authentications that ended, by outcome: accepted, accepted again (on the same connection) or refused.",
    ("listener", "outcome"),
)
EXPIRED_CONNECTIONS_KILLED = Metric(
    "barnabas_expired_connections_killed_total",
    _COUNTER,
    "connections",
    "Connections closed because their client went on after its session, without authenticating again.",
    ("listener",),
)
CONNECTIONS_DELAYED = Metric(
    "barnabas_connections_delayed_total",
    _COUNTER,
    "connections",
    "Connections that waited because of max.connection.creation.rate, or were closed because of the quota of their address.",
    ("listener",),
)
DESCRIPTORS_MAX = Metric(
    "barnabas_descriptors_max", _GAUGE, "descriptors", "Descriptors this process may have, for files, connections and everything else."
)
FILES_OPEN = Metric("barnabas_files_open", _GAUGE, "files", "Files of logs and indexes that are open now.")
FILES_OPEN_MAX = Metric(
    "barnabas_files_open_max", _GAUGE, "files", "How many of them may be open now: the descriptors that connections do not use."
)
FILES_EVICTED = Metric(
    "barnabas_files_evicted_total",
    _COUNTER,
    "files",
    "Files closed to stay below barnabas_files_open_max; they are opened again when needed.",
)

QUOTA_PRODUCED = Metric(
    "barnabas_quota_produced_bytes_per_second",
    _GAUGE,
    "bytes",
    "What clients with a producer_byte_rate produce, over the windows of the quota.",
    ("user", "client_id"),
)
QUOTA_FETCHED = Metric(
    "barnabas_quota_fetched_bytes_per_second",
    _GAUGE,
    "bytes",
    "What clients with a consumer_byte_rate fetch, over the windows of the quota.",
    ("user", "client_id"),
)
QUOTA_REQUEST_TIME = Metric(
    "barnabas_quota_request_percent",
    _GAUGE,
    "percent",
    "The share of one processor that clients with a request_percentage take, over the windows of the quota.",
    ("user", "client_id"),
)
QUOTA_MUTATION_TOKENS = Metric(
    "barnabas_quota_mutation_tokens",
    _GAUGE,
    "partitions",
    "How many partitions clients with a controller_mutation_rate may create or delete at once; below 0 they must wait.",
    ("user", "client_id"),
)
QUOTA_THROTTLE_SECONDS = Metric(
    "barnabas_quota_throttle_seconds_total",
    _COUNTER,
    "seconds",
    "How long clients over a quota had to wait, summed over their requests.",
    ("quota", "user", "client_id"),
)

TOPIC_BYTES_IN = Metric("barnabas_topic_bytes_in_total", _COUNTER, "bytes", "Bytes of record batches appended for producers.", ("topic",))
TOPIC_BYTES_OUT = Metric("barnabas_topic_bytes_out_total", _COUNTER, "bytes", "Bytes of record batches sent to consumers.", ("topic",))
TOPIC_RECORDS_IN = Metric("barnabas_topic_records_in_total", _COUNTER, "records", "Records appended for producers.", ("topic",))
TOPIC_BATCHES_REFUSED = Metric(
    "barnabas_topic_batches_refused_total", _COUNTER, "batches", "Batches of producers that were refused.", ("topic",)
)

SCHEMA_BATCHES = Metric(
    "barnabas_schema_validated_batches_total",
    _COUNTER,
    "batches",
    "Batches of producers for topics with schema validation, by outcome: accepted, refused, or no verdict (the producer retries).",
    ("topic", "outcome"),
)
SCHEMA_LOOKUPS = Metric(
    "barnabas_schema_lookups_total",
    _COUNTER,
    "lookups",
    "Questions of schema validation to the schema registry, by outcome: registered, unregistered or failed.",
    ("outcome",),
)
SCHEMA_WAITING_BATCHES = Metric("barnabas_schema_waiting_batches", _GAUGE, "batches", "Batches that wait for their schema validation now.")
SCHEMA_WAITING_BYTES = Metric("barnabas_schema_waiting_bytes", _GAUGE, "bytes", "The size of these batches.")
SCHEMAS_KNOWN = Metric("barnabas_schemas_known", _GAUGE, "schemas", "Ids of schemas that schema validation remembers.")

PARTITIONS = Metric("barnabas_partitions", _GAUGE, "partitions", "Replicas on this node.")
PARTITIONS_LED = Metric("barnabas_partitions_led", _GAUGE, "partitions", "Partitions this node leads.")
PARTITIONS_OFFLINE = Metric("barnabas_partitions_offline", _GAUGE, "partitions", "Replicas on directories that failed.")
PARTITIONS_UNDER_REPLICATED = Metric(
    "barnabas_partitions_under_replicated", _GAUGE, "partitions", "Partitions led here with fewer replicas in sync than they have."
)
PARTITIONS_UNDER_MIN_ISR = Metric(
    "barnabas_partitions_under_min_isr", _GAUGE, "partitions", "Partitions led here with fewer in sync than min.insync.replicas."
)
PARTITIONS_AT_MIN_ISR = Metric(
    "barnabas_partitions_at_min_isr", _GAUGE, "partitions", "Partitions led here with exactly min.insync.replicas in sync."
)
ISR_SHRINKS = Metric("barnabas_isr_shrinks_total", _COUNTER, "changes", "Replicas removed from the ISR because they lagged.")
ISR_EXPANSIONS = Metric("barnabas_isr_expansions_total", _COUNTER, "changes", "Replicas added to the ISR because they had caught up.")
ISR_CHANGES_FAILED = Metric("barnabas_isr_changes_failed_total", _COUNTER, "changes", "Changes of in-sync replicas the controller refused.")
REPLICA_LAG_MAX = Metric(
    "barnabas_replica_lag_records_max", _GAUGE, "records", "The largest lag of a replica on this node behind its leader."
)
REPLICATION_BYTES_IN = Metric("barnabas_replication_bytes_in_total", _COUNTER, "bytes", "Bytes of record batches fetched from leaders.")
REPLICATION_BYTES_OUT = Metric("barnabas_replication_bytes_out_total", _COUNTER, "bytes", "Bytes of record batches sent to followers.")
REPLICATION_FAILURES = Metric(
    "barnabas_replication_failures_total", _COUNTER, "answers", "Fetches from leaders that failed or returned a damaged batch."
)
DIRECTORIES_OFFLINE = Metric("barnabas_log_directories_offline", _GAUGE, "directories", "Log directories that failed.")
DIRECTORIES_CORDONED = Metric(
    "barnabas_log_directories_cordoned", _GAUGE, "directories", "Log directories that get no new replicas, by cordoned.log.dirs."
)
DIRECTORY_FULL = Metric(
    "barnabas_log_directory_full_total", _COUNTER, "writes", "Writes that failed because a log directory was full.", ("directory",)
)
STRAY_DIRECTORIES = Metric(
    "barnabas_stray_directories", _GAUGE, "directories", "Partitions on disk that belong to no topic, and are kept.", ("directory",)
)
REPLICAS_MOVING = Metric("barnabas_replicas_moving", _GAUGE, "replicas", "Replicas on their way to another directory of this node.")
REPLICAS_MOVED = Metric("barnabas_replicas_moved_total", _COUNTER, "replicas", "Replicas that arrived in another directory.")
REPLICA_MOVE_BYTES = Metric("barnabas_replica_move_bytes_total", _COUNTER, "bytes", "Bytes copied between directories for that.")
LOG_BYTES = Metric("barnabas_log_bytes", _GAUGE, "bytes", "Size of all logs in a directory.", ("directory",))
FETCH_SESSIONS = Metric("barnabas_fetch_sessions", _GAUGE, "sessions", "Incremental fetch sessions kept.")
FLUSHES = Metric("barnabas_log_flushes_total", _COUNTER, "flushes", "Segments flushed to disk in the background.")

RETENTION_SEGMENTS = Metric("barnabas_retention_segments_total", _COUNTER, "segments", "Segments deleted by retention.")
RETENTION_BYTES = Metric("barnabas_retention_bytes_total", _COUNTER, "bytes", "Bytes of segments deleted by retention.")

CLEANER_PASSES = Metric("barnabas_cleaner_passes_total", _COUNTER, "passes", "Passes of compaction over a log.")
CLEANER_BYTES_READ = Metric("barnabas_cleaner_bytes_read_total", _COUNTER, "bytes", "Bytes of segments that compaction has read.")
CLEANER_BYTES_RECLAIMED = Metric(
    "barnabas_cleaner_bytes_reclaimed_total", _COUNTER, "bytes", "Bytes by which compaction has made logs smaller."
)
CLEANER_WORKER_DEATHS = Metric("barnabas_cleaner_worker_deaths_total", _COUNTER, "processes", "Processes that died while they compacted.")
CLEANER_BUSY = Metric("barnabas_cleaner_logs", _GAUGE, "logs", "Logs that are being compacted.")
CLEANER_DIRTY_RATIO_MAX = Metric("barnabas_cleaner_dirty_ratio_max", _GAUGE, "ratio", "The dirty share of the dirtiest log.")
CLEANER_DELAY_MAX = Metric(
    "barnabas_cleaner_delay_seconds_max", _GAUGE, "seconds", "How long past max.compaction.lag.ms a record waits for compaction."
)
CLEANER_LOOKED_AGO = Metric("barnabas_cleaner_idle_seconds", _GAUGE, "seconds", "Time since the cleaner last looked for logs to compact.")
CLEANER_UNCLEANABLE_PARTITIONS = Metric(
    "barnabas_cleaner_uncleanable_partitions", _GAUGE, "partitions", "Partitions that could not be compacted.", ("directory",)
)
CLEANER_UNCLEANABLE_BYTES = Metric(
    "barnabas_cleaner_uncleanable_bytes", _GAUGE, "bytes", "Bytes that wait for compaction in partitions that cannot be.", ("directory",)
)

REMOTE_COPY_REQUESTS = Metric("barnabas_remote_copy_requests_total", _COUNTER, "segments", "Uploads of segments started.", ("topic",))
REMOTE_COPY_BYTES = Metric("barnabas_remote_copy_bytes_total", _COUNTER, "bytes", "Bytes of segments copied to remote storage.", ("topic",))
REMOTE_COPY_ERRORS = Metric("barnabas_remote_copy_errors_total", _COUNTER, "segments", "Uploads of segments that failed.", ("topic",))
REMOTE_COPY_LAG_BYTES = Metric(
    "barnabas_remote_copy_lag_bytes", _GAUGE, "bytes", "Bytes of closed segments led here that are not remote yet.", ("topic",)
)
REMOTE_COPY_LAG_SEGMENTS = Metric(
    "barnabas_remote_copy_lag_segments", _GAUGE, "segments", "Closed segments led here that are not remote yet.", ("topic",)
)
REMOTE_FETCH_REQUESTS = Metric("barnabas_remote_fetch_requests_total", _COUNTER, "reads", "Reads from remote storage.", ("topic",))
REMOTE_FETCH_BYTES = Metric("barnabas_remote_fetch_bytes_total", _COUNTER, "bytes", "Bytes read from remote storage.", ("topic",))
REMOTE_FETCH_ERRORS = Metric("barnabas_remote_fetch_errors_total", _COUNTER, "reads", "Reads from remote storage that failed.", ("topic",))
REMOTE_FETCHES_EXPIRED = Metric(
    "barnabas_remote_fetches_expired_total", _COUNTER, "requests", "Fetches answered before remote storage responded."
)
REMOTE_READS_WAITING = Metric("barnabas_remote_reads_waiting", _GAUGE, "reads", "Reads from remote storage that wait for a thread.")
REMOTE_DELETE_REQUESTS = Metric("barnabas_remote_delete_requests_total", _COUNTER, "segments", "Deletions of remote segments.", ("topic",))
REMOTE_DELETE_BYTES = Metric("barnabas_remote_delete_bytes_total", _COUNTER, "bytes", "Bytes of remote segments deleted.", ("topic",))
REMOTE_DELETE_ERRORS = Metric(
    "barnabas_remote_delete_errors_total", _COUNTER, "segments", "Deletions of remote segments that failed.", ("topic",)
)
REMOTE_LOG_BYTES = Metric(
    "barnabas_remote_log_bytes", _GAUGE, "bytes", "Bytes of finished remote segments of partitions led here.", ("topic",)
)
REMOTE_SEGMENTS = Metric(
    "barnabas_remote_segments", _GAUGE, "segments", "Remote segments of partitions led here, in any state.", ("topic",)
)
REMOTE_INDEX_CACHE_BYTES = Metric("barnabas_remote_index_cache_bytes", _GAUGE, "bytes", "Indexes of remote segments cached on disk.")
REMOTE_AUX_STATES = Metric(
    "barnabas_remote_aux_states_total", _COUNTER, "replicas", "Followers that built their state from remote storage.", ("topic",)
)
REMOTE_AUX_STATE_ERRORS = Metric(
    "barnabas_remote_aux_state_errors_total",
    _COUNTER,
    "replicas",
    "Followers that could not build their state from remote storage.",
    ("topic",),
)

METADATA_OFFSET = Metric("barnabas_metadata_offset", _GAUGE, "offset", "Last offset of the metadata log applied on this node.")
METADATA_SNAPSHOTS = Metric("barnabas_metadata_snapshots_total", _COUNTER, "snapshots", "Snapshots of the metadata log written.")
CONTROLLER_ACTIVE = Metric("barnabas_controller_active", _GAUGE, "controllers", "1 where this node is the active controller.")
QUORUM_EPOCH = Metric("barnabas_quorum_epoch", _GAUGE, "epoch", "The metadata quorum's epoch.")
PRODUCERS = Metric("barnabas_producers", _GAUGE, "producers", "Producer ids remembered over all partitions.")

COORDINATOR_SHARDS = Metric(
    "barnabas_coordinator_shards", _GAUGE, "shards", "Partitions of internal topics that this node coordinates.", ("topic", "state")
)
GROUPS = Metric("barnabas_groups", _GAUGE, "groups", "Groups that this node coordinates.", ("protocol", "state"))
TRANSACTIONS = Metric("barnabas_transactional_ids", _GAUGE, "ids", "Transactional ids that this node coordinates.", ("state",))
SHARE_STATES = Metric(
    "barnabas_share_states", _GAUGE, "partitions", "Share partitions whose delivery state this node keeps as their share coordinator."
)
SHARE_STATE_BATCHES = Metric(
    "barnabas_share_state_batches", _GAUGE, "batches", "Ranges of offsets in these delivery states. Records in disorder make many of them."
)

GROUP_LAG_RECORDS = Metric(
    "barnabas_group_lag_records",
    _GAUGE,
    "records",
    "Records between the committed offset of a group and the end of the partition, on the group's coordinator.",
    ("group", "topic", "partition"),
)
GROUP_LAG_SECONDS = Metric(
    "barnabas_group_lag_seconds",
    _GAUGE,
    "seconds",
    "Age of the first record that a group has not consumed, by its timestamp; 0 when the group has consumed all.",
    ("group", "topic", "partition"),
)
GROUP_LAG_UNKNOWN = Metric(
    "barnabas_group_lag_unknown_partitions",
    _GAUGE,
    "partitions",
    "Partitions with committed offsets that have no lag on this page: their leader did not answer, or there are too many.",
)

CLIENT_INFO = Metric(
    "barnabas_client_info",
    _GAUGE,
    "constant",
    "Always 1; the labels describe a client instance that pushes metrics to this node.",
    (
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
        "principal",
        "client_rack",
        "group_id",
        "group_instance_id",
        "group_member_id",
        "transactional_id",
    ),
)
CLIENT_METRICS_INSTANCES = Metric(
    "barnabas_client_metrics_instances", _GAUGE, "clients", "Client instances that asked this node for their metrics subscriptions."
)
CLIENT_METRICS_SERIES = Metric("barnabas_client_metrics_series", _GAUGE, "series", "Series on this page that clients pushed.")
CLIENT_METRICS_DROPPED = Metric(
    "barnabas_client_metrics_dropped_total",
    _COUNTER,
    "series",
    "What clients pushed and the page does not show: too many series (limit), too much text (text), or neither gauge nor sum (kind).",
    ("reason",),
)
CLIENT_METRICS_FORWARDED = Metric(
    "barnabas_client_metrics_forwarded_total", _COUNTER, "pushes", "Pushes of clients that barnabas.client.metrics.otlp.endpoint took."
)
CLIENT_METRICS_NOT_FORWARDED = Metric(
    "barnabas_client_metrics_not_forwarded_total",
    _COUNTER,
    "pushes",
    "Pushes of clients that the endpoint did not get: it was down or too slow (waiting), or refused them (refused).",
    ("reason",),
)

BUILD_INFO = Metric(
    "barnabas_build_info",
    _GAUGE,
    "constant",
    "Always 1; the labels say what runs.",
    ("version", "python", "implementation", "platform"),
)
PROCESS_SERVING = Metric(
    "barnabas_process_serving", _GAUGE, "processes", "With --processes: 1 while the process of this node serves, otherwise 0.", ("process",)
)
PROCESS_RESTARTS = Metric(
    "barnabas_process_restarts_total",
    _COUNTER,
    "restarts",
    "With --processes: how often the supervisor has restarted the process of this node.",
    ("process",),
)
# prometheus-client reads these from /proc; other systems than Linux lack most of them.
PROCESS_CPU = Metric("process_cpu_seconds_total", _COUNTER, "seconds", "Processor time of the process, user and system.")
PROCESS_RESIDENT = Metric("process_resident_memory_bytes", _GAUGE, "bytes", "Memory of the process that is in RAM.")
PROCESS_VIRTUAL = Metric("process_virtual_memory_bytes", _GAUGE, "bytes", "Address space of the process.")
PROCESS_START = Metric("process_start_time_seconds", _GAUGE, "seconds", "Start of the process, since 1970.")
PROCESS_OPEN_FDS = Metric("process_open_fds", _GAUGE, "descriptors", "Descriptors that are open now.")
PROCESS_MAX_FDS = Metric("process_max_fds", _GAUGE, "descriptors", "Descriptors that the process may open.")

CATALOGUE: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
