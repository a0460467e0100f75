"""Sentences and tables of many more drawn campaigns; run by `make prove`."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report import test_sentences
from tests.report.test_sentences import Reader, campaign

readers = st.integers(0, 2**32 - 1).map(lambda seed: Reader(campaign(seed)))


@settings(max_examples=60)
@given(readers)
def test_sentences_and_tables_of_any_campaign_say_the_same(reader: Reader) -> None:
    for test in (
        test_sentences.test_every_sentence_says_what_its_table_says,
        test_sentences.test_no_sentence_of_a_report_contradicts_another,
        test_sentences.test_titles_are_lines_and_what_else_is_to_be_read_is_a_note,
    ):
        test.hypothesis.inner_test(reader)  # type: ignore[attr-defined]
