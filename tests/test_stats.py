import math

import pytest

from evalkit.stats import effective_size, wilson


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
