"""The output of Apache Kafka's ``kafka-dump-log``, parsed, and ours translated to the same
terms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from peers.apache_kafka import run_tool

_BATCH_FIELDS = {
    "base_offset": "baseOffset",
    "last_offset": "lastOffset",
    "count": "count",
    "base_sequence": "baseSequence",
    "last_sequence": "lastSequence",
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "leader_epoch": "partitionLeaderEpoch",
    "position": "position",
    "size_bytes": "size",
    "magic": "magic",
    "crc": "crc",
}
_PRODUCER_FIELDS = {
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "coordinator_epoch": "coordinatorEpoch",
    "last_timestamp": "lastTimestamp",
    "first_sequence": "firstSequence",
    "last_sequence": "lastSequence",
    "last_offset": "lastOffset",
    "offset_delta": "offsetDelta",
}
_FIELD = re.compile(r"(\w+): (\[[^\]]*\]|\S+)")

Facts = dict[str, Any]


def kafkas(files: Iterable[Path], *options: str) -> dict[str, list[Facts]]:
    """The output of Kafka's tool about each file, in order."""
    text = run_tool("org.apache.kafka.tools.DumpLogSegments", *options, "--files", ",".join(str(each) for each in files))
    facts: dict[str, list[Facts]] = {}
    current: list[Facts] = []
    for line in text.splitlines():
        if line.startswith("Dumping "):
            current = facts.setdefault(line.removeprefix("Dumping "), [])
        elif line.startswith("| "):
            current.append(_record(line))
        elif line.startswith("baseOffset: "):
            current.append(_batch(line))
        elif ": " in line and not line.startswith(("Log starting offset", "Snapshot end offset")):
            current.append(
                {name: _value(value) for name, value in _FIELD.findall(line) if name != "timestamp" or "lastTimestamp" not in line}
            )
    return facts


def ours(entries: Iterable[Facts]) -> dict[str, list[Facts]]:
    """Entries of ``log dump --json`` in Kafka's terms."""
    facts: dict[str, list[Facts]] = {}
    for entry in entries:
        facts.setdefault(entry["file"], []).append(_translated(entry))
    return facts


def _batch(line: str) -> Facts:
    fields = dict(_FIELD.findall(line))
    time_name = "CreateTime" if "CreateTime" in fields else "LogAppendTime"
    assert fields["isvalid"] == "true"
    return {
        **{name: _value(fields[name]) for name in _BATCH_FIELDS.values()},
        time_name: _value(fields[time_name]),
        "isTransactional": fields["isTransactional"] == "true",
        "isControl": fields["isControl"] == "true",
        "deleteHorizonMs": fields["deleteHorizonMs"],
        "compresscodec": fields["compresscodec"],
    }


def _record(line: str) -> Facts:
    fields = dict(_FIELD.findall(line))
    facts: Facts = {"offset": int(fields["offset"])}
    if "endTxnMarker" in fields:
        return {**facts, "type": fields["endTxnMarker"], "data": {"coordinatorEpoch": int(fields["coordinatorEpoch"])}}
    for control in ("LeaderChange", "SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters"):
        if f" {control}: " in line or f" {control} " in line:
            return {**facts, "type": control, "data": json.loads(line[line.index("{") :])}
    payload = line.partition(" payload: ")[2]
    if payload.startswith("{") and " key: {" in line:
        key = json.loads(line.partition(" key: ")[2].partition(" payload: ")[0])["data"]
        return {**facts, "key": key, "value": json.loads(payload)["data"]}
    if payload == "<DELETE>":
        return {**facts, "key": json.loads(line.partition(" key: ")[2].partition(" payload: ")[0])["data"], "value": None}
    if payload.startswith('{"type"'):
        decoded = json.loads(payload)
        return {**facts, "type": decoded["type"], "version": decoded["version"], "data": decoded["data"]}
    headers = fields["headerKeys"].strip("[]")
    sizes = {"keySize": int(fields["keySize"]), "valueSize": int(fields["valueSize"])}
    return {**facts, **sizes, "headerKeys": headers.split(",") if headers else []}


def _translated(entry: Facts) -> Facts:
    match entry["kind"]:
        case "batch":
            return {
                **{theirs: entry[name] for name, theirs in _BATCH_FIELDS.items()},
                entry["timestamp_type"]: entry["max_timestamp"],
                "isTransactional": entry["transactional"],
                "isControl": entry["control"],
                "deleteHorizonMs": "OptionalLong.empty" if entry["delete_horizon"] is None else f"OptionalLong[{entry['delete_horizon']}]",
                "compresscodec": entry["codec"],
            }
        case "record":
            sizes = {"keySize": _size(entry, "key"), "valueSize": _size(entry, "value")}
            return {"offset": entry["offset"], **sizes, "headerKeys": [each["name"] for each in entry["headers"]]}
        case "control_record":
            fields = _camel(entry["fields"])
            if entry["type"] in ("ABORT", "COMMIT"):
                fields.pop("version")
                return {"offset": entry["offset"], "type": entry["type"], "data": fields}
            return {"offset": entry["offset"], "type": entry["type"].title().replace("_", "").replace("Kraft", "KRaft"), "data": fields}
        case "named_record" if "key" in entry["fields"] and "value" in entry["fields"] and isinstance(entry["fields"]["key"], dict):
            value = entry["fields"]["value"]
            return {
                "offset": entry["offset"],
                "key": _camel(entry["fields"]["key"]),
                "value": None if value is None else {name: each for name, each in _camel(value).items() if name != "version"},
            }
        case "named_record":
            fields = _camel(entry["fields"])
            return {"offset": entry["offset"], "type": _upper(entry["type"]), "version": fields.pop("version"), "data": fields}
        case "producer":
            first = entry["transaction_first_offset"]
            return {
                **{theirs: entry[name] for name, theirs in _PRODUCER_FIELDS.items()},
                "currentTxnFirstOffset": "OptionalLong.empty" if first is None else f"OptionalLong[{first}]",
            }
        case "aborted_transaction":
            return {"version": 0, **_camel({name: value for name, value in entry.items() if name not in ("file", "kind")})}
        case _:
            return {name: value for name, value in entry.items() if name not in ("file", "kind")}


def _size(entry: Facts, name: str) -> int:
    if f"{name}_base64" in entry:
        text: str = entry[f"{name}_base64"]
        return len(text) * 3 // 4 - text.count("=")
    return -1 if entry[name] is None else len(entry[name].encode())


def _value(text: str) -> Any:
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _camel(value: Any) -> Any:
    match value:
        case dict():
            return {re.sub(r"_(\w)", lambda found: found[1].upper(), name): _camel(each) for name, each in value.items()}
        case list():
            return [_camel(each) for each in value]
    return value


def _upper(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
