"""Mappings as MAESTRO's dataflow text, the files that MAESTRO reads and GAMMA and ArchGym write.

One layer of one network, with its sizes and two levels of directives around a `Cluster(P,P)`:

    Network mapping {
      Layer conv1_2 {
        Type: CONV
        Dimensions { K: 64, C: 64, Y: 226, X: 226, R: 3, S: 3 }
        Dataflow {
          SpatialMap(4,4) K;
          TemporalMap(16,16) Y';
          ...

A directive is `Map(size,offset) dim`, outermost loop first; size and offset are the tile. Y and X are input
sizes in `Dimensions`; their tiles are written in outputs, as Y' and X'. A size may read `Sz(R)`, the layer's.
A comment goes from // to the end of its line.

The syntax is that of the MAESTRO repository's parser and of the files in the GAMMA repository
(github.com/maestro-project). Batches (N), constants, GEMM layers, tiles of input rows and further clusters
are MAESTRO's too; this reader refuses them by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dse.core.layer import DIMS, MAX_SIZE, TYPES, Layer
from dse.core.widths import NO_WIDTHS
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Level, Mapping
from dse.support.errors import InputError, shorten, unknown_name

WRITTEN = {"K": "K", "C": "C", "Y": "Y'", "X": "X'", "R": "R", "S": "S"}
"""How a directive names each dim."""

MAPS = ("SpatialMap", "TemporalMap")
_READ = {written: dim for dim, written in WRITTEN.items()}
_TOKEN = re.compile(r"//[^\n]*|\n|[^\S\n]+|[{}(),:;]|(?:[^\s{}(),:;/]+|/(?!/))+")


def maestro_text(layer: Layer, mapping: Mapping, *, lower: bool = True) -> str:
    """The dataflow text of `mapping` for `layer.lowered()`, which is what this framework prices.

    With `lower=False` it is for the layer as it is: MAESTRO then treats the stride in its own way, and
    padding, which it does not have, is an InputError. So are tiles that MAESTRO cannot read.
    """
    layer = layer.lowered() if lower else layer
    if layer.padding != (0, 0) or layer.dilation != (1, 1):
        raise InputError(f"MAESTRO has no padding and no dilation, got {layer}; write the lowered layer")
    name = re.sub(r"[^\w.+]", "_", layer.name) or layer.type
    sizes = ", ".join(f"{dim}: {getattr(layer, dim)}" for dim in DIMS)
    rows, columns = layer.stride
    cluster = _written(mapping.cluster_size, "cluster_size")
    lines = [
        "Network mapping {",
        f"  Layer {name} {{",
        f"    Type: {layer.type}",
        *([f"    Stride {{ X: {columns}, Y: {rows} }}"] if layer.strided else []),
        f"    Dimensions {{ {sizes} }}",
        "    Dataflow {",
        *_directives(mapping.outer, "outer"),
        f"      Cluster({cluster},P);",
        *_directives(mapping.inner, "inner"),
        "    }",
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def read_maestro_text(text: str, where: str = "dataflow text") -> tuple[Layer, Mapping]:
    """The layer and the mapping in a dataflow text.

    Raises InputError with `where`, the line and what would be right there at the first thing wrong.
    """
    return _Reader(text, where).network()


def _directives(level: Level, name: str) -> Iterator[str]:
    for dim in level.order:
        kind = MAPS[0] if dim == level.parallel else MAPS[1]
        tile = _written(level[dim], f"{name}.tile.{dim}")
        yield f"      {kind}({tile},{tile}) {WRITTEN[dim]};"


def _written(size: int, what: str) -> int:
    if not 1 <= size <= MAX_SIZE:
        raise InputError(f"MAESTRO takes sizes of 1 to {MAX_SIZE}, got {what} = {shorten(size)}")
    return size


class _Reader:
    """Reads the text token by token; `line` is that of the last token taken."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.line = 1
        self.tokens = self._tokenise(text)
        self.next: tuple[str, int] = ("", 1)
        self.sizes: dict[str, int] = {}
        self._advance()

    def network(self) -> tuple[Layer, Mapping]:
        """The whole text."""
        self._take("Network")
        self._name()
        self._take("{")
        self._take("Layer")
        name = self._name()
        self._take("{")
        layer, mapping = self._layer(name)
        self._take("}", "; one layer a text")
        self._take("", "; one network a text")
        return layer, mapping

    def _layer(self, name: str) -> tuple[Layer, Mapping]:
        sizes_line = self.line
        kind, strides = "", {"Y": 1, "X": 1}
        mapping: Mapping | None = None
        seen: set[str] = set()
        while (key := self._one_of(("Type", "Stride", "Dimensions", "Dataflow", "}"), "entry")) != "}":
            if key in seen:
                raise self._error(f"a second {key}; a layer has one")
            seen.add(key)
            if key == "Type":
                self._take(":")
                kind = self._one_of(TYPES, "type")
            elif key == "Stride":
                if self.sizes:
                    raise self._error("Stride after Dimensions; MAESTRO reads it only before them")
                strides |= self._table(("X", "Y"), key)
            elif key == "Dimensions":
                sizes_line, self.sizes = self.line, self._table(DIMS, key)
            elif not self.sizes:
                raise self._error("Dataflow before Dimensions; expected Dimensions first")
            else:
                mapping = self._dataflow()
        missing = [key for key in ("Type", "Dimensions", "Dataflow") if key not in seen]
        if missing or mapping is None:
            raise self._error(f"the layer lacks {', '.join(missing)}")
        stride = [strides["Y"], strides["X"]]
        where = f"{self.where} line {sizes_line}"
        layer = Layer.from_dict({"type": kind, **self.sizes, "stride": stride}, where)
        return replace(layer, name="" if name in TYPES else name), mapping

    def _table(self, names: tuple[str, ...], what: str) -> dict[str, int]:
        """`{ K: 64, C: 3 }`, each of `names` once."""
        self._take("{")
        found: dict[str, int] = {}
        while not found or self._one_of((",", "}"), "") == ",":
            name = self._one_of(names, "dim")
            if name in found:
                raise self._error(f"a second {name} in {what}")
            self._take(":")
            found[name] = self._number()
        missing = [name for name in names if name not in found]
        if missing:
            raise self._error(f"{what} lacks {', '.join(missing)}")
        return found

    def _dataflow(self) -> Mapping:
        self._take("{")
        outer = self._level("outer", "Cluster")
        self._take("(")
        cluster = self._size()
        self._take(",")
        self._take("P", "; only physical clusters are priced")
        self._take(")")
        self._take(";")
        return Mapping(outer, cluster, self._level("inner", "}"))

    def _level(self, name: str, end: str) -> Level:
        """The directives up to and with the token `end`."""
        tiles: dict[str, int] = {}
        parallel = ""
        while (kind := self._one_of((*MAPS, end), "directive")) != end:
            self._take("(")
            size = self._size()
            self._take(",")
            offset = self._size()
            self._take(")")
            dim = self._dim()
            if dim in tiles:
                hint = "; Cluster(P,P) begins the inner level" if name == "outer" else ""
                raise self._error(f"a second map of {WRITTEN[dim]} at the {name} level{hint}")
            if size != offset:
                raise self._error(f"size {size} and offset {offset} differ; both must be the tile")
            if kind == MAPS[0] and parallel:
                raise self._error(f"a second SpatialMap at the {name} level; a level has one parallel dim")
            self._take(";")
            tiles[dim] = size
            parallel = dim if kind == MAPS[0] else parallel
        missing = [WRITTEN[dim] for dim in DIMS if dim not in tiles]
        if missing:
            raise self._error(f"the {name} level lacks a map of {', '.join(missing)}")
        if not parallel:
            raise self._error(f"the {name} level lacks a SpatialMap")
        return Level(parallel, tuple(tiles), tuple(tiles[dim] for dim in DIMS))

    def _dim(self) -> str:
        token = self._one_of((*_READ, "Y", "X"), "dim", hide=2)
        if token not in _READ:
            raise self._error(f"a map of {token} counts inputs; expected {token}' with its tile in outputs")
        return _READ[token]

    def _size(self) -> int:
        """A number, or Sz(dim)."""
        if self.next[0] != "Sz":
            return self._number()
        self._take("Sz")
        self._take("(")
        size = self.sizes[self._one_of(DIMS, "dim")]
        self._take(")")
        return size

    def _number(self) -> int:
        token = self._advance()
        # Ten digits at most, because Python refuses to read thousands of them.
        number = int(token) if re.fullmatch("[0-9]{1,10}", token) else 0
        if not 1 <= number <= MAX_SIZE:
            raise self._error(f"expected a whole number of 1 to {MAX_SIZE}, got {_shown(token)}")
        return number

    def _name(self) -> str:
        """An optional name."""
        return "" if self.next[0] in ("", "{") else self._advance()

    def _one_of(self, expected: tuple[str, ...], kind: str, hide: int = 0) -> str:
        token = self._advance()
        if token in expected:
            return token
        offered = expected[: len(expected) - hide]
        if kind and re.match(r"\w", token):
            raise self._error(str(unknown_name(kind, token[:80], offered)))
        raise self._error(f"expected {' or '.join(offered)}, got {_shown(token)}")

    def _take(self, expected: str, hint: str = "") -> None:
        token = self._advance()
        if token != expected:
            raise self._error(f"expected {expected or 'the end'}, got {_shown(token)}{hint}")

    def _advance(self) -> str:
        """Take the next token; "" at the end of the text."""
        token, self.line = self.next
        self.next = next(self.tokens, ("", self.next[1]))
        return token

    def _tokenise(self, text: str) -> Iterator[tuple[str, int]]:
        line = 1
        for match in _TOKEN.finditer(text):
            token = match.group()
            if token == "\n":
                line += 1
            elif not token.isspace() and not token.startswith("//"):
                yield token, line
        yield "", line

    def _error(self, message: str) -> InputError:
        return InputError(f"{self.where} line {self.line}: {message}")


def _shown(token: str) -> str:
    return shorten(token) if token else "the end of the text"


def write(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> dict[str, str]:
    """The layer and the mapping; of the accelerator it says nothing."""
    return {"mapping.m": maestro_text(layer, mapping)}


def read(text: str, where: str, layer: Layer, accelerator: Accelerator) -> Mapping:
    """The mapping in a dataflow text of this layer, as it is or lowered; of widths the text says nothing."""
    found, mapping = read_maestro_text(text, where)
    written = replace(layer, bits=NO_WIDTHS)
    if found not in (written, written.lowered()):
        raise InputError(f"{where} is of {found}; expected {written}, or that lowered, {written.lowered()}")
    return mapping
