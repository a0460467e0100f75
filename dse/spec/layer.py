"""A DNN layer as the seven nested loops of a convolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from dse.support.errors import InputError, shorten, unknown, within
from dse.support.schema import Limits, Schema, read
from dse.support.validation import INT64_MAX, table, whole_number

DIMS = ("K", "C", "Y", "X", "R", "S")
"""Output channels, input channels, input rows and columns, filter rows and columns."""

TYPES = ("CONV", "DSCONV")

TENSORS = ("input", "weight", "output")
COUPLED = {
    "CONV": ("CYX", "KCRS", "KYX"),
    "DSCONV": ("CYX", "CRS", "CYX"),
}
"""The dims that index each of TENSORS; a depthwise layer has its output channels in C."""

MAX_SIZE = 2**31 - 1


@dataclass(frozen=True)
class Layer:
    """One convolution: `type` CONV, or DSCONV (depthwise: the channels are C, and K is 1).

    `Y` and `X` are the unpadded input's rows and columns; `stride` and `padding` are (rows, columns).
    `name` and `repeats` (how often its network runs the layer) are labels: two layers are equal if
    their loops are.
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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"layer: name must be text, got {shorten(self.name)}")
        if not self.name.isprintable():
            raise InputError(f"layer: name must be a line of text, got {shorten(self.name)}")
        label = _label(self.name)
        if self.type not in TYPES:
            raise unknown("type", self.type, TYPES, label)
        for dim in DIMS:
            object.__setattr__(self, dim, whole_number(getattr(self, dim), f"{label}: {dim}", most=MAX_SIZE))
        object.__setattr__(self, "stride", _pair(self.stride, f"{label}: stride", least=1))
        object.__setattr__(self, "padding", _pair(self.padding, f"{label}: padding", least=0))
        object.__setattr__(self, "repeats", whole_number(self.repeats, f"{label}: repeats"))
        if self.type == "DSCONV" and self.K != 1:
            raise InputError(f"{label}: a DSCONV layer has its channels in C and K = 1, got K = {self.K}")
        for dim, size, pad, window in (
            ("Y", self.Y, self.padding[0], self.R),
            ("X", self.X, self.padding[1], self.S),
        ):
            if size + 2 * pad < window:
                raise InputError(
                    f"{label}: {dim} = {size} with padding {pad} is smaller than its filter of {window}"
                )
            # The lowered layer has no padding: its input must hold the padded one's outputs.
            if size + 2 * pad > MAX_SIZE:
                raise InputError(
                    f"{label}: {dim} = {size} with padding {pad} must stay at most {MAX_SIZE} when padded"
                )
        if self.macs > INT64_MAX:
            raise InputError(f"{label}: its multiply-accumulates do not fit in 64 bits ({self.macs:.3g})")

    @classmethod
    def gemm(cls, m: int, n: int, k: int, *, name: str = "", repeats: int = 1) -> Layer:
        """The matrix product (m x k) times (k x n) as a convolution: K = n, C = k, Y = m."""
        return cls("CONV", K=n, C=k, Y=m, X=1, R=1, S=1, name=name, repeats=repeats)

    @classmethod
    def fc(cls, outputs: int, inputs: int, *, name: str = "", repeats: int = 1) -> Layer:
        """A fully connected layer on one input vector: K = outputs, C = inputs."""
        return cls.gemm(1, outputs, inputs, name=name, repeats=repeats)

    @classmethod
    def from_dict(cls, data: object, where: str = "layer") -> Layer:
        """The layer that parsed JSON or TOML describes; `where` names the place in messages.

        Keys: `type` CONV or DSCONV with K, C, Y, X, R, S (K may be left out of a DSCONV) and optionally
        stride and padding (a number or [rows, columns]); `type` GEMM with M, N, K; `type` FC with
        outputs, inputs. Always optional: name, repeats.
        """
        entry = table(data, where)
        kind = entry.get("type")
        if not isinstance(kind, str) or kind not in _KINDS:
            if "type" not in entry:
                raise InputError(f"{where} lacks 'type'; expected one of {', '.join(_KINDS)}")
            raise unknown("type", kind, _KINDS, where)
        values = dict(vars(read(_KINDS[kind], entry, where)))
        with within(where, _label(values["name"])):
            if kind == "GEMM":
                return cls.gemm(values["M"], values["N"], values["K"], **_labels(values))
            if kind == "FC":
                return cls.fc(values["outputs"], values["inputs"], **_labels(values))
            return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The loops as plain data (without the labels); `from_dict` reads it back."""
        sizes = {dim: getattr(self, dim) for dim in DIMS}
        return {"type": self.type, **sizes, "stride": list(self.stride), "padding": list(self.padding)}

    @cached_property
    def output(self) -> tuple[int, int]:
        """Rows and columns of the output."""
        return (
            (self.Y + 2 * self.padding[0] - self.R) // self.stride[0] + 1,
            (self.X + 2 * self.padding[1] - self.S) // self.stride[1] + 1,
        )

    @cached_property
    def macs(self) -> int:
        """Real multiply-accumulates of one run of the layer."""
        rows, columns = self.output
        return self.K * self.C * rows * columns * self.R * self.S

    @cached_property
    def loops(self) -> dict[str, int]:
        """Trip counts of the mapped loops: Y and X are in output units."""
        rows, columns = self.output
        return {"K": self.K, "C": self.C, "Y": rows, "X": columns, "R": self.R, "S": self.S}

    @property
    def strided(self) -> bool:
        """Whether `lowered` changes the layer's input traffic because of a stride."""
        return self.stride != (1, 1)

    def lowered(self) -> Layer:
        """The unpadded stride-1 layer with the same outputs.

        MACs, weights and outputs stay exact; input traffic then counts padding zeros and stride-1 halos.
        """
        rows, columns = self.output
        return replace(self, Y=rows + self.R - 1, X=columns + self.S - 1, stride=(1, 1), padding=(0, 0))

    def __str__(self) -> str:
        """`CONV K64 C64 Y56 X56 R3 S3`, with stride and padding where they matter."""
        sizes = " ".join(f"{dim}{getattr(self, dim)}" for dim in DIMS)
        stride = f" stride {_short(self.stride)}" if self.stride != (1, 1) else ""
        padding = f" padding {_short(self.padding)}" if self.padding != (0, 0) else ""
        return f"{self.type} {sizes}{stride}{padding}"


def _schema(*sizes: str, **more: tuple[Any, Any]) -> type[Schema]:
    """What a file says of a layer: its type, required `sizes`, `more` with type and default, and labels."""
    size = Annotated[int, Limits(ge=1, le=MAX_SIZE)]
    repeats = Annotated[int, Limits(ge=1, le=INT64_MAX)]
    optional = [(name, kind, field(default=default)) for name, (kind, default) in more.items()]
    labels = [("name", str, field(default="")), ("repeats", repeats, field(default=1))]
    fields: list[Any] = [("type", str), *((name, size) for name in sizes), *optional, *labels]
    return make_dataclass("LayerEntry", fields, bases=(Schema,), frozen=True)


# A stride or padding is one number or two: the layer itself sees to that.
_STEPS = {"stride": (Any, 1), "padding": (Any, 0)}
_KINDS = {
    "CONV": _schema(*DIMS, **_STEPS),
    "DSCONV": _schema(*DIMS[1:], K=(int, 1), **_STEPS),
    "GEMM": _schema("M", "N", "K"),
    "FC": _schema("outputs", "inputs"),
}


def _labels(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": values["name"], "repeats": values["repeats"]}


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
