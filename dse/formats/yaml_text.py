"""YAML through PyYAML, an optional library: plain data and the tags that Timeloop puts on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.support.errors import InputError, one_line


class Tagged(dict[str, Any]):
    """A table with a tag, such as `!Component`."""

    def __init__(self, tag: str, **items: Any) -> None:
        super().__init__(items)
        self.tag = tag


def dump(head: str, data: Mapping[str, Any] | list[Any]) -> str:
    """Data as YAML, tables in their order, small ones on a line, below a comment."""
    yaml = _library()

    class Dumper(yaml.SafeDumper):  # type: ignore[misc, name-defined]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def tagged(dumper: Any, table: Tagged) -> Any:
        return dumper.represent_mapping(table.tag, dict(table))

    Dumper.add_representer(Tagged, tagged)
    text: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, default_flow_style=None, width=110)
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    return comment + text


def load(text: str, where: str) -> Any:
    """The data in a YAML text, whatever tags are on it. InputError where it is not YAML."""
    yaml = _library()

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        pass

    def untagged(loader: Any, suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Loader.add_multi_constructor("!", untagged)
    try:
        return yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{where} is not YAML: {one_line(str(error))}") from None


def _library() -> Any:
    try:
        import yaml
    except ImportError:
        raise InputError("YAML files need the library PyYAML; pip install 'dse-arena[yaml]'") from None
    return yaml
