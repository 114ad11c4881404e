import math

import pytest

from evalkit.stats import agreement, effective_size, holm, pass_at_k, pass_hat_k, wilson, wilson_bounds


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [
        (10, 10, 0.7225, 1), (0, 10, 0, 0.2775), (1, 1, 0.2065, 1), (3, 3, 0.4385, 1), (17, 20, 0.6396, 0.9476),
        (50, 50, 0.9287, 1), (16, 20, 0.584, 0.919), (20, 20, 0.839, 1), (4, 5, 0.376, 0.964),
    ],
)  # fmt: skip
def test_wilson_interval_has_the_published_values(passed, n, low, high):
    assert wilson(passed / n, n) == pytest.approx((low, high), abs=6e-4)


def test_nothing_scored_has_no_interval():
    assert all(math.isnan(bound) for bound in wilson(math.nan, 0))


def test_an_interval_is_within_0_and_1_and_has_a_width():
    for n in (1, 2, 5, 1000):
        for passed in range(0, n + 1, max(1, n // 5)):
            low, high = wilson(passed / n, n)
            assert 0 <= low < high <= 1
            assert low <= passed / n <= high


def _sums(clusters):
    values = [value for cluster in clusters for value in cluster]
    return {
        "n": len(values), "mean": sum(values) / len(values), "squares": sum(v * v for v in values),
        "clusters": len(clusters), "cluster_squares": sum(sum(c) ** 2 for c in clusters),
        "cluster_products": sum(len(c) * sum(c) for c in clusters),
        "cluster_sizes": sum(len(c) ** 2 for c in clusters),
    }  # fmt: skip


def test_cases_that_agree_within_clusters_count_as_the_clusters():
    assert effective_size(**_sums([[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]])) == pytest.approx(4)


def test_cases_without_clusters_count_each():
    assert effective_size(**_sums([[1], [0], [1]])) == 3


def test_an_effective_size_is_between_the_clusters_and_the_cases():
    assert 3 <= effective_size(**_sums([[1, 0], [0, 1], [1, 0]])) <= 6


def test_where_nothing_varies_the_clusters_are_counted():
    assert effective_size(**_sums([[1, 1], [1, 1]])) == 2


def test_cases_of_one_cluster_are_one():
    assert effective_size(**_sums([[1, 0, 1, 1]])) == 1


@pytest.mark.parametrize("n", [1, 3, 10, 200])
def test_wilson_is_what_statsmodels_computes(n):
    from statsmodels.stats.proportion import proportion_confint

    for passed in range(0, n + 1, max(1, n // 7)):
        low, high = proportion_confint(passed, n, method="wilson")
        assert wilson(passed / n, n) == pytest.approx((float(low), float(high)), abs=1e-9)


def test_bounds_of_arrays_are_those_of_numbers():
    rates, sizes = [0.0, 0.5, 1.0, 0.8, math.nan], [3, 10, 7, 2.5, 0]
    low, high = wilson_bounds(rates, sizes)
    singles = [wilson(rate, size) for rate, size in zip(rates, sizes, strict=True)]
    assert list(low) == pytest.approx([single[0] for single in singles], nan_ok=True)
    assert list(high) == pytest.approx([single[1] for single in singles], nan_ok=True)


def test_five_equal_trials_of_20_cases_are_20_cases():
    assert wilson(16 / 20, 20) == pytest.approx((0.584, 0.919), abs=6e-4)
    assert wilson(80 / 100, 100) == pytest.approx((0.711, 0.867), abs=6e-4)


def test_holm_adjusts_a_family_and_leaves_out_what_is_not_known():
    assert list(holm([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert list(holm([0.01, math.nan, 0.02])) == pytest.approx([0.02, math.nan, 0.02], nan_ok=True)
    assert list(holm([])) == []


def test_kappa_has_the_published_value():
    # J. Cohen's measure for 20, 5, 10, 15 of 50: agreement 0.70, by chance 0.50
    found = agreement(20, 5, 10, 15)
    assert (found.agreement, found.kappa) == pytest.approx((0.70, 0.40))


def test_kappa_and_its_interval_are_close_to_those_of_statsmodels():
    from statsmodels.stats.inter_rater import cohens_kappa

    for cells in [(20, 5, 10, 15), (80, 10, 5, 105), (45, 15, 25, 15)]:
        published = cohens_kappa([[cells[0], cells[1]], [cells[2], cells[3]]])
        found = agreement(*cells)
        assert found.kappa == pytest.approx(float(published.kappa))
        assert found.kappa_low == pytest.approx(float(published.kappa_low), abs=0.05)
        assert found.kappa_high == pytest.approx(float(published.kappa_upp), abs=0.05)


def test_full_agreement_on_a_few_items_is_not_certainty():
    found = agreement(3, 0, 0, 2)
    assert (found.kappa, found.kappa_high) == (1.0, 1.0)
    assert found.kappa_low < 0.5
    assert found.agreement_low == pytest.approx(0.566, abs=1e-3)


def test_where_both_always_say_the_same_kappa_is_not_defined():
    found = agreement(12, 0, 0, 0)
    assert found.agreement == 1.0
    assert math.isnan(found.kappa)
    assert math.isnan(agreement(0, 0, 0, 0).agreement)


@pytest.mark.parametrize(
    ("passed", "trials", "k", "any_of_k", "all_of_k"),
    [
        (1, 2, 1, 0.5, 0.5), (1, 2, 2, 1.0, 0.0), (2, 4, 2, 5 / 6, 1 / 6), (0, 5, 3, 0.0, 0.0), (5, 5, 3, 1.0, 1.0),
        (3, 10, 5, 1 - 21 / 252, 0.0), (7, 10, 3, 1 - 1 / 120, 35 / 120),
    ],
)  # fmt: skip
def test_pass_at_k_and_pass_hat_k_are_the_unbiased_estimates(passed, trials, k, any_of_k, all_of_k):
    assert float(pass_at_k(passed, trials, k)) == pytest.approx(any_of_k)
    assert float(pass_hat_k(passed, trials, k)) == pytest.approx(all_of_k)


def test_nothing_is_known_of_more_trials_than_were_scored():
    assert math.isnan(pass_at_k(1, 2, 3))
    assert math.isnan(pass_hat_k(2, 2, 3))


def test_k_is_at_least_1():
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        pass_at_k(1, 2, 0)
