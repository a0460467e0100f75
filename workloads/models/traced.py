"""Which layer reads what, traced through the operators of a model that are no layers.

Each operator says what it needs of its input to make a part of its output, in axes of the tensor; which dims
of a layer's output these are is followed from its making on. What cannot be followed is written off the chip:
all that reads a layer's output is an edge, or stands in `also_read`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from dse.core.edges import BESIDE, EVERYTHING, INPUT, ROWS, WEIGHT, Edge, has_runs_of_groups, ordered_dims
from dse.core.layer import Layer

ALL, ORDER, NO_VALUES, CHANGED = "all", "order", "no values", "axes that change"
"""What else an operator may need: all of its input; a part that keeps the order of the elements, under other
dims; no values, but a shape; along the axes whose sizes change, all."""
Need = tuple[int, ...] | str
"""The axes of the input that an operator needs whole, () of one element by element; or one of those words."""
Shape = tuple[int, ...]
ALONE = ("B", "K", "Y", "X", "BYX", "YX")
"""Dims of an axis that say which part of a layer's output it is: samples may be stacked along places."""

AS_PRODUCT = ("Y", "K")
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
        return replace(self, whole=ordered_dims(self.whole + dims))

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
        for last in (2, 1):
            front = ordered_dims("".join(self.axes[:-last]))
            alike = min(len(before), len(after)) >= last and before[-last:] == after[-last:]
            if alike and "K" not in front and "K" in self.axes[-1]:
                return replace(self, axes=(front,) * (len(after) - last) + self.axes[-last:])
        return None

    def along(self, shape: Shape | None, other: Part, larger: Shape | None) -> bool:
        """Whether each axis holds the same dims as that of another part which it is put beside."""
        if shape is None or larger is None or len(shape) > len(larger):
            return False
        if (len(shape), len(larger)) != (len(self.axes), len(other.axes)):
            return False
        behind = len(larger) - len(shape)
        pairs = zip(shape, self.axes, other.axes[behind:], strict=True)
        return all(size == 1 or (ours == theirs and ours in ALONE) for size, ours, theirs in pairs)


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
    _edges: dict[tuple[str, str, str], tuple[str, set[int]]] = field(default_factory=dict)
    """By source, reader and operand: what is needed whole, and which versions of the output are read."""

    @property
    def edges(self) -> list[Edge]:
        """Which layer reads what; nothing of an output that is read before and after a sum in its place."""
        versions: dict[str, set[int]] = {}
        for (source, _, _), (_, read) in self._edges.items():
            versions.setdefault(source, set()).update(read)
        return [
            Edge(*place, whole) for place, (whole, _) in self._edges.items() if len(versions[place[0]]) < 2
        ]

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
        elif len(sources) == 1 and need == () and self._merged(tensors, outputs):
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
        *,
        ordered: bool = True,
    ) -> None:
        """The layers of an operator; operands are INPUT and WEIGHT, or those of ATTENTION.

        `inputs` are all that it reads. `axes` are the dims of the last layer's output on each axis of the
        first output, () where they are not known; `ordered` says that its operands' axes are in that order.
        """
        names = [layer.name for layer in found]
        self.order |= {name: len(self.order) + place for place, name in enumerate(names)}
        rest = set(inputs)
        if len(names) == 2 and set(operands) == set(ATTENTION):
            self._add(Edge(names[0], names[1], INPUT, ROWS), 0)
            for which, (place, operand) in ATTENTION.items():
                self._read(operands[which], found[place], operand, AS_PRODUCT if ordered else ())
            rest -= set(operands.values())
        elif len(names) == 1:
            for operand, tensor in operands.items():
                self._read(tensor, found[0], operand, axes if ordered else ())
            rest -= set(operands.values())
        else:
            # Parts of one operator, such as gates and steps, hand each other what no edge says.
            self.elsewhere |= dict.fromkeys(names, f"a part of what {operator} makes")
        steps = "in several steps" if len(names) > 1 else "as neither of its operands"
        self.lost(rest, f"{operator} reads it, {steps}")
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

    def _merged(self, tensors: Sequence[Hashable], outputs: Sequence[Hashable]) -> bool:
        """Two tensors that follow from the same layer, element by element; whether one is as large."""
        after = self.shape(outputs[0])
        if len({self.made[one].main.version for one in tensors}) > 1:
            return False
        parts = {one: self.made[one].main for one in tensors}
        kept = next((one for one in tensors if self._fills(one, after)), None)
        if kept is None:
            return False
        main = parts[kept]
        for one, part in parts.items():
            alike = self.shape(one) == after or part.along(self.shape(one), main, after)
            main = main.needing(part.whole if alike else EVERYTHING)
        self.made |= dict.fromkeys(outputs, Derived(main))
        return True

    def _summed(self, tensors: Sequence[Hashable], outputs: Sequence[Hashable]) -> bool:
        """What is made of several layers' outputs, element by element, in place of the last one as large.

        Where one of them is made later than that, all are read by what reads the sum.
        """
        after = self.shape(outputs[0])
        full = {one: self.made[one].main for one in tensors if self._fills(one, after)}
        if not full:
            return False
        main = max(full.values(), key=lambda part: self.order[part.source])
        kept = main
        others: dict[str, Part] = {}
        for one in tensors:
            derived, shape = self.made[one], self.shape(one)
            same = derived.main.source == main.source and shape == after
            aligned = same or derived.main.along(shape, kept, after)
            for part in derived.parts:
                whole = part.whole if aligned else EVERYTHING
                first = main if part.source == main.source else others.get(part.source, part)
                if first.version != part.version:
                    return False
                if part.source == main.source:
                    main = main.needing(whole)
                else:
                    others[part.source] = part.needing(first.whole + whole)
        if any(self.order[source] > self.order[main.source] for source in others):
            self.made |= dict.fromkeys(outputs, Derived(main, tuple(others.values())))
            return True
        for part in others.values():
            self._add(Edge(part.source, main.source, BESIDE, part.whole), part.version)
        self.made |= dict.fromkeys(outputs, Derived(replace(main, version=main.version + 1)))
        return True

    def _fills(self, tensor: Hashable, shape: Shape | None) -> bool:
        """Whether a tensor of a shape is as large as that, and as what the layer makes."""
        part = self.made[tensor].main
        return self.shape(tensor) == shape is not None and self.counts.get(part.source) == prod(shape or ())

    def _read(self, tensor: Hashable, reader: Layer, operand: str, axes: tuple[str, ...]) -> None:
        """A layer reads a tensor as an operand, in the order of the axes that it makes if that is known."""
        if tensor not in self.made:
            return
        derived = self.made[tensor]
        main = derived.main
        if not reads_in_order(reader, operand, axes, main.axes, self.shape(tensor)):
            main = main.needing(EVERYTHING)
        self._add(Edge(main.source, reader.name, operand, main.whole), main.version)
        for part in derived.beside:
            self._add(Edge(part.source, reader.name, BESIDE, part.whole), part.version)

    def _add(self, edge: Edge, version: int) -> None:
        """An edge; what is read in two ways needs what either does."""
        place = edge.source, edge.reader, edge.operand
        whole, versions = self._edges.get(place, ("", set()))
        self._edges[place] = ordered_dims(whole + edge.whole), versions | {version}


def reads_in_order(
    reader: Layer, operand: str, makes: tuple[str, ...], axes: tuple[str, ...], shape: Shape | None
) -> bool:
    """Whether a layer's runs, rows, channels and columns are those of what it reads, axis by axis.

    `makes` are the dims of what it makes: a product has its columns last, a convolution its channels second.
    """
    if not makes or shape is None or len(shape) != len(axes) or not axes or EVERYTHING in axes:
        return False
    if "K" not in makes[-1]:
        places = ("Y", "X") if len(axes) == 4 else ("X",)
        return (
            not has_runs_of_groups(reader) and operand == INPUT and axes[1:2] == ("K",) and axes[2:] == places
        )
    front, last = axes[:-2], axes[-2:]
    rows = operand == WEIGHT or ("K" in last[-1] and not any("K" in axis for axis in axes[:-1]))
    if reader.repeats == 1 or not any("B" in axis for axis in axes):
        return rows
    apart = all(axis == "B" or size == 1 for axis, size in zip(front, shape, strict=False))
    return rows and apart and prod(shape[:-2]) == reader.repeats and not any("B" in axis for axis in last)


def made_by(layer: Layer) -> int:
    """Elements of all of a layer's outputs."""
    rows, columns = layer.output
    channels = layer.C if layer.type == "DSCONV" else layer.K
    return channels * rows * columns * layer.batch * layer.repeats


def convolved_axes(layer: Layer, rank: int) -> tuple[str, ...]:
    """The dims of a convolution's output, (samples, channels, ...): samples may be stacked along places."""
    front = ("BYX" if layer.batch > 1 else "B", "BK" if has_runs_of_groups(layer) else "K")
    return (*front, "Y", "X") if rank == 4 else (*front, *("X",) * (rank - 2))


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
