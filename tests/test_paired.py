import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.paired import cases_needed, mcnemar, paired_test


def sides(improved, regressed, unchanged=0):
    """Scores of one trial on both sides."""
    return [0.0] * improved + [1.0] * regressed + [1.0] * unchanged, [1.0] * improved + [0.0] * regressed + [
        1.0
    ] * unchanged


@pytest.mark.parametrize(
    ("improved", "regressed", "p_value"),
    [(5, 0, 0.0625), (6, 0, 0.03125), (8, 1, 0.0390625), (1, 8, 0.0390625), (0, 0, 1.0), (3, 3, 1.0), (1, 0, 1.0)],
)
def test_passes_and_failures_are_tested_by_the_exact_binomial(improved, regressed, p_value):
    assert mcnemar(improved, regressed) == pytest.approx(p_value)
    test = paired_test(*sides(improved, regressed, unchanged=50))
    assert test.p_value == pytest.approx(p_value)
    assert test.method == "exact binomial (McNemar)"
    assert test.nonzero == improved + regressed


def test_mcnemar_is_what_statsmodels_makes_of_the_same_table():
    from statsmodels.stats.contingency_tables import mcnemar as published

    for improved, regressed in itertools.product(range(0, 40, 7), repeat=2):
        expected = published([[10, regressed], [improved, 10]], exact=True).pvalue
        assert mcnemar(improved, regressed) == pytest.approx(min(1.0, float(expected)))


def test_many_cases_keep_the_exact_binomial():
    test = paired_test(*sides(700, 600, unchanged=98_700))
    assert test.method == "exact binomial (McNemar)"
    assert test.p_value == pytest.approx(0.00602, abs=1e-4)


def test_half_steps_count():
    worse = paired_test([1.0] * 40, [0.5] * 40)
    assert worse.difference == -0.5
    assert worse.p_value == pytest.approx(0.0001)
    assert worse.ci_high < 0


def test_three_half_steps_are_too_few():
    test = paired_test([1.0] * 3, [0.5] * 3)
    assert (test.p_value, test.method, test.nonzero) == (0.25, "exact sign flips", 3)
    assert test.ci_low <= 0 <= test.ci_high


def test_a_difference_without_variance_never_gives_p_0():
    assert paired_test([0.2] * 500, [0.9] * 500).p_value >= 1 / 10_000


def test_up_to_20_units_all_flips_are_counted():
    rng = np.random.default_rng(1)
    before, after = rng.random(9), rng.random(9)
    changes = after - before
    sums = [abs(np.dot(signs, changes)) for signs in itertools.product((-1, 1), repeat=9)]
    expected = np.mean(np.array(sums) >= abs(changes.sum()) - 1e-12)
    assert paired_test(before, after).p_value == pytest.approx(float(expected))


def test_scipy_agrees_on_a_sign_flip_test():
    from scipy.stats import permutation_test

    changes = np.random.default_rng(2).normal(0.1, 0.3, 14).clip(-0.5, 0.5)
    found = permutation_test(
        (changes,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue
    assert paired_test(0.5 - changes / 2, 0.5 + changes / 2).p_value == pytest.approx(float(found))


def test_beyond_20_units_flips_are_random_and_always_the_same():
    rng = np.random.default_rng(3)
    before, after = rng.random(50), rng.random(50)
    first, second = paired_test(before, after), paired_test(before, after)
    assert first == second
    assert first.method == "9,999 seeded sign flips"
    assert first.p_value * 10_000 == pytest.approx(round(first.p_value * 10_000))


def test_the_order_of_the_cases_makes_no_difference():
    rng = np.random.default_rng(4)
    before, after, order = rng.random(60), rng.random(60), rng.permutation(60)
    assert paired_test(before, after).p_value == paired_test(before[order], after[order]).p_value


def test_exchanging_the_sides_exchanges_the_signs():
    rng = np.random.default_rng(5)
    before, after = rng.random(60), rng.random(60)
    there, back = paired_test(before, after), paired_test(after, before)
    assert there.p_value == back.p_value
    assert (there.ci_low, there.ci_high) == pytest.approx((-back.ci_high, -back.ci_low))


def test_the_interval_holds_the_shifts_that_the_test_does_not_reject():
    changes = np.array([0.5, 0.25, 1.0, -0.25, 0.75, 0.5, 0.9, 0.1])
    test = paired_test(0.5 - changes / 2, 0.5 + changes / 2)
    signs = np.array(list(itertools.product((-1, 1), repeat=len(changes))))

    def rejected(shift):
        moved = changes - shift
        return (np.abs(signs @ moved) >= abs(moved.sum()) - 1e-9).mean() < 0.05

    shifts = np.linspace(-1, 1, 4001)
    kept = [shift for shift in shifts if not rejected(shift)]
    widest = 3 / len(changes)
    assert test.ci_low == pytest.approx(min(min(kept), test.difference - widest), abs=6e-4)
    assert test.ci_high == pytest.approx(max(-1.0, min(1.0, max(max(kept), test.difference + widest))), abs=6e-4)


def test_no_change_at_all_has_an_interval_of_3_over_n():
    test = paired_test([1.0] * 100, [1.0] * 100)
    assert (test.p_value, test.ci_low, test.ci_high) == (1.0, -0.03, 0.03)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 0.25, 1 / 3, 0.5, 1]), st.sampled_from([0, 0.25, 0.5, 2 / 3, 1])),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 15),
)
def test_interval_and_p_value_are_of_one_mind(pairs, clusters):
    before, after = zip(*pairs, strict=True)
    for names in (None, [number % clusters for number in range(len(pairs))]):
        test = paired_test(before, after, clusters=names)
        assert 0 < test.p_value <= 1
        assert -1 <= test.ci_low <= test.difference <= test.ci_high <= 1
        assert (test.ci_low <= 0 <= test.ci_high) is (test.p_value >= 0.05)
        if test.p_value >= 0.05:
            assert test.ci_high >= min(1, test.difference + 3 / test.n) - 1e-9
            assert test.ci_low <= max(-1, test.difference - 3 / test.n) + 1e-9


def test_clusters_are_the_units():
    before, after = [0.0] * 20, [1.0] * 20
    test = paired_test(before, after, clusters=list("aabbccddee" * 2))
    assert (test.n, test.units, test.nonzero) == (20, 5, 5)
    assert test.p_value == 0.0625
    assert test.difference == 1.0


def test_a_case_without_a_cluster_stands_for_itself():
    test = paired_test([0.0] * 6, [1.0] * 6, clusters=["a", "a", None, None, math.nan, None])
    assert test.units == 5


def test_without_pairs_nothing_is_known():
    test = paired_test([], [])
    assert (test.n, test.method) == (0, "no pairs")
    assert math.isnan(test.p_value)
    assert cases_needed(test, 0.1) is None


def test_the_smallest_difference_is_2_80_s_over_root_n_with_two_opposite_cases_added():
    before, after = sides(6, 2, unchanged=92)
    changes = [*(b - a for a, b in zip(before, after, strict=True)), 1.0, -1.0]
    expected = 2.80 * np.std(changes, ddof=1) / math.sqrt(100)
    test = paired_test(before, after)
    assert test.smallest_detectable == pytest.approx(expected)
    assert cases_needed(test, expected) == 100
    assert cases_needed(test, expected / 2) == 400


def test_equal_clusters_of_one_change_nothing():
    before, after = sides(6, 2, unchanged=30)
    assert paired_test(before, after, clusters=list(range(38))) == paired_test(before, after)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([0.0], [0.0, 1.0]), "must be pairs, got 1 and 2 values"),
        (([math.nan], [1.0]), "baseline must hold a number from 0 to 1"),
        (([0.0], [1.5]), "candidate must hold a number from 0 to 1"),
    ],
)
def test_what_is_no_pair_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        paired_test(*given)


def _binary(rng, n):
    chance = rng.beta(4, 2, n)
    return rng.random(n) < chance, rng.random(n) < chance, None


def _graded(rng, n):
    base = rng.random(n)
    return (base + rng.normal(0, 0.2, n)).clip(0, 1), (base + rng.normal(0, 0.2, n)).clip(0, 1), None


def _repeated(rng, n):
    chance = rng.beta(3, 2, n)
    return rng.binomial(5, chance) / 5, rng.binomial(5, chance) / 5, None


def _clustered(rng, n, clusters):
    names = rng.integers(0, clusters, n)
    drift = rng.normal(0, 0.15, clusters)
    base = rng.uniform(0.3, 0.7, n)
    before = (base + rng.normal(0, 0.1, n)).clip(0, 1)
    return before, (base + drift[names] + rng.normal(0, 0.1, n)).clip(0, 1), names


DESIGNS = {
    "8 binary": (lambda rng: _binary(rng, 8), 0),
    "60 binary": (lambda rng: _binary(rng, 60), 0),
    "6 graded": (lambda rng: _graded(rng, 6), 0),
    "40 graded": (lambda rng: _graded(rng, 40), 0.03),
    "15 repeated": (lambda rng: _repeated(rng, 15), 0),
    "60 repeated": (lambda rng: _repeated(rng, 60), 0.03),
    "6 clusters": (lambda rng: _clustered(rng, 60, 6), 0),
    "12 clusters": (lambda rng: _clustered(rng, 150, 12), 0),
    "40 clusters": (lambda rng: _clustered(rng, 240, 40), 0.03),
}


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "least"), DESIGNS.values(), ids=DESIGNS)
def test_false_alarms_are_at_most_5_percent(draw, least):
    rng = np.random.default_rng(20_261_130)
    experiments = 1500
    alarms = 0
    for _ in range(experiments):
        before, after, clusters = draw(rng)
        alarms += paired_test(before, after, clusters=clusters).p_value < 0.05
    error = 2.6 * math.sqrt(0.05 * 0.95 / experiments)
    assert least - error <= alarms / experiments <= 0.05 + error
    if least:
        assert alarms / experiments <= 0.06 + error / 3
