"""``read_pipeline(path)``: a file, YAML or Python, as a declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from barnabas.pipelines.declaration.findings import Findings
from barnabas.pipelines.declaration.located import read_yaml
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration, declare_pipeline
from barnabas.pipelines.kafka_settings import ADDRESSES, read_settings, replaced_by


def read_pipeline(path: str, environment: Mapping[str, str] | None = None, *, client_file: str | None = None) -> PipelineDeclaration:
    """``DeclarationError`` has every mistake of the file, each with its line. ``client_file`` has
    settings of Kafka's clients that come before those of the pipeline."""
    declaration = _declared(path, environment)
    if client_file is None:
        return declaration
    file = read_settings(client_file)
    return replace(declaration, bootstrap=file.get(ADDRESSES, declaration.bootstrap), kafka=replaced_by(declaration.kafka, file))


def _declared(path: str, environment: Mapping[str, str] | None) -> PipelineDeclaration:
    if path.endswith(".py"):
        from barnabas.pipelines.declaration.python_file import read_python

        return read_python(path)
    findings = Findings()
    return declare_pipeline(read_yaml(path, environment, findings), findings)
