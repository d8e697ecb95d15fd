"""Settings changed at run time: of topics, brokers, all brokers, groups and client metrics.

Each resource of a request is decided separately. A change is applied to the present settings of the
resource, and the result must be valid as a whole.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS, security_tls
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS, INTERVAL_MS, MATCH, why_no_match
from barnabas.config.consistency import check
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import ConfigError, ConfigKey, ConfigType, Required, Scope, Value
from barnabas.config.parse import listener_key, parse_client_metrics_config, parse_group_config, parse_topic_config
from barnabas.config.schema_validation import REGISTRY_URL, check_validated_topic
from barnabas.config.tiered_topics import REMOTE_STORAGE_ENABLE, check_tiered_topic
from barnabas.config.topic_keys import TOPIC_KEYS
from barnabas.config.values import read_integer, split_list, trim
from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partitions import MIN_INSYNC_REPLICAS
from barnabas.metadata.configs import ConfigResource, ConfigsImage, ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.topic_names import INTERNAL_TOPICS, REMOTE_LOG_METADATA, why_illegal
from barnabas.wire.messages import alter_configs as replacing, incremental_alter_configs as incremental
from barnabas.wire.metadata_records import ClearElrRecord, ConfigRecord, MetadataRecord


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


Changes = Sequence[tuple[str, int, str | None]]  # name, operation, value

# Key and trust stores are files that TLS may read again while a listener runs, and each listener
# has its own.
_STORES_OF_KEYS = ("ssl.keystore.", "ssl.truststore.", "ssl.key.password")

_KEYS: Mapping[int, Mapping[str, ConfigKey]] = {
    ResourceType.TOPIC: TOPIC_KEYS,
    ResourceType.BROKER: {**BROKER_KEYS, **DYNAMIC_ONLY_KEYS},
    ResourceType.CLIENT_METRICS: CLIENT_METRICS_KEYS,
    ResourceType.GROUP: GROUP_KEYS,
}


# Kafka can open and close listeners while it runs. This node cannot yet, and must refuse the change
# rather than ignore it.
_FIXED_WHILE_RUNNING = frozenset({"listeners", "advertised.listeners", "listener.security.protocol.map"})

# With 0, a running broker would shut out the client that could undo the change.
_ADMITTING = frozenset({"max.connections", "max.connection.creation.rate"})

# Of the settings of one listener, these reach the listener while it runs.
_OF_RUNNING_LISTENERS = frozenset({"max.connection.creation.rate", *(key.name for key in security_tls.KEYS)})


def incremental_alter_configs(
    image: MetadataImage, effective: EffectiveConfigs, request: incremental.IncrementalAlterConfigsRequest
) -> Outcome:
    records: list[MetadataRecord] = []
    responses = []
    times = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    for asked in request.resources:
        resource = ConfigResource(asked.resource_type, asked.resource_name)
        changes = [(each.name, each.config_operation, each.value) for each in asked.configs]
        error, message = _decide(image, effective, resource, times[resource], changes, records)
        responses.append(
            incremental.AlterConfigsResourceResponse(
                error_code=error, error_message=message, resource_type=resource.type, resource_name=resource.name
            )
        )
    response = incremental.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)
    return Outcome(response, [] if request.validate_only else [*records, *_no_longer_eligible(image, records)])


def alter_configs(image: MetadataImage, effective: EffectiveConfigs, request: replacing.AlterConfigsRequest) -> Outcome:
    """The older API: settings that the request does not name are removed."""
    records: list[MetadataRecord] = []
    responses = []
    times = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    for asked in request.resources:
        resource = ConfigResource(asked.resource_type, asked.resource_name)
        changes: list[tuple[str, int, str | None]] = [(each.name, Operation.SET, each.value) for each in asked.configs]
        named = {each.name for each in asked.configs}
        present = image.configs.by_resource.get(resource, {})
        changes += [(name, Operation.DELETE, None) for name in present if name not in named]
        error, message = _decide(image, effective, resource, times[resource], changes, records)
        responses.append(
            replacing.AlterConfigsResourceResponse(
                error_code=error, error_message=message, resource_type=resource.type, resource_name=resource.name
            )
        )
    response = replacing.AlterConfigsResponse(throttle_time_ms=0, responses=responses)
    return Outcome(response, [] if request.validate_only else [*records, *_no_longer_eligible(image, records)])


def _no_longer_eligible(image: MetadataImage, changes: Sequence[MetadataRecord]) -> Iterator[MetadataRecord]:
    """Replicas became eligible under the old minimum. Under a smaller one, records may be
    acknowledged that these replicas do not have."""
    if not image.features.eligible_leader_replicas:
        return
    for record in changes:
        if isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS:
            yield ClearElrRecord(topic_name=record.resource_name if record.resource_type == ResourceType.TOPIC else "")


def _decide(
    image: MetadataImage,
    effective: EffectiveConfigs,
    resource: ConfigResource,
    times: int,
    changes: Changes,
    records: list[MetadataRecord],
) -> tuple[ErrorCode, str | None]:
    """Check one resource and collect the records of its change. Returns the error code and message
    of the response."""
    try:
        if times > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        _check_resource(image, resource)
        changed = _altered(image, effective, resource, changes)
    except KafkaError as refused:
        return refused.code, refused.message
    except ConfigError as error:
        # Kafka answers an invalid setting of a broker with another code than one of any other
        # resource, for historical reasons only.
        return ErrorCode.INVALID_REQUEST if resource.type == ResourceType.BROKER else ErrorCode.INVALID_CONFIG, error.response_text
    records.extend(
        ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value) for name, value in changed.items()
    )
    return ErrorCode.NONE, None


def _check_resource(image: MetadataImage, resource: ConfigResource) -> None:
    match resource.type:
        case ResourceType.TOPIC:
            if not resource.name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
            reason = why_illegal(resource.name)
            if reason is not None:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}.")
            if resource.name not in image.topics.by_name:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
        case ResourceType.BROKER:
            broker_id = read_integer(resource.name)
            if resource.name and (broker_id is None or broker_id < 0):
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"A broker is named by its id, not by '{resource.name}'.")
            if resource.name and broker_id not in image.cluster.brokers:
                raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No broker with id {resource.name} is registered.")
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            if not resource.name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The resource must have a name.")
        case _:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Settings of resource type {resource.type} cannot be altered here.")


def _altered(image: MetadataImage, effective: EffectiveConfigs, resource: ConfigResource, changes: Changes) -> dict[str, str | None]:
    """The settings that change, with their new values; None removes one."""
    keys = _KEYS[resource.type]
    present = image.configs.by_resource.get(resource, {})
    values = dict(present)
    if len({name for name, _, _ in changes}) < len(changes):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys.")
    for name, operation, value in changes:
        if operation not in tuple(Operation):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Operation {operation} on {name} does not exist.")
        if operation == Operation.DELETE:
            values.pop(name, None)
            continue
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for: {name}")
        if operation == Operation.SET:
            values[name] = value
        else:
            values[name] = _changed_list(keys.get(name), name, Operation(operation), value, _inherited(effective, resource, values, name))
    _validate(resource, values, {name for name, operation, _ in changes if operation != Operation.DELETE}, effective)
    if image.features.eligible_leader_replicas:
        _check_min_isr_of_brokers(resource, values, {name for name, _, _ in changes})
    # A record of a broker is written even if the value stays the same: the broker then reads the
    # files again that the value names, such as a renewed certificate.
    again = resource.type == ResourceType.BROKER
    return {name: values.get(name) for name, _, _ in changes if again or values.get(name) != present.get(name)}


def settings_after(
    image: MetadataImage, effective: EffectiveConfigs, resource: ConfigResource, changes: Changes
) -> EffectiveConfigs | None:
    """The settings of the broker ``resource`` as the changes would make them; None for changes that
    :func:`incremental_alter_configs` refuses."""
    present = image.configs.by_resource.get(resource, {})
    try:
        changed = _altered(image, effective, resource, changes)
    except (KafkaError, ConfigError):
        return None
    values = {name: value for name, value in {**present, **changed}.items() if value is not None}
    return EffectiveConfigs(effective.settings, ConfigsImage({**image.configs.by_resource, resource: values}), int(resource.name))


def _check_min_isr_of_brokers(resource: ConfigResource, values: Mapping[str, str], touched: set[str]) -> None:
    """The eligible leader replicas depend on the minimum, so all brokers must have the same one:
    there is one for the cluster, and it cannot be removed."""
    if resource.type != ResourceType.BROKER or MIN_INSYNC_REPLICAS not in touched:
        return
    if resource.name:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled.")
    if MIN_INSYNC_REPLICAS not in values:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled.")


def _inherited(effective: EffectiveConfigs, resource: ConfigResource, values: Mapping[str, str], name: str) -> str | None:
    """The value of a list setting before an item is appended or removed."""
    if name in values:
        return values[name]
    if resource.type == ResourceType.TOPIC and name in TOPIC_KEYS:
        return TOPIC_KEYS[name].render(effective.topic(resource.name)[name])
    if resource.type == ResourceType.BROKER and name in BROKER_KEYS:
        return BROKER_KEYS[name].render(effective.broker[name])
    key = _KEYS[resource.type].get(name)
    return None if key is None or isinstance(key.default, Required) else key.render(key.default)


def _changed_list(key: ConfigKey | None, name: str, operation: Operation, value: str, before: str | None) -> str:
    # Kafka's controller does not know the types of client metrics settings, so none of them is a
    # list to it.
    if key is None or key.type is not ConfigType.LIST or key.name in CLIENT_METRICS_KEYS:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Can't {operation.name} to key {name} because its type is not LIST.")
    items = [item for item in (before or "").split(",") if item]
    given = value.split(",")
    if operation is Operation.APPEND:
        items += [item for item in given if item not in items]
    else:
        items = [item for item in items if item not in given]
    return ",".join(items)


def _validate(resource: ConfigResource, values: Mapping[str, str], touched: set[str], effective: EffectiveConfigs) -> None:
    match resource.type:
        case ResourceType.TOPIC:
            check_topic_configs(resource.name, values, effective)
        case ResourceType.GROUP:
            _check_group_bounds(parse_group_config(values), effective)
        case ResourceType.CLIENT_METRICS:
            _validate_client_metrics(values)
        case ResourceType.BROKER:
            for name in sorted(touched):
                _validate_broker(resource, name, values[name])
            _check_together(resource, values, effective)


def check_topic_configs(topic: str, own: Mapping[str, str], effective: EffectiveConfigs) -> None:
    """Check the own settings of a topic, which need not exist yet."""
    values = parse_topic_config(own)
    before = effective.topic(topic)
    if values.get(REMOTE_STORAGE_ENABLE) and (topic in INTERNAL_TOPICS or topic == REMOTE_LOG_METADATA):
        raise ConfigError(f"{topic} is one of the cluster's own topics, which are not moved to remote storage.")
    if REMOTE_STORAGE_ENABLE in own or before[REMOTE_STORAGE_ENABLE]:
        check_tiered_topic(
            {**effective.topic_defaults, **values},
            was_enabled=bool(before[REMOTE_STORAGE_ENABLE]),
            system_enabled=effective.settings.flag("remote.log.storage.system.enable"),
        )
    check_validated_topic({**effective.topic_defaults, **values}, registry_known=bool(effective.settings.strings(REGISTRY_URL)))


def _check_group_bounds(values: Mapping[str, Value], effective: EffectiveConfigs) -> None:
    """A group may choose values within the bounds of the broker's configuration."""
    for name, value in values.items():
        kind, _, rest = name.partition(".")
        for bound, exceeds in (("min", operator.lt), ("max", operator.gt)):
            of_broker = f"group.{kind}.{bound}.{rest.removeprefix('num.')}"
            limit = effective.settings.values.get(of_broker)
            if isinstance(value, int) and isinstance(limit, int) and exceeds(value, limit):
                relation = "greater" if bound == "min" else "less"
                raise ConfigError(
                    f"{name} is {value}, where the broker's {bound}imum is {limit}.",
                    kafka=f"{name} must be {relation} than or equal to {of_broker}",
                )
    for kind in ("consumer", "share", "streams"):
        names = (f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms")
        session, heartbeat = (values.get(name, effective.settings.values[f"group.{name}"]) for name in names)
        assert isinstance(session, int)
        assert isinstance(heartbeat, int)
        if session <= heartbeat:
            raise ConfigError(
                f"{names[0]} is {session}, which must be more than {names[1]}, {heartbeat}.",
                kafka=f"{names[0]} must be greater than {names[1]}",
            )


def _validate_client_metrics(values: Mapping[str, str]) -> None:
    unknown = [name for name in values if name not in CLIENT_METRICS_KEYS]
    if unknown:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {unknown[0]}")
    interval = read_integer(trim(values.get(INTERVAL_MS, "")))
    valid = CLIENT_METRICS_KEYS[INTERVAL_MS].valid
    if interval is not None and valid is not None and not valid.allows(interval):
        words = f"Invalid value {interval} for {INTERVAL_MS}, interval must be between 100 and 3600000 (1 hour)"
        raise KafkaError(ErrorCode.INVALID_REQUEST, words)
    matches = split_list(trim(values.get(MATCH, "")))
    for text in matches:
        reason = why_no_match(text)
        # Kafka looks for empty items before it reads any; parsing refuses them below.
        if reason is not None and all(matches):
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {text} ({reason})")
    parse_client_metrics_config(values)


def _check_together(resource: ConfigResource, values: Mapping[str, str], effective: EffectiveConfigs) -> None:
    """Check the rules over several settings together: a broker could not start with settings that
    break them."""
    configs = ConfigsImage({**effective.configs.by_resource, resource: values})
    changed = EffectiveConfigs(effective.settings, configs, int(resource.name or effective.settings.integer("node.id")))
    check(replace(effective.settings, values=changed.broker))


def _validate_broker(resource: ConfigResource, name: str, text: str) -> None:
    of_listener = listener_key(name)
    key = of_listener.key if of_listener is not None else BROKER_KEYS.get(name) or DYNAMIC_ONLY_KEYS.get(name)
    if key is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} is not a setting of a broker.")
    fixed = name in _FIXED_WHILE_RUNNING if of_listener is None else of_listener.rest not in _OF_RUNNING_LISTENERS
    if key.scope is Scope.READ_ONLY or fixed:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{name}]")
    if of_listener is None and name.startswith(_STORES_OF_KEYS):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"These security configs can be dynamically updated only per-listener using the listener prefix: [{name}]."
            f" {name} can be changed for a listener only, as listener.name.<listener>.{name}.",
        )
    value = key.parse(text)
    if name in _ADMITTING and isinstance(value, int) and value <= 0:
        raise ConfigError(
            f"{name} is {value}, which admits no connection.",
            kafka="Invalid value org.apache.kafka.common.config.ConfigException: "
            f"Invalid {name} {value} for configuration Invalid dynamic configuration",
        )
    if key.scope is Scope.PER_BROKER and not resource.name:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Cannot update these configs at default cluster level, broker id must be specified: [{name}]."
            f" {name} belongs to one broker, not to all at once.",
        )
