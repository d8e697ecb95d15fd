"""The lines of all processes as one stream.

Every event of a node has its ``node_id``, so a line of JSON passes as it is. A line that is no
event, such as a warning of the interpreter, becomes an event with the node's id where the stream
is JSON: a reader of the stream must be able to parse every line.
"""

from __future__ import annotations

import json


def stream_line(line: str, node_id: int, *, is_json: bool, timestamp: str) -> str:
    """``line`` and the result end with a newline."""
    if not is_json or line.startswith("{"):
        return line
    fields = {"node_id": node_id, "output": line.rstrip("\n"), "event": "process wrote a line", "level": "warning", "timestamp": timestamp}
    return json.dumps(fields) + "\n"
