"""Time limits of proofs: how much is left, of the whole and of a part of it."""

from __future__ import annotations

import math

from dse.core.clock import Clock


def test_a_part_has_its_share_of_what_is_left_and_begins_now() -> None:
    time = [0.0]
    whole = Clock(10.0, lambda: time[0])
    time[0] = 5.0
    part = whole.part(0.2)
    assert (part.seconds, part.left) == (0.0, 1.0)
    time[0] = 6.5
    assert part.over
    assert not whole.over
    assert whole.left == 3.5


def test_a_part_of_unlimited_time_is_unlimited_and_of_time_that_is_over_is_over() -> None:
    time = [0.0]
    assert Clock(None, lambda: time[0]).part(0.2).left == math.inf
    ended = Clock(1.0, lambda: time[0])
    time[0] = 2.0
    part = ended.part(0.2)
    time[0] = 2.1
    assert part.over


def test_what_interrupts_the_whole_interrupts_a_part_but_not_the_other_way_round() -> None:
    whole = Clock()
    first, second = whole.part(0.5), whole.part(0.5)
    first.interrupted = True
    assert first.over
    assert not whole.over
    assert not second.over
    whole.interrupted = True
    assert second.over


def test_no_more_is_left_out_than_has_passed_where_things_are_done_side_by_side() -> None:
    passed = iter([0.0, 5.0, 5.0, 5.0, 7.0])
    clock = Clock(10.0, lambda: next(passed))
    clock.pause(4.0)
    clock.pause(4.0)
    assert clock.seconds == 0
    assert clock.left == 8.0
