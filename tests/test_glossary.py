"""The code speaks as the glossary does: the words that CONTRIBUTING.md puts aside are not there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT
from tests.import_graph import parsed

PAGE = ROOT / "CONTRIBUTING.md"
CODE = ("dse", "searchers", "learners")


def avoided() -> dict[str, str]:
    """Each word that is not used, with the word that is: from the table."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition("## Words to avoid")
    rows = re.findall(r"^\| ([a-z ,]+) \| ([a-z ,]+) \|$", table, re.MULTILINE)
    return {word: instead for words, instead in rows if words != "not" for word in words.split(", ")}


def words_of(name: str) -> list[str]:
    """The words of an identifier: `LocalSearch`, `max_candidates` and `MAX_POINTS` have two each."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def read(text: str, tree: ast.Module) -> tuple[set[str], str]:
    """The names of a source, and its prose: docstrings, also those of fields, and what follows a #."""
    names, prose = set(), re.findall("#.*", text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.append(str(node.value.value))
        for key in ("name", "id", "attr", "arg"):
            name = getattr(node, key, None)
            if isinstance(name, str):
                names.add(name)
    return names, "\n".join(prose).lower()


@cache
def sources() -> dict[Path, tuple[set[str], str]]:
    """Of each file, the words of its names, its own among them, and its prose."""
    found = {}
    for path in (path for top in CODE for path in sorted((ROOT / top).rglob("*.py"))):
        names, prose = read(path.read_text(encoding="utf-8"), parsed(path))
        words = {word for name in names | {path.stem} for word in words_of(name)}
        found[path.relative_to(ROOT)] = words, prose
    return found


def said(word: str) -> list[Path]:
    whole = re.compile(rf"\b{re.escape(word)}\b")
    return [path for path, (words, prose) in sources().items() if word in words or whole.search(prose)]


@pytest.mark.parametrize(("word", "instead"), avoided().items())
def test_a_word_that_the_glossary_puts_aside_is_not_said(word: str, instead: str) -> None:
    assert said(word) == [], f"say {instead!r}"


def test_every_word_of_the_glossary_is_put_aside_for_another() -> None:
    kept = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    used = set(re.findall(r"\*\*([a-z ]+)\*\*", kept))
    assert len(used) > 20
    assert len(avoided()) >= 10
    assert used.isdisjoint(avoided())


def test_names_fall_into_words() -> None:
    assert words_of("_MostLikedOf") == ["most", "liked", "of"]
    assert words_of("EARLY_kicks2") == ["early", "kicks"]
    text = 'class A:\n    b: int = 1  # Far\n    """Kicks."""\n'
    names, prose = read(text, ast.parse(text))
    assert names >= {"A", "b"}
    assert "kicks." in prose
    assert "# far" in prose
