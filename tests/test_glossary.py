"""The code speaks as docs/glossary.md does: the words that it puts aside are not there."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT

PAGE = ROOT / "docs" / "glossary.md"
CODE = ("dse", "searchers", "learners")
STILL_THERE = {
    ("facts", "dse/domains"): "columns of the kernels of cost models",
}
"""Words that are still to go, and where. This table only ever shrinks."""


def avoided() -> dict[str, str]:
    """Each word that is not used, with the word that is: from the page's second table."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition("## Words to avoid")
    rows = re.findall(r"^\| ([a-z ,]+) \| ([a-z ,]+) \|$", table, re.MULTILINE)
    return {word: instead for words, instead in rows if words != "not" for word in words.split(", ")}


def words_of(name: str) -> list[str]:
    """The words of an identifier: `LocalSearch`, `max_candidates` and `MAX_POINTS` have two each."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def names_in(tree: ast.Module) -> set[str]:
    kinds = (getattr(node, key, None) for node in ast.walk(tree) for key in ("name", "id", "attr", "arg"))
    return {name for name in kinds if isinstance(name, str)}


def prose_in(text: str, tree: ast.Module) -> str:
    """Docstrings, also those of fields, and comments."""
    expressions = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docs = [node.value for node in expressions if isinstance(node, ast.Constant)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline) if "#" in text else iter(())
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return "\n".join([*(doc for doc in docs if isinstance(doc, str)), *comments]).lower()


@cache
def sources() -> dict[Path, tuple[set[str], str]]:
    """Of each file, the words of its names, its own among them, and its prose."""
    found = {}
    for path in (path for top in CODE for path in sorted((ROOT / top).rglob("*.py"))):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        names = names_in(tree) | {path.stem}
        found[path.relative_to(ROOT)] = (
            {word for name in names for word in words_of(name)},
            prose_in(text, tree),
        )
    return found


def said(word: str) -> list[Path]:
    whole = re.compile(rf"\b{re.escape(word)}\b")
    return [path for path, (words, prose) in sources().items() if word in words or whole.search(prose)]


@pytest.mark.parametrize(("word", "instead"), avoided().items())
def test_a_word_that_the_glossary_puts_aside_is_not_said(word: str, instead: str) -> None:
    excused = [folder for known, folder in STILL_THERE if known == word]
    found = [str(path) for path in said(word) if not any(str(path).startswith(folder) for folder in excused)]
    assert found == [], f"say {instead!r}"


@pytest.mark.parametrize(("word", "folder"), STILL_THERE)
def test_a_word_that_is_gone_is_no_longer_excused(word: str, folder: str) -> None:
    assert any(str(path).startswith(folder) for path in said(word))


def test_every_word_of_the_glossary_is_put_aside_for_another() -> None:
    kept, _, _ = PAGE.read_text(encoding="utf-8").partition("## Words to avoid")
    used = set(re.findall(r"\*\*([a-z ]+)\*\*", kept))
    assert len(avoided()) >= 10
    assert used.isdisjoint(avoided())


def test_names_fall_into_words() -> None:
    assert words_of("_MostLikedOf") == ["most", "liked", "of"]
    assert words_of("EARLY_kicks2") == ["early", "kicks"]
    tree = ast.parse('class A:\n    b: int = 1\n    """Kicks."""\n')
    assert names_in(tree) >= {"A", "b"}
    assert "kicks." in prose_in("", tree)
