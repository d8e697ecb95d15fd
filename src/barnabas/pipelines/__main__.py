"""``python -m barnabas.pipelines FILE...``: the same as ``barnabas pipelines run``; spark-submit
ends up here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from barnabas.pipelines.declaration.pipeline_declaration import DEFAULT_METRICS_HOST, MetricsAddress
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.running.job import run_files


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="barnabas.pipelines", description="Run pipelines on Spark.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--master")
    parser.add_argument("--available-now", action="store_true")
    parser.add_argument("--checkpoint", metavar="DIR")
    parser.add_argument("--metrics-port", type=int, metavar="PORT")
    parser.add_argument("--metrics-host", default=DEFAULT_METRICS_HOST, metavar="HOST")
    parser.add_argument("--command-config", "--config-file", metavar="FILE", dest="client_file")
    options = parser.parse_args(arguments)
    try:
        run_files(
            options.files,
            master=options.master,
            available_now=options.available_now,
            checkpoint=options.checkpoint,
            client_file=options.client_file,
            metrics=None if options.metrics_port is None else MetricsAddress(options.metrics_port, options.metrics_host),
        )
    except PipelineError as error:
        sys.stderr.write(f"barnabas: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
