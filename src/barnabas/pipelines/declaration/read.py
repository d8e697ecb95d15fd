"""``read_pipeline(path)``: a file, YAML or Python, as a declaration."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.pipelines.declaration.findings import Findings
from barnabas.pipelines.declaration.located import read_yaml
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration, declare_pipeline


def read_pipeline(path: str, environment: Mapping[str, str] | None = None) -> PipelineDeclaration:
    """``DeclarationError`` has every mistake of the file, each with its line."""
    if path.endswith(".py"):
        from barnabas.pipelines.declaration.python_file import read_python

        return read_python(path)
    findings = Findings()
    return declare_pipeline(read_yaml(path, environment, findings), findings)
