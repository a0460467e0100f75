"""The imports among the modules of the repository: all are read, none is run.

Imports in functions and those for types alone count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from tests import ROOT

CODE = ("dse", "searchers", "workloads", "learners", "experiments")


@dataclass(frozen=True)
class Import:
    """`source` imports `target`, a module or a name in one; for `types` where it never runs."""

    source: str
    target: str
    line: int
    types: bool

    def __str__(self) -> str:
        return f"{self.source}, line {self.line}, imports {self.target}"


@cache
def parsed(path: Path) -> ast.Module:
    """A file of the repository, read once."""
    return ast.parse(path.read_bytes())


@cache
def trees() -> dict[str, ast.Module]:
    """The modules of the repository by name, parsed."""
    found = {}
    for top in CODE:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = parsed(path)
    return found


def is_package(module: str) -> bool:
    return (ROOT.joinpath(*module.split(".")) / "__init__.py").exists()


@cache
def imports() -> tuple[Import, ...]:
    """Every import of one of our modules by another."""
    return tuple(
        Import(module, target, line, types)
        for module, tree in trees().items()
        for target, line, types in imports_of(tree, module)
        if target.partition(".")[0] in CODE
    )


def imports_of(node: ast.AST, module: str, types: bool = False) -> Iterator[tuple[str, int, bool]]:
    """The imports below `node`: their targets, lines, and whether they are for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, child.lineno, types) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            package = module if is_package(module) else module.rpartition(".")[0]
            base = resolve_name("." * child.level + (child.module or ""), package)
            yield from ((f"{base}.{alias.name}", child.lineno, types) for alias in child.names)
        if not isinstance(child, ast.expr):
            yield from imports_of(child, module, types or is_for_types(child))


def is_for_types(node: ast.AST) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, with or without the module's name."""
    test = node.test if isinstance(node, ast.If) else None
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def module_of(target: str) -> str:
    """The module that an import's target is, or lies in."""
    while target not in trees():
        target = target.rpartition(".")[0]
    return target


def room(module: str) -> str:
    """The package that a module belongs to: `dse.core` of `dse.core.layer`."""
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] == "dse" or parts[:2] == ["searchers", "commands"] else 1])


@cache
def our_domains() -> set[str]:
    """The packages of the domains that come with the framework."""
    return {path.parent.name for path in (ROOT / "dse" / "domains").glob("*/domain.py")}


OF_LEVELS = {"timeloop"}
"""Our cost models of machines of levels; the others price mappings onto accelerators with clusters."""


@cache
def domain_of(module: str) -> str | None:
    """The domain that a module belongs to, itself or by its cost model."""
    parts = module.split(".")
    if parts[:2] == ["dse", "models"] and len(parts) > 2:
        return "levels" if parts[2] in OF_LEVELS else "clustered"
    return parts[2] if parts[:2] == ["dse", "domains"] and parts[2:3] and parts[2] in our_domains() else None


def of_a_domain(module: str) -> bool:
    return domain_of(module) is not None
