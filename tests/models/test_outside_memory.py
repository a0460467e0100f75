"""The file that answers of programs are kept in is not believed: damage costs a question, not a price."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dse.core.cost_models import cost_model
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.models.outside_models import line_program

LAYER, EDGE = Layer("CONV", 8, 4, 12, 12, 3, 3, (1, 1), (1, 1)), PRESETS["edge"]
SPACE = MappingSpace(LAYER, EDGE)
MAPPINGS = SPACE.decode(SPACE.sample(np.random.default_rng(0), 12))


class Cached:
    """A program with a cache, which notes how often it is asked."""

    def __init__(self, folder: Path) -> None:
        self.cache, self._asked = folder / "prices.sqlite", folder / "asked"
        note = f"open({str(self._asked)!r}, 'a').write('x')"
        self._run = line_program(folder / "price.py", note)

    def price(self) -> CostBatch:
        """The costs of the mappings, by a model that knows nothing but what is in the file."""
        return cost_model(f'command(run="{self._run}", cache="{self.cache}", misfits="asked")').evaluate(
            LAYER, EDGE, MAPPINGS
        )

    @property
    def asked(self) -> int:
        """How often the program was asked since this was last read."""
        count = len(self._asked.read_text()) if self._asked.exists() else 0
        self._asked.unlink(missing_ok=True)
        return count


@pytest.fixture
def cached(tmp_path: Path) -> Cached:
    return Cached(tmp_path)


def change(cache: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(cache)) as database, database:
        database.execute(statement, values)


def first_answer(cache: Path) -> str:
    with closing(sqlite3.connect(cache)) as database:
        answer: str = database.execute("SELECT answer FROM answers ORDER BY key LIMIT 1").fetchone()[0]
    return answer


ANSWERS: list[object] = [
    "{}",
    '{"cycles": 1, "energy_nj": 1}',
    '{"cycles": "soon"}',
    "[]",
    '["REFUSED"]',
    '["NO_SUCH_REASON", "x"]',
    '["FEASIBLE", ""]',
    "[" * 100_000,
    "",
    "null",
    "NaN",
    "\x00",
    b"\xff\xfe",
    None,
    7,
    1e300,
]


@pytest.mark.parametrize("answer", ANSWERS, ids=[repr(answer)[:24] for answer in ANSWERS])
def test_an_answer_that_is_not_as_it_was_written_is_asked_for_anew(cached: Cached, answer: object) -> None:
    costs = cached.price()
    assert cached.asked == len(MAPPINGS)
    assert cached.price().cycles.tolist() == costs.cycles.tolist()
    assert cached.asked == 0, "what is known is not asked"
    change(cached.cache, "UPDATE answers SET answer = ?", answer)
    again = cached.price()
    assert again.valid.all()
    assert again.cycles.tolist() == costs.cycles.tolist()
    assert again.energy_nj.tolist() == costs.energy_nj.tolist()
    assert cached.asked == len(MAPPINGS)
    assert cached.price().cycles.tolist() == costs.cycles.tolist()
    assert cached.asked == 0, "and the good answer is kept in its place"


def test_an_answer_is_not_taken_for_that_of_another_mapping(cached: Cached) -> None:
    costs = cached.price()
    change(cached.cache, "UPDATE answers SET answer = ?", first_answer(cached.cache))
    assert cached.price().cycles.tolist() == costs.cycles.tolist()


def test_other_figures_in_an_answer_as_it_was_written_are_noticed(cached: Cached) -> None:
    costs = cached.price()
    said = first_answer(cached.cache)
    figures = json.loads(said.partition(" ")[2])
    figures["cycles"] -= 1
    change(cached.cache, "UPDATE answers SET answer = ?", f"{said.partition(' ')[0]} {json.dumps(figures)}")
    assert cached.price().cycles.tolist() == costs.cycles.tolist()


def test_a_file_with_bytes_changed_anywhere_gives_the_same_prices_or_a_line(cached: Cached) -> None:
    costs = cached.price()
    good, rng = cached.cache.read_bytes(), random.Random(0)
    refused = 0
    for _ in range(60):
        damaged = bytearray(good)
        for place in rng.sample(range(len(good)), 20):
            damaged[place] = rng.randrange(256)
        cached.cache.write_bytes(damaged[: rng.choice([len(good), len(good) // 2])])
        refusal = ""
        try:
            assert cached.price().cycles.tolist() == costs.cycles.tolist()
        except InputError as error:
            refusal = str(error)
        if refusal:
            refused += 1
            assert refusal.startswith(f"cache file {str(cached.cache)!r} ")
            assert "\n" not in refusal
    assert 0 < refused < 60


def text_file(cache: Path) -> None:
    cache.write_text("figures, by mapping\n" * 100)


def somebodys_database(cache: Path) -> None:
    change(cache, "CREATE TABLE photos (name TEXT)")


def with_a_trigger(cache: Path) -> None:
    change(cache, "CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT)")
    change(cache, "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END")


def other_columns(cache: Path) -> None:
    change(cache, "CREATE TABLE answers (mapping TEXT, cycles INT)")


FOREIGN: list[tuple[Callable[[Path], None], str]] = [
    (text_file, "cannot be used: file is not a database"),
    (Path.mkdir, "cannot be used: it is no file"),
    (somebodys_database, "is a database of something else; name one that is not there yet"),
    (with_a_trigger, "is a database of something else"),
    (other_columns, "is a database of something else"),
]


@pytest.mark.parametrize(("make", "words"), FOREIGN, ids=[make.__name__ for make, _ in FOREIGN])
def test_a_file_that_is_no_cache_is_refused_in_a_line_and_left_as_it_was(
    cached: Cached, dse: Dse, make: Callable[[Path], None], words: str
) -> None:
    make(cached.cache)
    before = cached.cache.read_bytes() if cached.cache.is_file() else b""
    model = f"command(run='true', cache='{cached.cache}')"
    ran = dse(
        "evaluate", "--layer", "vgg16:1", "--accelerator", "edge", "--mapping", "nvdla", "--cost-model", model
    )
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert before == (cached.cache.read_bytes() if cached.cache.is_file() else b"")


def test_a_cache_in_no_folder_or_with_an_impossible_name_is_refused_in_a_line(tmp_path: Path) -> None:
    for name in (str(tmp_path / "no" / "folder.sqlite"), "a\\u0000b"):
        model = cost_model(f"command(run='true', cache=\"{name}\")")
        with pytest.raises(InputError, match=r"cache file .* cannot be used: "):
            model.evaluate(LAYER, EDGE, MAPPINGS)
