"""Messages of OTLP, made and read by Google's protobuf, which shares no code with us."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "opentelemetry"
_FORMS = {"string": 9, "bytes": 12, "bool": 8, "int64": 3, "double": 1, "sfixed64": 16, "fixed64": 6, "uint32": 13, "int32": 5}
# The messages of opentelemetry-proto 1, as far as metrics need them: number, name, type. A plus
# means a repeated field.
_MESSAGES = {
    "ArrayValue": ["1 values AnyValue+"],
    "KeyValueList": ["1 values KeyValue+"],
    "AnyValue": [
        "1 string_value string",
        "2 bool_value bool",
        "3 int_value int64",
        "4 double_value double",
        "5 array_value ArrayValue",
        "6 kvlist_value KeyValueList",
        "7 bytes_value bytes",
    ],
    "KeyValue": ["1 key string", "2 value AnyValue"],
    "Resource": ["1 attributes KeyValue+", "2 dropped_attributes_count uint32"],
    "InstrumentationScope": ["1 name string", "2 version string"],
    "NumberDataPoint": [
        "7 attributes KeyValue+",
        "2 start_time_unix_nano fixed64",
        "3 time_unix_nano fixed64",
        "4 as_double double",
        "6 as_int sfixed64",
        "8 flags uint32",
    ],
    "Gauge": ["1 data_points NumberDataPoint+"],
    "Sum": ["1 data_points NumberDataPoint+", "2 aggregation_temporality int32", "3 is_monotonic bool"],
    "HistogramDataPoint": [
        "9 attributes KeyValue+",
        "2 start_time_unix_nano fixed64",
        "3 time_unix_nano fixed64",
        "4 count fixed64",
        "5 sum double",
        "6 bucket_counts fixed64+",
        "7 explicit_bounds double+",
    ],
    "Histogram": ["1 data_points HistogramDataPoint+", "2 aggregation_temporality int32"],
    "Metric": ["1 name string", "2 description string", "3 unit string", "5 gauge Gauge", "7 sum Sum", "9 histogram Histogram"],
    "ScopeMetrics": ["1 scope InstrumentationScope", "2 metrics Metric+", "3 schema_url string"],
    "ResourceMetrics": ["1 resource Resource", "2 scope_metrics ScopeMetrics+", "3 schema_url string"],
    "MetricsData": ["1 resource_metrics ResourceMetrics+"],
}

DELTA, CUMULATIVE = 1, 2


def _declared() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="otlp.proto", package=_PACKAGE, syntax="proto3")
    for name, lines in _MESSAGES.items():
        message = file.message_type.add(name=name)
        # The value of a point, and of an attribute, is one of several: a zero is written too.
        if name in ("NumberDataPoint", "AnyValue"):
            message.oneof_decl.add(name="value")
        for line in lines:
            number, field_name, kind = line.split()
            field = message.field.add(name=field_name, number=int(number), label=3 if kind.endswith("+") else 1)
            kind = kind.rstrip("+")
            if kind in _FORMS:
                field.type = _FORMS[kind]
            else:
                field.type, field.type_name = 11, f".{_PACKAGE}.{kind}"
            if name == "AnyValue" or field_name in ("as_double", "as_int"):
                field.oneof_index = 0
    return file


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_declared())


def message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))()


def metrics_data(*metrics: Any, resource: dict[str, str] | None = None) -> Any:
    """All metrics in one resource."""
    data = message("MetricsData")
    found = data.resource_metrics.add()
    for key, value in (resource or {}).items():
        found.resource.attributes.add(key=key).value.string_value = value
    found.scope_metrics.add().metrics.extend(metrics)
    return data


def gauge(name: str, value: float, **attributes: str) -> Any:
    made = message("Metric")
    made.name = name
    _point(made.gauge.data_points.add(as_double=value), attributes)
    return made


def counter(name: str, value: int, *, temporality: int = DELTA, **attributes: str) -> Any:
    made = message("Metric")
    made.name = name
    made.sum.is_monotonic = True
    made.sum.aggregation_temporality = temporality
    _point(made.sum.data_points.add(as_int=value), attributes)
    return made


def _point(point: Any, attributes: dict[str, str]) -> None:
    for key, value in attributes.items():
        point.attributes.add(key=key).value.string_value = value


def read(data: bytes) -> Any:
    decoded = message("MetricsData")
    decoded.ParseFromString(data)
    return decoded
