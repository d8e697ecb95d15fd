"""The first example of ``docs/serdes.md``, as a reader types it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from tests.registry_process import RegistryProcess
from tests.waiting import LONG_PATIENCE_SECONDS

GUIDE = Path(__file__).parents[3] / "docs" / "serdes.md"


def test_example_of_the_guide_runs(registry: RegistryProcess) -> None:
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    example = found[1].replace("http://localhost:8081", registry.url).replace("localhost:9092", registry.bootstrap)
    example = example.replace('"payments"', f'"payments-{uuid4()}"').replace("poll(10)", "poll(60)")
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS, check=False)
    assert done.stdout.startswith("Payment(id=UUID("), done
