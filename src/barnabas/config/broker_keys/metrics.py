"""Metrics of the node and of its clients."""

from __future__ import annotations

from barnabas.config.declare import CLUSTER_WIDE, INT, LIST, LONG, STRING, ConfigKey, at_least, list_of, refused
from barnabas.config.effects import METRICS_ARE_COUNTERS

KEYS = (
    ConfigKey(
        "metric.reporters",
        LIST,
        ("org.apache.kafka.common.metrics.JmxReporter",),
        "Classes that report metrics.",
        scope=CLUSTER_WIDE,
        valid=list_of(),
        effect=refused("metric reporters are JVM classes; barnabas.prometheus.listener shows the metrics"),
    ),
    ConfigKey(
        "kafka.metrics.reporters",
        LIST,
        (),
        "Classes that report the older Yammer metrics.",
        valid=list_of(),
        effect=refused("metric reporters are JVM classes; barnabas.prometheus.listener shows the metrics"),
    ),
    ConfigKey(
        "kafka.metrics.polling.interval.secs",
        INT,
        10,
        "How often the reporters of kafka.metrics.reporters are polled.",
        valid=at_least(1),
        effect=METRICS_ARE_COUNTERS,
    ),
    ConfigKey(
        "metrics.num.samples", INT, 2, "How many samples (windows) a measured rate spans.", valid=at_least(1), effect=METRICS_ARE_COUNTERS
    ),
    ConfigKey(
        "metrics.sample.window.ms",
        LONG,
        30_000,
        "How long each window of a measured rate is.",
        valid=at_least(1),
        effect=METRICS_ARE_COUNTERS,
    ),
    ConfigKey("metrics.recording.level", STRING, "INFO", "How detailed metrics are: INFO, DEBUG or TRACE.", effect=METRICS_ARE_COUNTERS),
    ConfigKey(
        "telemetry.max.bytes",
        INT,
        1_048_576,
        "The largest set of metrics a client may push at once, after compression.",
        valid=at_least(1),
    ),
)
