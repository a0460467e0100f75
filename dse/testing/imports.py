"""What the source of a searcher imports: it must not know cost models, proofs or results."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

FORBIDDEN = re.compile(
    r"(dse\.core\.cost_models|dse\.models|dse\.domains\.\w+\.proof|dse\.optimum|results)\b"
)
"""What prices, what proves, and what is known of optima, whatever the domain."""


def forbidden_imports(module: str) -> list[str]:
    """Imports of FORBIDDEN in `module` and in what it imports of its own top-level package, with their lines.

    Imports for type checking alone are allowed. What has no Python source is passed over.
    """
    found, seen, waiting = [], {module}, [module]
    while waiting:
        name = waiting.pop()
        spec = _spec(name)
        for target, line in _imports(spec) if spec else ():
            if FORBIDDEN.match(target):
                found.append(f"{name}, line {line}, imports {target}")
            elif target.partition(".")[0] == module.partition(".")[0] and target not in seen:
                seen.add(target)
                waiting.append(target)
    # "from ... import a, b" names two of them in one line; one is enough.
    return list({text.rpartition(" imports ")[0]: text for text in reversed(found)}.values())[::-1]


def _spec(name: str) -> ModuleSpec | None:
    """Where the module `name` is; None for what is no module, but a name that was imported from one."""
    parent = name.rpartition(".")[0]
    if parent:
        # Looked for in a module that is no package, it would be imported first, and that can take seconds.
        above = _spec(parent)
        if above is None or above.submodule_search_locations is None:
            return None
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _imports(spec: ModuleSpec) -> Iterator[tuple[str, int]]:
    """The modules, and names in modules, that a module imports when it runs, with the lines."""
    if not spec.origin or not spec.origin.endswith(".py"):
        return
    for node in _running(ast.parse(Path(spec.origin).read_bytes())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = spec.name if spec.submodule_search_locations else spec.parent
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            # "from dse import cost" imports a module too.
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
            yield from ((name, node.lineno) for name in names)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below `node` but those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield other
                yield from _running(other)
        else:
            yield child
            yield from _running(child)
