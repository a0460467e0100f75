"""YAML through PyYAML, an optional library: written for other tools, and read strictly.

What is read is plain data, bounded in size, depth and nodes.

Plain data are tables whose keys are text, lists, text, numbers, true, false and null. A tag of the file's
own, such as Timeloop's `!Component`, stands in its table under the key `!`, and is passed over elsewhere.
What is named by an alias or a merge key counts as if it were written out there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from dse.support import strict_json
from dse.support.errors import InputError, one_line, shorten
from dse.support.hashing import CANONICAL, digest

NOTE_HEAD = "# What dse reads back, with what has no words above, as long as nothing above is changed:\n"
NOTE = "#: "
NOTE_WIDTH = 110
_PIECE = re.compile(rf".{{1,{NOTE_WIDTH - len(NOTE) - 1}}},|.{{1,{NOTE_WIDTH - len(NOTE)}}}")
"""A note is cut behind commas where there is one, so that no line ends in a space."""
MAX_LETTERS, MAX_NODES, MAX_DEPTH = 4 << 20, 100_000, 100
MAX_DIGITS = 100
"""Letters of a number; a longer one is text."""
MAX_PREFIXES = 100
"""For tags, of a file's own: each is held against all others."""
TAG = "!"
"""The key under which a table has its tag."""

_OURS = "tag:yaml.org,2002:"


def parse_yaml(text: str, where: str) -> Any:
    """The data in a YAML text of one document; an InputError that begins with `where` if it is not usable."""
    yaml = library()
    if len(text) > MAX_LETTERS:
        raise InputError(f"{where} is not usable YAML: it is longer than {MAX_LETTERS >> 20} MiB")
    if text.count("%TAG") > MAX_PREFIXES:
        raise InputError(f"{where} is not usable YAML: it has more than {MAX_PREFIXES} %TAG directives")
    try:
        return _Reader(yaml, text).document()
    except _Refused as error:
        raise InputError(f"{where} is not usable YAML: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{where} is not usable YAML: {_said(error)}") from None


def library() -> Any:
    """PyYAML. InputError that says what to install where it is not there."""
    try:
        import yaml
    except ImportError:
        raise InputError("YAML files need the library PyYAML; pip install 'dse-arena[yaml]'") from None
    return yaml


class Table(dict[str, Any]):
    """A table that knows in which line of its file it begins, and each of its keys stands."""

    def __init__(self, data: Mapping[str, Any], line: int, lines: Mapping[str, int]) -> None:
        super().__init__(data)
        self.line, self.lines = line, dict(lines)


def line_of(data: Any, place: Sequence[str | int]) -> int | None:
    """The line of what stands at a place in parsed data, by keys and numbers; None if it is not known."""
    found = getattr(data, "line", None)
    for part in place:
        lines = getattr(data, "lines", {})
        found = lines.get(part, found)
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            break
        found = getattr(data, "line", found) if not isinstance(part, str) else found
    return found


class _Refused(Exception):
    """YAML, and yet not what is read here."""


def _refuse(event: Any, why: str) -> NoReturn:
    raise _Refused(f"{why} in line {event.start_mark.line + 1}")


def _said(error: Exception) -> str:
    """A complaint of PyYAML's, with its place said in our words."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return one_line(str(error)).replace(' in "<unicode string>",', "")
    said = ", ".join(filter(None, (error.context, error.problem)))  # type: ignore[attr-defined]
    return f"{one_line(said)} in line {mark.line + 1} column {mark.column + 1}"


class _Reader:
    """Makes data of a text's events, one after the other."""

    def __init__(self, yaml: Any, text: str) -> None:
        self._yaml = yaml
        self._plain = yaml.SafeLoader("")
        self._events: Iterator[Any] = yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._nodes = 0
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        """What each stands for, and of how many nodes that is; None where it has not ended."""

    def document(self) -> Any:
        """The only document; None if there is none."""
        next(self._events)
        if isinstance(next(self._events), self._yaml.StreamEndEvent):
            return None
        value = self._value(next(self._events), 0)
        next(self._events)
        after = next(self._events)
        if not isinstance(after, self._yaml.StreamEndEvent):
            _refuse(after, "there is a second document")
        return value

    def _value(self, event: Any, depth: int) -> Any:
        if isinstance(event, self._yaml.AliasEvent):
            return self._named(event)
        before = self._nodes
        self._count(event, 1)
        if depth > MAX_DEPTH:
            _refuse(event, f"more than {MAX_DEPTH} tables and lists are within each other")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, self._yaml.MappingStartEvent):
            value: Any = self._table(event, depth)
        elif isinstance(event, self._yaml.SequenceStartEvent):
            value = self._list(event, depth)
        else:
            value = self._scalar(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._nodes - before
        return value

    def _count(self, event: Any, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            _refuse(event, f"it comes to more than {MAX_NODES:,} values, aliases written out,")

    def _named(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            _refuse(event, f"no anchor is called {shorten(event.anchor)}")
        known = self._anchors[event.anchor]
        if known is None:
            _refuse(event, f"the alias {shorten(event.anchor)} is within what it stands for,")
        value, nodes = known
        self._count(event, nodes)
        return value

    def _list(self, event: Any, depth: int) -> list[Any]:
        self._tag(event, "seq")
        found = []
        while not isinstance(item := next(self._events), self._yaml.SequenceEndEvent):
            found.append(self._value(item, depth + 1))
        return found

    def _table(self, event: Any, depth: int) -> dict[str, Any]:
        tag = self._tag(event, "map")
        found: dict[str, Any] = {TAG: tag} if tag else {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(key := next(self._events), self._yaml.MappingEndEvent):
            if not isinstance(key, self._yaml.ScalarEvent):
                _refuse(key, "a key is no plain text")
            self._value(key, depth)
            value = self._value(next(self._events), depth + 1)
            if key.value == "<<" and key.implicit[0]:
                _merge(merged, value, key)
            elif key.value in found:
                _refuse(key, f"the key {shorten(key.value)} is there twice, again")
            else:
                found[key.value] = value
                lines[key.value] = key.start_mark.line + 1
        return Table({**merged, **found}, event.start_mark.line + 1, lines)

    def _scalar(self, event: Any) -> Any:
        tag = self._tag(event, "str", "int", "float", "bool", "null")
        known = event.tag not in (None, TAG)
        if tag or (not known and not event.implicit[0]):
            return event.value
        if known:
            kind = event.tag
        elif len(event.value) > MAX_DIGITS:
            return event.value
        else:
            kind = self._plain.resolve(self._yaml.ScalarNode, event.value, (True, False))
        return self._read_as(kind.removeprefix(_OURS), event)

    def _read_as(self, kind: str, event: Any) -> Any:
        # Dates are text here, and so is what YAML once had a special word for.
        if kind not in ("int", "float", "bool", "null"):
            return event.value
        node = self._yaml.ScalarNode(f"{_OURS}{kind}", event.value)
        try:
            if len(event.value) > MAX_DIGITS:
                raise ValueError
            return getattr(self._plain, f"construct_yaml_{kind}")(node)
        except (ValueError, IndexError, KeyError, OverflowError):
            _refuse(event, f"{shorten(event.value)} is not what its tag says, {kind},")

    def _tag(self, event: Any, *kinds: str) -> str:
        """The tag of the file's own that a node has, if any; of YAML's tags it may have those of `kinds`."""
        tag: str = event.tag or TAG
        if tag.startswith(TAG):
            return tag[len(TAG) :]
        if tag not in [f"{_OURS}{kind}" for kind in kinds]:
            _refuse(event, f"the tag {shorten(tag.replace(_OURS, '!!'))} is none of plain data,")
        return ""


def _merge(into: dict[str, Any], value: Any, event: Any) -> None:
    """Enter what a merge key brings: a table, or a list of them of which earlier ones count first."""
    for table in value if isinstance(value, list) else [value]:
        if not isinstance(table, dict):
            _refuse(event, "what << merges is no table")
        for name, item in table.items():
            if name != TAG:
                into.setdefault(name, item)


class Tagged(dict[str, Any]):
    """A table with a tag, such as `!Component`."""

    def __init__(self, tag: str, **items: Any) -> None:
        super().__init__(items)
        self.tag = tag


def dump_yaml(head: str, data: Mapping[str, Any] | list[Any]) -> str:
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


def with_note(text: str, kind: str, exact: object) -> str:
    """The YAML text with the exact data, called `kind`, as a comment behind it.

    A machine of ours in the words of another tool lacks what that tool has no words for. The comment has the
    whole, and the digest of the file's data: whoever reads the file takes the comment for it as long as the
    data are those that it was written for, and the data themselves once somebody has changed them.
    """
    note = json.dumps({"of": digest(parse_yaml(text, kind)), kind: exact}, separators=CANONICAL)
    return f"{text}{NOTE_HEAD}" + "".join(f"{NOTE}{piece}\n" for piece in _PIECE.findall(note))


def noted_data(text: str, data: object, kind: str, where: str) -> Any:
    """The exact data of that kind that the text ends in, if they are those of its `data`; else None.

    InputError where there is a note that cannot be read.
    """
    lines = [line[len(NOTE) :] for line in text.splitlines() if line.startswith(NOTE)]
    if not lines:
        return None
    at = f"{where}: its last lines, which begin with {NOTE.strip()}"
    note = strict_json.parse_json("".join(lines), at)
    if not isinstance(note, dict):
        raise InputError(f"{at}, are no note of dse's")
    try:
        unchanged = note.get("of") == digest(data)
    except (TypeError, ValueError):
        unchanged = False
    return note.get(kind) if unchanged else None
