"""A mapping in the words of others: MAESTRO's dataflow text, Timeloop's and ZigZag's YAML, our JSON, a nest.

One file a format, which says what its files are. Imports `problem` and what is below it.
"""

from __future__ import annotations

from dse.domains.clustered.formats.registry import FORMATS, export_mapping, read_mapping

__all__ = ["FORMATS", "export_mapping", "read_mapping"]
