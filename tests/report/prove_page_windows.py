"""Each page in windows of every width; run by `make prove`."""

from __future__ import annotations

import pytest

from tests.report import browser as driving
from tests.report import test_page_browser, test_page_reading
from tests.report.browser import Browser
from tests.report.conftest import Pages
from tests.report.test_page_reading import DESK, TELEPHONE

pytestmark = pytest.mark.skipif(bool(driving.missing()), reason=driving.missing())


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("which", ["plain", "nasty"])
def test_the_page_is_never_wider_than_its_window(
    window: Browser, pages: Pages, which: str, width: int
) -> None:
    test_page_browser.test_the_page_is_never_wider_than_its_window(window, pages, which, width)


@pytest.mark.parametrize(("width", "height"), [DESK, TELEPHONE])
@pytest.mark.parametrize("which", ["plain", "many"])
def test_the_first_screen_answers_and_what_is_folded_is_three_screens_high(
    window: Browser, pages: Pages, which: str, width: int, height: int
) -> None:
    test_page_reading.test_the_first_screen_says_who_won_by_how_much_and_how_sure(
        window, pages, which, width, height
    )
    test_page_reading.test_a_page_that_nobody_has_unfolded_is_three_screens_high(
        window, pages, which, width, height
    )
