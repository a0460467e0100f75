"""YAML as files of other tools have it: tables in their order, with the tags that Timeloop puts on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.support.strict_yaml import library
from dse.support.strict_yaml import parse as load

__all__ = ["Tagged", "dump", "load"]


class Tagged(dict[str, Any]):
    """A table with a tag, such as `!Component`."""

    def __init__(self, tag: str, **items: Any) -> None:
        super().__init__(items)
        self.tag = tag


def dump(head: str, data: Mapping[str, Any] | list[Any]) -> str:
    """Data as YAML, tables in their order, small ones on a line, below a comment."""
    yaml = library()

    class Dumper(yaml.SafeDumper):  # type: ignore[misc, name-defined]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def tagged(dumper: Any, table: Tagged) -> Any:
        return dumper.represent_mapping(table.tag, dict(table))

    Dumper.add_representer(Tagged, tagged)
    text: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, default_flow_style=None, width=110)
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    return comment + text
