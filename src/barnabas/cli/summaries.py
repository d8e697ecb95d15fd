"""One line of help for each command, as ``barnabas --help`` lists them.

They repeat the first sentence of each command's own help, because a command must be imported to
read those, and together the commands import everything. A test compares the two.
"""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "up": "Start a development cluster; Ctrl-C or SIGTERM stops it.",
    "server": "Run one node until SIGTERM or Ctrl-C.",
    "storage": "Format and inspect log directories.",
    "topics": "Create, list, describe, extend and delete topics.",
    "configs": "Settings of topics, brokers, groups and more.",
    "produce": "Send lines of stdin or of files, JSON lines, or one --value as records.",
    "consume": "Print records as they come, until Ctrl-C, --max, --timeout, --until-end or the end of a range.",
    "groups": "List and describe consumer groups, reset their offsets, delete them.",
    "share-groups": "List and describe share groups, reset their offsets, delete them.",
    "streams-groups": "List and describe streams groups, reset their offsets, delete them.",
    "transactions": "List transactions, and end hanging ones.",
    "acls": "Rules of who may do what: list, add, remove and explain them.",
    "quotas": "Limits of users, client ids and addresses: list, set and remove them.",
    "users": "Users that log in with SCRAM: list, add and remove them.",
    "tokens": "Delegation tokens: create, renew, expire and list them.",
    "client-metrics": "Metrics that clients push to brokers: list, describe, set and delete subscriptions.",
    "brokers": "List the brokers, and remove those that are gone for good.",
    "quorum": "Describe the controllers' quorum, and add or remove voters.",
    "reassign": "Move partitions between brokers and directories.",
    "perf": "Measure throughput and latency.",
    "log": "Print and verify the files of a node.",
    "doctor": "Check this machine, the configuration of a node, and a running cluster.",
    "simulate": "Run simulated clusters through faults, and check their invariants.",
    "mirror": "Copy topics to another cluster, and keep copying: same partitions, keys, values, timestamps and headers, each record once.",
    "sql": "Query topics in SQL.",
    "pipelines": "Check data pipelines, run them on Spark, and show their status.",
    "registry": "Run one instance of the schema registry until SIGTERM or Ctrl-C.",
    "schemas": "Schemas of a registry: list, get, register, check, compare, delete and move them.",
    "console": "Serve the web console until SIGTERM or Ctrl-C.",
    "profile": "Save clusters under names, and choose the one that commands use.",
    "certs": "Make a private certificate authority, and certificates for nodes and clients.",
}
