"""The faults: each a change of one place in the code, and the tests that must fail by it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """In `file`, `old`, which stands there once, becomes `new`; then one of `tests` fails.

    Kernels run as plain Python where `compiled` is false: compiling them again would take a minute.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    compiled: bool = True


FAULTS = (
    Fault(
        "the gate counts one sample too few",
        "dse/search/evaluator.py",
        "return self.__budget - len(self.__record)",
        "return self.__budget - max(len(self.__record) - 1, 0)",
        ("search/test_evaluator.py::test_exactly_the_budget_is_evaluated_and_recorded",),
    ),
    Fault(
        "the gate does not stop at the budget",
        "dse/search/evaluator.py",
        "allowed = asked[:left]",
        "allowed = asked",
        ("search/test_evaluator.py::test_a_batch_larger_than_what_remains_is_evaluated_up_to_the_budget",),
    ),
    Fault(
        "the journal forgets its last frame",
        "dse/search/journal.py",
        "            if len(payload) < length:\n",
        "            if offset + _FRAME_HEAD + length >= size:\n",
        ("search/test_journal.py::test_a_journal_gives_back_what_was_written",),
    ),
    Fault(
        "the journal takes a damaged frame for a torn one",
        "dse/search/journal.py",
        "            if zlib.crc32(payload) != checksum:\n                raise self._damaged(offset)\n",
        "            if zlib.crc32(payload) != checksum:\n                break\n",
        ("search/test_journal.py::test_a_damaged_last_frame_is_not_taken_for_a_torn_one",),
    ),
    Fault(
        "an interval of 90 % is called one of 95 %",
        "dse/analysis/stats/bootstrap.py",
        "TAIL = 0.025",
        "TAIL = 0.05",
        ("analysis/test_stats_bootstrap.py::test_an_interval_of_few_is_as_much_wider_as_students_is",),
    ),
    Fault(
        "a ratio is upside down",
        "dse/analysis/reduction.py",
        "figure / base if np.isfinite(base)",
        "base / figure if np.isfinite(base)",
        ("analysis/test_reduction.py::test_medians_bests_and_ratios_of_several_seeds",),
    ),
    Fault(
        "a tile is decoded one too large",
        "dse/domains/clustered/space/kernels/points.py",
        "outer = space[start + outer_gene] if start else space[chain + OUTER_FIRST] + outer_gene\n",
        "outer = space[start + outer_gene] if start else space[chain + OUTER_FIRST] + outer_gene + 1\n",
        ("domains/clustered/space/test_space.py::test_vectors_decode_as_the_design_says",),
        compiled=False,
    ),
    Fault(
        "a proof leaves out the largest tile of a set",
        "dse/domains/clustered/tile_sets.py",
        "for outer in chain.outer_choices if chain.outer else (0,):",
        "for outer in chain.outer_choices[:-1] if chain.outer else (0,):",
        (
            "optimum/test_tile_sets.py::test_a_check_goes_through_every_size_and_sees_a_bound_that_is_too_high",
        ),
    ),
    Fault(
        "a cost kernel is off by one",
        "dse/models/maestro/volumes.py",
        "            volume *= table[EDGE, dim] if edge else table[WHOLE, dim]\n        elif moves:\n",
        "            volume *= table[EDGE, dim] if edge else table[WHOLE, dim] + 1\n        elif moves:\n",
        ("models/test_maestro.py::test_the_kernel_equals_the_reference_on_fresh_cases[std]",),
        compiled=False,
    ),
    Fault(
        "a feasibility rule forgets L2",
        "dse/domains/clustered/feasibility_kernel.py",
        "l2_size[i] > limits.l2_size",
        "l2_size[i] > limits.l2_size + 1_000_000_000",
        ("domains/clustered/test_constraints.py::test_the_kernel_judges_as_the_rules_read",),
        compiled=False,
    ),
    Fault(
        "a generator does not know its seed",
        "dse/search/run.py",
        '"settings": self.recorded_settings, "seed": self.seed}\n        return np',
        '"settings": self.recorded_settings}\n        return np',
        ("search/test_api.py::test_another_seed_or_setting_draws_other_samples",),
    ),
    Fault(
        "a certificate is too low",
        "dse/proof/proving.py",
        "lower_bound=lower_bound,",
        "lower_bound=lower_bound * 0.99,",
        ("optimum/test_certify.py::test_the_certificate_is_what_pricing_every_mapping_finds[pointwise]",),
    ),
    Fault(
        "a certificate that is beaten is not called so",
        "dse/core/certificate.py",
        "if not least < self.lower_bound:",
        "if not least < self.lower_bound / 2:",
        ("optimum/test_certify.py::test_a_loss_below_the_bound_is_called_out",),
    ),
    Fault(
        "a finished cell is entered as another one",
        "dse/campaign/store.py",
        "self.ledger.finish(summary.key,",
        "self.ledger.finish(sorted(self.cells)[0],",
        ("campaign/test_campaign.py::test_all_cells_run_and_only_their_records_are_left",),
    ),
    Fault(
        "a cell goes to the executor twice",
        "dse/campaign/runner.py",
        "                waiting.popleft()\n",
        "                waiting.popleft()\n                executor.submit(run_task, task)\n",
        ("campaign/test_campaign.py::test_each_cell_goes_to_the_executor_once",),
    ),
    Fault(
        "a check of tiles of any size leaves out half of a box",
        "dse/domains/clustered/check/forests.py",
        "(self._begins[tree] + 2 * own)[:, np.newaxis] + [0, 1]",
        "(self._begins[tree] + 2 * own)[:, np.newaxis] + [0, 0]",
        ("optimum/test_any_check.py::test_no_mapping_is_lost_as_boxes_are_split",),
    ),
    Fault(
        "a bound of that check counts the first outputs twice",
        "dse/models/loopnest/check/least_cost.py",
        "macs + sums.least() - once",
        "macs + sums.least() + once",
        (
            "optimum/test_any_check.py::"
            "test_no_mapping_of_a_random_layer_is_below_the_bound_of_a_box_with_its_tiles",
        ),
    ),
)
