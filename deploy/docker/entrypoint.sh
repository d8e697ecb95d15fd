#!/bin/sh
# The entrypoint of the image: format the log directories before the first start, then become the
# server. Any other command of barnabas runs as it is: docker run IMAGE topics list -b host:9092
#
# The settings come from one of three places, and KAFKA_... variables override each of them:
#
#   a file that is mounted at $MOUNTED  the user's server.properties, where apache/kafka has it too
#   the environment alone               when KAFKA_PROCESS_ROLES describes a whole node
#   the file of the image               otherwise: one node that is broker and controller
set -eu

MOUNTED=${BARNABAS_MOUNTED_CONFIG:-/mnt/shared/config/server.properties}
DEFAULT=${BARNABAS_DEFAULT_CONFIG:-/etc/barnabas/server.properties}
# The id that apache/kafka uses when CLUSTER_ID is not set. Nodes that share it find each other.
DEFAULT_CLUSTER_ID=5L6g3nShT-eMCtK--X86sw

if [ "${1:-}" != server ]; then
    exec barnabas "$@"
fi

config=
if [ -e "$MOUNTED" ]; then
    config=$MOUNTED
elif [ -z "${KAFKA_PROCESS_ROLES:-}" ]; then
    config=$DEFAULT
else
    export KAFKA_LOG_DIRS="${KAFKA_LOG_DIRS:-/var/lib/barnabas}"
fi

# Call a command of barnabas with the settings of this node.
with_settings() {
    barnabas "$@" ${config:+--config "$config"}
}

# Directories of an earlier start keep their id when CLUSTER_ID is not set.
if [ -n "${CLUSTER_ID:-}" ] || ! with_settings storage info --environment >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # several options, separated by spaces
    with_settings storage format --environment --ignore-formatted \
        --cluster-id "${CLUSTER_ID:-$DEFAULT_CLUSTER_ID}" ${BARNABAS_FORMAT_OPTIONS:-}
fi

# exec, so that SIGTERM of `docker stop` reaches the server and not this shell.
exec barnabas "$@" ${config:+--config "$config"}
