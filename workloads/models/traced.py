"""Which layer reads what, traced through the operators of a model that are no layers.

Each operator says what it needs of its input to make a part of its output, in axes of the tensor; which dims
of a layer's output these are is followed from its making on. What cannot be followed is written off the chip:
all that reads a layer's output is an edge, or stands in `also_read`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, WEIGHT, Edge
from dse.core.layer import Layer

ALL, ORDER, NO_VALUES, CHANGED = "all", "order", "no values", "axes that change"
"""What else an operator may need: all of its input; a part that keeps the order of the elements, under other
dims; no values, but a shape; along the axes whose sizes change, all."""
Need = tuple[int, ...] | str
"""The axes of the input that an operator needs whole, () of one element by element; or one of those words."""
Shape = tuple[int, ...]

ATTENTION = {"query": (0, INPUT), "key": (0, WEIGHT), "value": (1, WEIGHT)}
"""Of an operator that is two products, scores and context: which of them reads what."""


@dataclass(frozen=True)
class Part:
    """A layer's output as a tensor holds it: for each axis its dims of that output, and what was needed whole
    since. `version` counts the sums with others that were done in its place.
    """

    source: str
    axes: tuple[str, ...]
    whole: str = ""
    version: int = 0

    def needing(self, dims: str) -> Part:
        """With more dims that were needed whole."""
        return replace(self, whole=_ordered(self.whole + dims))

    def after(self, need: Need, before: Shape | None, after: Shape | None) -> Part:
        """What an operator makes of it, from a tensor of one shape to one of another."""
        found = self._kept(need, before, after)
        if found is not None:
            return found
        return replace(self.needing(EVERYTHING), axes=(EVERYTHING,) * len(after or ()))

    def _kept(self, need: Need, before: Shape | None, after: Shape | None) -> Part | None:
        """The same, None where it is not known which axis is which."""
        if before is None or after is None or len(before) != len(self.axes) or need == ALL:
            return None
        if need == ORDER:
            return self._reordered(before, after)
        if need == ():
            lead = len(after) - len(before)
            same = lead >= 0 and after == (1,) * lead + before
            return replace(self, axes=("",) * lead + self.axes) if same else None
        if len(before) != len(after):
            return None
        changed = {place for place, (one, two) in enumerate(zip(before, after, strict=True)) if one != two}
        whole = changed if isinstance(need, str) else {place % len(before) for place in need}
        if changed - whole:
            return None
        return self.needing("".join(self.axes[place] for place in sorted(whole)))

    def _reordered(self, before: Shape, after: Shape) -> Part | None:
        """Other dims over the same elements: those of 1 come and go, those before the last may be joined."""
        kept = [axis for axis, size in zip(self.axes, before, strict=True) if size > 1]
        if [size for size in before if size > 1] == [size for size in after if size > 1]:
            left = iter(kept)
            return replace(self, axes=tuple(next(left) if size > 1 else "" for size in after))
        rows = _ordered("".join(self.axes[:-1]))
        if not before or not after or before[-1] != after[-1] or "K" in rows or not self.axes[-1]:
            return None
        return replace(self, axes=(rows,) * (len(after) - 1) + self.axes[-1:])


@dataclass(frozen=True)
class Derived:
    """A tensor that follows from layers' outputs: it is as large as `main`'s; `beside` are read with it."""

    main: Part
    beside: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """All of them."""
        return (self.main, *self.beside)


@dataclass
class Traced:
    """`made` says of each tensor from which layers' outputs it follows; `shape` the shape of a tensor."""

    shape: Callable[[Hashable], Shape | None] = lambda tensor: None
    order: dict[str, int] = field(default_factory=dict)
    """The place of each layer."""
    made: dict[Hashable, Derived] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """How many elements a layer makes in all."""
    elsewhere: dict[str, str] = field(default_factory=dict)
    """The layers whose output something else reads, with what that is."""
    _edges: dict[Edge, int] = field(default_factory=dict)
    """With the version of the output that is read."""

    @property
    def edges(self) -> list[Edge]:
        """Which layer reads what; nothing of an output that is read before and after a sum in its place."""
        versions: dict[str, set[int]] = {}
        for edge, version in self._edges.items():
            if version >= 0:
                versions.setdefault(edge.source, set()).add(version)
        return [edge for edge in self._edges if len(versions.get(edge.source, ())) < 2]

    @property
    def also_read(self) -> list[tuple[str, str]]:
        """The layers whose output is read elsewhere, in running order."""
        return [(name, self.elsewhere[name]) for name in self.order if name in self.elsewhere]

    def passes(
        self, operator: str, need: Need, inputs: Iterable[Hashable], outputs: Sequence[Hashable]
    ) -> None:
        """An operator that is no layer, and what it needs of its inputs."""
        if need == NO_VALUES or not outputs:
            return
        tensors = [one for one in dict.fromkeys(inputs) if one in self.made]
        sources = {part.source for one in tensors for part in self.made[one].parts}
        if len(tensors) == 1:
            self._after(tensors[0], need, outputs)
        elif len(sources) == 1 and need == () and self._merged(tensors, outputs[0]):
            return
        elif not (need == () and self._summed(tensors, outputs)):
            self.lost(tensors, f"{operator} reads it")

    def lost(self, tensors: Iterable[Hashable], why: str) -> None:
        """Tensors that something reads which is no layer, and of which nothing is known: `why` says what."""
        for one in tensors:
            if one in self.made:
                for part in self.made[one].parts:
                    self.elsewhere.setdefault(part.source, why)

    def layers(
        self,
        found: Sequence[Layer],
        operands: Mapping[str, Hashable],
        inputs: Iterable[Hashable],
        outputs: Sequence[Hashable],
        axes: tuple[str, ...] = (),
        operator: str = "an operator",
    ) -> None:
        """The layers of an operator; operands are INPUT and WEIGHT, or those of ATTENTION.

        `inputs` are all that it reads. `axes` are the dims of the last layer's output on each axis of the
        first output, () where they are not known.
        """
        names = [layer.name for layer in found]
        self.order |= {name: len(self.order) + place for place, name in enumerate(names)}
        rest = set(inputs)
        if len(names) == 2 and set(operands) == set(ATTENTION):
            self._add(Edge(names[0], names[1], INPUT, ROWS))
            for which, (place, operand) in ATTENTION.items():
                self._read(operands[which], found[place], operand)
            rest -= set(operands.values())
        elif len(names) == 1:
            for operand, tensor in operands.items():
                self._read(tensor, found[0], operand)
            rest -= set(operands.values())
        else:
            # Parts of one operator, such as gates and steps, hand each other what no edge says.
            self.elsewhere |= dict.fromkeys(names, f"{operator} reads it, in steps of its own")
        self.lost(rest, f"{operator} reads it, as neither of its operands")
        shape = self.shape(outputs[0]) if outputs else None
        count = made_by(found[-1])
        self.counts[names[-1]] = count
        if shape is None or prod(shape) != count or names[-1] in self.elsewhere:
            return
        known = axes if len(axes) == len(shape) else (EVERYTHING,) * len(shape)
        self.made[outputs[0]] = Derived(Part(names[-1], known))

    def _after(self, tensor: Hashable, need: Need, outputs: Sequence[Hashable]) -> None:
        """What an operator makes of one tensor."""
        derived, before = self.made[tensor], self.shape(tensor)
        for output in outputs:
            after = self.shape(output)
            main = derived.main.after(need, before, after)
            beside = tuple(part.needing(EVERYTHING if need else "") for part in derived.beside)
            self.made[output] = Derived(main, beside)

    def _merged(self, tensors: Sequence[Hashable], output: Hashable) -> bool:
        """Two tensors that follow from the same layer, element by element; whether one is as large."""
        after = self.shape(output)
        if len({self.made[one].main.version for one in tensors}) > 1:
            return False
        parts = [self.made[one].main.after((), self.shape(one), after) for one in tensors]
        kept = [part for part in parts if self._as_large(part, after) and EVERYTHING not in part.axes]
        if not kept:
            return False
        dims = "".join(self.made[one].main.whole for one in tensors)
        self.made[output] = Derived(kept[0].needing(dims))
        return True

    def _summed(self, tensors: Sequence[Hashable], outputs: Sequence[Hashable]) -> bool:
        """What is made of several layers' outputs, element by element, in place of the last one as large."""
        after = self.shape(outputs[0])
        whole = {
            one: self.made[one].main.after((), self.shape(one), after)
            for one in tensors
            if self._as_large(self.made[one].main, after) and self.shape(one) == after
        }
        if not whole:
            return False
        main = max(whole.values(), key=lambda part: self.order[part.source])
        others: dict[str, Part] = {}
        for part in (part for one in tensors for part in self.made[one].parts):
            if part.source == main.source:
                if part.version != main.version:
                    return False
                main = main.needing(part.whole)
            else:
                before = others.get(part.source, part)
                if before.version != part.version:
                    return False
                others[part.source] = part.needing(before.whole)
        late = []
        for part in others.values():
            if self.order[part.source] < self.order[main.source]:
                self._add(Edge(part.source, main.source, BESIDE, part.whole), part.version)
            else:
                late.append(part)
        main = replace(main, version=main.version + 1)
        self.made |= dict.fromkeys(outputs, Derived(main, tuple(late)))
        return True

    def _as_large(self, part: Part, shape: Shape | None) -> bool:
        return shape is not None and self.counts.get(part.source) == prod(shape)

    def _read(self, tensor: Hashable, reader: Layer, operand: str) -> None:
        """A layer reads a tensor as an operand."""
        if tensor not in self.made:
            return
        derived = self.made[tensor]
        main = derived.main if reads_in_order(reader, operand, derived.main.axes) else None
        whole = derived.main.whole if main else EVERYTHING
        self._add(Edge(derived.main.source, reader.name, operand, whole), derived.main.version)
        for part in derived.beside:
            self._add(Edge(part.source, reader.name, BESIDE, part.whole), part.version)

    def _add(self, edge: Edge, version: int = 0) -> None:
        self._edges.setdefault(edge, version)


def reads_in_order(reader: Layer, operand: str, axes: tuple[str, ...]) -> bool:
    """Whether a layer's rows, channels and columns are those of what it reads, axis by axis."""
    if not axes or any(axis == EVERYTHING for axis in axes):
        return False
    if operand == WEIGHT:
        return all("B" not in axis for axis in axes[-2:])
    if reader.product is not None:
        return "K" in axes[-1] and not any("K" in axis for axis in axes[:-1])
    return len(axes) == 4 and "K" in axes[1] and (axes[2], axes[3]) == ("Y", "X")


def made_by(layer: Layer) -> int:
    """Elements of all of a layer's outputs."""
    rows, columns = layer.output
    channels = layer.C if layer.type == "DSCONV" else layer.K
    return channels * rows * columns * layer.batch * layer.repeats


def convolved_axes(layer: Layer, rank: int) -> tuple[str, ...]:
    """The dims of a convolution's output, (samples, channels, ...): samples may be stacked along places."""
    each = layer.type == "DSCONV" or layer.groups == 1 or layer.groups == layer.C == layer.K
    front = ("BYX" if layer.batch > 1 else "B", "K" if each else "BK")
    return (*front, "Y", "X") if rank == 4 else (*front, *("YX",) * (rank - 2))


def product_axes(layer: Layer, shape: Shape) -> tuple[str, ...]:
    """The dims of the output of a matrix product, (..., rows, columns); () where columns are on two axes."""
    if not shape or shape[-1] != layer.K:
        return ()
    front = shape[:-2]
    if layer.repeats == 1:
        return ("Y",) * (len(shape) - 1) + ("K",)
    apart = prod(front) == layer.repeats and shape[-2:-1] == (layer.Y,)
    return ("B" if apart else "BY",) * len(front) + (("Y" if apart else "BY"), "K")


def names_in(text: str) -> list[str]:
    """Words, as the names of operators in a table."""
    return text.split()


def _ordered(dims: str) -> str:
    return "".join(dim for dim in EVERYTHING if dim in dims)
