"""A DNN layer as the seven nested loops of a convolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from dse.core.reads import Reads, reads_of
from dse.core.widths import NO_WIDTHS, Widths
from dse.support.errors import InputError, errors_within, shorten, unknown_name
from dse.support.schema import Limits, Schema, read_schema
from dse.support.validation import INT64_MAX, check_table, whole_number

DIMS = ("K", "C", "Y", "X", "R", "S")
"""Output channels, input channels, input rows and columns, filter rows and columns."""

TYPES = ("CONV", "DSCONV")

PRODUCT_DIMS = {"Y": "M", "K": "N", "C": "K"}
"""How the dims of a matrix product, (M x K) times (K x N), are called."""

TENSORS = ("input", "weight", "output")
COUPLED = {"CONV": ("CYX", "KCRS", "KYX"), "DSCONV": ("CYX", "CRS", "CYX")}
"""The dims that index each of TENSORS; a depthwise layer has its output channels in C."""

NO_STEPS = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
"""How a filter moves that takes every place of its input, by rows and columns."""

MAX_SIZE = 2**31 - 1


@dataclass(frozen=True)
class Layer:
    """One convolution: `type` CONV, or DSCONV (depthwise: the channels are C, and K is 1).

    `Y` and `X` are the unpadded input's rows and columns; `stride`, `padding` and `dilation` are (rows,
    columns). K and C are the channels of all `groups` together, `batch` is how many samples share the
    weights: what is mapped is `folded()`, which has one of each. `bits` are the widths of its words, where it
    has its own. `name` and `repeats` (how often its network runs the layer) are labels: two layers are equal
    if their loops and widths are.
    """

    type: str
    K: int
    C: int
    Y: int
    X: int
    R: int
    S: int
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    name: str = field(default="", compare=False)
    repeats: int = field(default=1, compare=False)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    batch: int = 1
    bits: Widths = NO_WIDTHS

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"layer: name must be text, got {shorten(self.name)}")
        if not self.name.isprintable():
            raise InputError(f"layer: name must be a line of text, got {shorten(self.name)}")
        label = _label(self.name)
        if self.type not in TYPES:
            raise unknown_name("type", self.type, TYPES, label)
        for dim in DIMS:
            object.__setattr__(self, dim, whole_number(getattr(self, dim), f"{label}: {dim}", most=MAX_SIZE))
        object.__setattr__(self, "stride", _pair(self.stride, f"{label}: stride", least=1))
        object.__setattr__(self, "padding", _pair(self.padding, f"{label}: padding", least=0))
        dilation = _pair(self.dilation, f"{label}: dilation", least=1)
        # A filter of one row is the same at any dilation.
        spread = (1 if self.R == 1 else dilation[0], 1 if self.S == 1 else dilation[1])
        object.__setattr__(self, "dilation", spread)
        for count in ("repeats", "groups", "batch"):
            object.__setattr__(self, count, whole_number(getattr(self, count), f"{label}: {count}"))
        object.__setattr__(self, "bits", Widths.read(self.bits, f"{label}: bits"))
        self._check_channels(label)
        self._check_sizes(label)
        if self.macs > INT64_MAX:
            raise InputError(f"{label}: its multiply-accumulates do not fit in 64 bits ({self.macs:.3g})")

    def _check_channels(self, label: str) -> None:
        if self.type == "DSCONV" and self.K != 1:
            raise InputError(f"{label}: a DSCONV layer has its channels in C and K = 1, got K = {self.K}")
        if self.type == "DSCONV" and self.groups != 1:
            raise InputError(f"{label}: a DSCONV layer has a group for each channel; leave out 'groups'")
        for dim in ("K", "C"):
            if getattr(self, dim) % self.groups:
                raise InputError(
                    f"{label}: {dim} = {getattr(self, dim)} does not split into {self.groups} equal groups; "
                    "K and C count the channels of all groups together"
                )

    def _check_sizes(self, label: str) -> None:
        """See that the filter fits into the padded input."""
        for dim, size, pad, taps, spread in (
            ("Y", self.Y, self.padding[0], self.R, self.dilation[0]),
            ("X", self.X, self.padding[1], self.S, self.dilation[1]),
        ):
            if size + 2 * pad < (taps - 1) * spread + 1:
                filter_ = f"filter of {taps} at dilation {spread}" if spread > 1 else f"filter of {taps}"
                raise InputError(f"{label}: {dim} = {size} with padding {pad} is smaller than its {filter_}")
            # The lowered layer has no padding: its input must hold the padded one's outputs.
            if size + 2 * pad > MAX_SIZE:
                raise InputError(
                    f"{label}: {dim} = {size} with padding {pad} must stay at most {MAX_SIZE} when padded"
                )

    @classmethod
    def gemm(
        cls,
        m: int,
        n: int,
        k: int,
        *,
        name: str = "",
        repeats: int = 1,
        batch: int = 1,
        bits: Widths = NO_WIDTHS,
    ) -> Layer:
        """The matrix product (m x k) times (k x n) as a convolution: K = n, C = k, Y = m.

        A `batch` of products shares the (k x n) matrix; those that share none are `repeats`.
        """
        for dim, size in (("M", m), ("N", n), ("K", k)):
            whole_number(size, f"{_label(name)}: {dim}", most=MAX_SIZE)
        return cls("CONV", K=n, C=k, Y=m, X=1, R=1, S=1, name=name, repeats=repeats, batch=batch, bits=bits)

    @classmethod
    def fc(
        cls,
        outputs: int,
        inputs: int,
        *,
        name: str = "",
        repeats: int = 1,
        batch: int = 1,
        bits: Widths = NO_WIDTHS,
    ) -> Layer:
        """A fully connected layer on one input vector, or a `batch` of them: K = outputs, C = inputs."""
        for what, size in (("outputs", outputs), ("inputs", inputs)):
            whole_number(size, f"{_label(name)}: {what}", most=MAX_SIZE)
        return cls.gemm(1, outputs, inputs, name=name, repeats=repeats, batch=batch, bits=bits)

    @classmethod
    def from_dict(cls, data: object, where: str = "layer", also: Sequence[str] = ()) -> Layer:
        """The layer that parsed JSON or TOML describes; `where` names the place in messages.

        Keys: `type` CONV or DSCONV with K, C, Y, X, R, S (K may be left out of a DSCONV) and optionally
        stride, padding and dilation (a number or [rows, columns]) and, of a CONV, groups; `type` GEMM with M,
        N, K; `type` FC with outputs, inputs. Always optional: batch, name, repeats, bits. `also` are keys
        that the caller has read.
        """
        entry = check_table(data, where)
        kind = entry.get("type")
        if not isinstance(kind, str) or kind not in _KINDS:
            if "type" not in entry:
                raise InputError(f"{where} lacks 'type'; expected one of {', '.join(_KINDS)}")
            raise unknown_name("type", kind, _KINDS, where)
        values = dict(vars(read_schema(_KINDS[kind], entry, where, also=also)))
        values["bits"] = Widths.read(values["bits"], f"{where}: bits")
        with errors_within(where, _label(values["name"])):
            if kind == "GEMM":
                return cls.gemm(values["M"], values["N"], values["K"], **_counts(values))
            if kind == "FC":
                return cls.fc(values["outputs"], values["inputs"], **_counts(values))
            return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The loops as plain data (without the labels); `from_dict` reads it back.

        What most layers do not have (dilation, groups, batch, bits) is there only where a layer has it.
        """
        sizes = {dim: getattr(self, dim) for dim in DIMS}
        found = {"type": self.type, **sizes, "stride": list(self.stride), "padding": list(self.padding)}
        if self.dilation != (1, 1):
            found["dilation"] = list(self.dilation)
        found |= {name: value for name, value in self._counts.items() if value != 1}
        return found | ({"bits": self.bits.to_dict()} if self.bits else {})

    @property
    def _counts(self) -> dict[str, int]:
        return {"groups": self.groups, "batch": self.batch}

    @cached_property
    def output(self) -> tuple[int, int]:
        """Rows and columns of the output of one sample."""
        return (
            (self.Y + 2 * self.padding[0] - (self.R - 1) * self.dilation[0] - 1) // self.stride[0] + 1,
            (self.X + 2 * self.padding[1] - (self.S - 1) * self.dilation[1] - 1) // self.stride[1] + 1,
        )

    @cached_property
    def macs(self) -> int:
        """Real multiply-accumulates of one run of the layer, all groups and samples."""
        rows, columns = self.output
        return self.batch * self.K * (self.C // self.groups) * rows * columns * self.R * self.S

    @cached_property
    def loops(self) -> dict[str, int]:
        """Trip counts of the mapped loops: Y and X are in output units. InputError of one to be folded."""
        self._see_folded()
        rows, columns = self.output
        return {"K": self.K, "C": self.C, "Y": rows, "X": columns, "R": self.R, "S": self.S}

    @cached_property
    def reads(self) -> tuple[Reads, Reads]:
        """Which input rows and which input columns the outputs read."""
        axes = zip(self.stride, (self.R, self.S), self.dilation, self.padding, (self.Y, self.X), strict=True)
        return tuple(reads_of(*axis) for axis in axes)  # type: ignore[return-value]

    @property
    def product(self) -> dict[str, int] | None:
        """M, N and K of the matrix product that the loops are, however it was written; None of others."""
        single = (self.X, self.R, self.S, self.groups) == (1, 1, 1, 1)
        if self.type != "CONV" or not single or (self.stride, self.padding) != ((1, 1), (0, 0)):
            return None
        return {name: getattr(self, dim) for dim, name in PRODUCT_DIMS.items()}

    @property
    def strided(self) -> bool:
        """Whether `lowered` changes the layer's input traffic because of a stride."""
        return self.stride != (1, 1)

    def lowered(self) -> Layer:
        """The unpadded stride-1 layer without dilation that has the same outputs.

        MACs, weights and outputs stay exact; input traffic then counts padding zeros and the halos of a
        filter that is neither strided nor dilated. InputError of one to be folded.
        """
        self._see_folded()
        rows, columns = self.output
        return replace(self, Y=rows + self.R - 1, X=columns + self.S - 1, **NO_STEPS)  # type: ignore[arg-type]

    def folded(self) -> Layer:
        """The layer of one group and one sample that is mapped, with `repeats` so that the work is the same.

        Each group becomes a run of its own; groups of one input channel become depthwise runs of all
        channels, one for each output that a channel has. Samples are stacked along rows, or else columns,
        where the filter has one there and no padding, for their weights are shared; otherwise each is a run.
        """
        if self.groups == self.batch == 1:
            return self
        layer, repeats = self, self.repeats
        if self.groups > 1:
            outputs, channels = self.K // self.groups, self.C // self.groups
            if channels == 1:
                layer, repeats = replace(layer, type="DSCONV", K=1, groups=1), repeats * outputs
            else:
                layer = replace(layer, K=outputs, C=channels, groups=1)
                repeats *= self.groups
        for dim, place, taps in (("Y", 0, self.R), ("X", 1, self.S)):
            if layer.batch > 1 and taps == 1 and self.padding[place] == 0:
                # Rows that a stride leaves over at the end of a sample are read by no output.
                size = (self.batch * self.output[place] - 1) * self.stride[place] + 1
                layer = replace(layer, batch=1, **{dim: size})  # type: ignore[arg-type]
        return replace(layer, batch=1, repeats=repeats * layer.batch)

    def _see_folded(self) -> None:
        for name, count in self._counts.items():
            if count != 1:
                raise InputError(
                    f"{_label(self.name)}: with {name} = {count} it is no single run of loops; map "
                    "layer.folded(), which has the same work with its repeats"
                )

    @property
    def sizes(self) -> str:
        """Its kind and its sizes, in the one way that people are shown them.

        `CONV K64 C64 Y56 X56 R3 S3`; what is a matrix product, as one: `GEMM M512 N768 K768`.
        """
        product = self.product
        kind = self.type if product is None else "GEMM"
        sizes = {dim: getattr(self, dim) for dim in DIMS} if product is None else product
        return " ".join((kind, *(f"{dim}{size}" for dim, size in sizes.items())))

    def __str__(self) -> str:
        """`sizes`, and what else the layer has: stride, padding, dilation, groups, batch, bits."""
        steps = [
            f" {name} {_short(pair)}" for name in NO_STEPS if (pair := getattr(self, name)) != NO_STEPS[name]
        ]
        counts = [f" {name} {count}" for name, count in self._counts.items() if count != 1]
        bits = f" of {self.bits} bits" if self.bits else ""
        return f"{self.sizes}{''.join(steps + counts)}{bits}"


def _schema(*sizes: str, **more: tuple[Any, Any]) -> type[Schema]:
    """What a file says of a layer: its type, required `sizes`, `more` with type and default, and labels."""
    size = Annotated[int, Limits(ge=1, le=MAX_SIZE)]
    count = Annotated[int, Limits(ge=1, le=INT64_MAX)]
    optional = [(name, kind, field(default=default)) for name, (kind, default) in more.items()]
    labels = [("name", str, field(default="")), *((name, count, field(default=1)) for name in COUNTS)]
    labels.append(("bits", Any, field(default=None)))
    fields: list[Any] = [("type", str), *((name, size) for name in sizes), *optional, *labels]
    return make_dataclass("LayerEntry", fields, bases=(Schema,), frozen=True)


COUNTS = ("repeats", "batch")
"""How often a layer is run, in a file: by its network, and on samples."""

# A stride, padding or dilation is one number or two: the layer itself sees to that.
_STEPS = {"stride": (Any, 1), "padding": (Any, 0), "dilation": (Any, 1)}
_KINDS = {
    "CONV": _schema(*DIMS, **_STEPS, groups=(Annotated[int, Limits(ge=1, le=MAX_SIZE)], 1)),
    "DSCONV": _schema(*DIMS[1:], K=(int, 1), **_STEPS),
    "GEMM": _schema("M", "N", "K"),
    "FC": _schema("outputs", "inputs"),
}


def _counts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in ("name", *COUNTS, "bits")}


def _pair(value: object, what: str, *, least: int) -> tuple[int, int]:
    """A number, or [rows, columns], as a pair."""
    if not isinstance(value, list | tuple):
        value = (value, value)
    if len(value) != 2:
        raise InputError(f"{what} must be one number or [rows, columns], got {shorten(value)}")
    rows, columns = (whole_number(item, what, least=least, most=MAX_SIZE) for item in value)
    return rows, columns


def _label(name: str) -> str:
    """A layer as messages call it."""
    return f"layer {shorten(name)}" if name else "layer"


def _short(pair: tuple[int, int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else f"{pair[0]}x{pair[1]}"


def in_all(layer: object, cycles: int, energy_nj: float) -> dict[str, Any]:
    """What all runs of a layer in its network take, one after another, from the figures of one, as `in_all`.

    `repeats` counts them: groups and samples that are runs of their own, heads, equal layers. Empty of what
    is no layer.
    """
    if not isinstance(layer, Layer):
        return {}
    count = layer.repeats
    return {"in_all": {"repeats": count, "cycles": count * cycles, "energy_nj": count * energy_nj}}
