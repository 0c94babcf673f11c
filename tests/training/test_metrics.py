from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm
from sklearn import metrics as sk

from liquidtime.training import METRICS, bootstrap_interval, mean_interval


def class_case(C: int, n: int = 300, levels: int | None = None):
    rng = np.random.default_rng(C)
    y = np.r_[np.arange(C), rng.integers(0, C, n - C)]
    logits = rng.normal(size=(n, C)) + 1.2 * np.eye(C)[y]
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    if levels and C == 2:
        positive = np.round(p[:, 1] * levels) / levels
        p = np.stack([1 - positive, positive], axis=1)
    return y, p


def test_auc_counts_a_tie_as_half():
    assert METRICS["auc"]([0, 1], [0.5, 0.5]) == 0.5
    y, p = [0, 0, 1, 1, 1], [0.1, 0.4, 0.4, 0.4, 0.9]  # pairs won: 3 + (0.5 + 0.5 + 1) of 6
    assert METRICS["auc"](y, p) == pytest.approx(5 / 6)


def test_known_values():
    y, p = [1, 0, 1, 0], [0.9, 0.2, 0.4, 0.6]
    assert METRICS["accuracy"](y, p) == 0.5
    assert METRICS["log_loss"](y, p) == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.4]).mean())
    assert METRICS["brier"](y, p) == pytest.approx((0.1**2 + 0.2**2 + 0.6**2 + 0.6**2) / 4)
    assert METRICS["average_precision"](y, p) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    t, q = [1.0, 2.0, 4.0], [1.5, 2.0, 2.0]
    assert METRICS["mse"](t, q) == pytest.approx(4.25 / 3)
    assert METRICS["mae"](t, q) == pytest.approx(2.5 / 3)
    assert METRICS["r2"](t, q) == pytest.approx(1 - 4.25 / (16 / 9 + 1 / 9 + 25 / 9))


def test_directions():
    better = {name for name, metric in METRICS.items() if metric.higher_is_better}
    by_threshold = {"balanced_accuracy", "f1", "sensitivity", "specificity"}
    assert better == {"auc", "average_precision", "accuracy", "r2", *by_threshold}


def oracle(name: str, y, p, weight) -> float:
    C = p.shape[1]
    if name in ("auc", "average_precision"):
        one = sk.roc_auc_score if name == "auc" else sk.average_precision_score
        classes = [1] if C == 2 else range(C)
        return float(np.mean([one(y == k, p[:, k], sample_weight=weight) for k in classes]))
    if name == "accuracy":
        return float(sk.accuracy_score(y, p.argmax(1), sample_weight=weight))
    if name == "log_loss":
        return float(sk.log_loss(y, p, sample_weight=weight, labels=np.arange(C)))
    q = p[:, 1] if C == 2 else p
    return float(sk.brier_score_loss(y, q, sample_weight=weight, labels=np.arange(C)))


@pytest.mark.parametrize("C", [2, 4])
@pytest.mark.parametrize("name", ["auc", "average_precision", "accuracy", "log_loss", "brier"])
def test_weighted_forms_against_scikit_learn(name, C):
    y, p = class_case(C, levels=20)
    W = np.random.default_rng(0).integers(0, 4, (6, len(y))).astype(float)
    W[0] = 1.0
    metric = METRICS[name]
    got = metric.weighted(*metric.prepare(y, p), W)
    np.testing.assert_allclose(got, [oracle(name, y, p, w) for w in W], rtol=1e-12)
    assert metric(y, p) == pytest.approx(got[0], rel=1e-12)
    if C == 2:
        assert metric(y, p[:, 1]) == pytest.approx(metric(y, p), rel=1e-12)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize(
    ("name", "score"), [("mse", sk.mean_squared_error), ("mae", sk.mean_absolute_error), ("r2", sk.r2_score)]
)
def test_weighted_forms_of_values(name, score, K):
    rng = np.random.default_rng(1)
    y = rng.normal(size=(80, K)) + 1e4
    p = y + rng.normal(size=(80, K))
    W = rng.integers(0, 4, (5, 80)).astype(float)
    got = METRICS[name].weighted(*METRICS[name].prepare(y, p), W)
    np.testing.assert_allclose(got, [score(y, p, sample_weight=w) for w in W], rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "y", "p", "text"),
    [
        ("auc", [1, 1], [0.2, 0.3], "no row of class 0; auc needs every class"),
        ("accuracy", [0, 1], [0.2, float("nan")], "`prediction` must be finite; 1 of 2 rows are not, first row 1"),
        ("accuracy", [0, 2], [0.2, 0.4], r"whole numbers in 0…1; got 0…2"),
        ("log_loss", [0, 1], [1.2, -3.0], "must be probabilities"),
        ("brier", [0, 1], [[0.2, 0.2], [0.5, 0.5]], "add up to 1"),
        ("mse", [1.0], [1.0, 2.0], "the same rows, at least one; got 1 and 2"),
        ("mse", [], [], "at least one"),
        ("mae", [[1.0, 2.0]], [1.0], r"\(1, 2\) and \(1,\)"),
    ],
)
def test_refusals(name, y, p, text):
    with pytest.raises(ValueError, match=text):
        METRICS[name](y, p)


def test_bootstrap_is_seeded_and_leaves_the_global_state():
    y, p = class_case(2)
    before = np.random.get_state()[1].copy()
    first, again = (bootstrap_interval("auc", y, p, seed=4, resamples=300) for _ in range(2))
    assert first == again
    assert first != bootstrap_interval("auc", y, p, seed=5, resamples=300)
    assert (np.random.get_state()[1] == before).all()
    assert first.low < first.value < first.high


def test_bootstrap_is_the_same_in_blocks(monkeypatch):
    y, p = class_case(3)
    whole = bootstrap_interval("accuracy", y, p, resamples=200)
    monkeypatch.setattr("liquidtime.training.bootstrap._CELLS", 7 * len(y))
    assert bootstrap_interval("accuracy", y, p, resamples=200) == whole


def test_stratified_resamples_keep_the_rare_class():
    y = np.r_[np.zeros(200, dtype=int), 1, 1]
    p = np.r_[np.linspace(0, 0.8, 200), 0.7, 0.9]
    interval = bootstrap_interval("auc", y, p, resamples=500)
    assert np.isfinite([interval.low, interval.high]).all()
    assert METRICS["auc"](y[:-1], p[:-1]) == pytest.approx(interval.low, abs=0.05)  # both draws the weaker one


def test_coverage_for_the_auc_of_two_normals():
    """AUC = Φ(δ/√2). A 95 % interval covers it in about 95 of 100 samples."""
    rng = np.random.default_rng(8)
    truth = norm.cdf(1.0 / np.sqrt(2))
    y = np.repeat([0, 1], [90, 60])
    covered, trials = 0, 250
    for trial in range(trials):
        scores = norm.cdf(rng.normal(size=150) + y)
        interval = bootstrap_interval("auc", y, scores, resamples=400, seed=trial)
        covered += interval.low <= truth <= interval.high
    assert 0.91 <= covered / trials <= 0.98


def test_coverage_for_a_mean():
    rng = np.random.default_rng(9)
    covered = 0
    for trial in range(400):
        y = rng.normal(size=120)
        interval = bootstrap_interval("mse", y, np.zeros(120), resamples=400, seed=trial)
        covered += interval.low <= 1.0 <= interval.high
    assert 0.90 <= covered / 400 <= 0.975


def test_a_mean_has_the_interval_of_a_metric_that_is_one():
    values = np.random.default_rng(0).exponential(size=30)
    found = mean_interval(values, resamples=200, seed=3)
    assert found == bootstrap_interval("mae", np.zeros(30), values, resamples=200, seed=3)
    assert found.value == pytest.approx(values.mean())
    assert found.low < found.value < found.high
    for bad in ([], [1.0, np.nan]):
        with pytest.raises(ValueError, match="`values` must be"):
            mean_interval(bad)


def test_every_metric_says_in_its_heading_which_direction_is_better():
    for metric in METRICS.values():
        for short in (False, True):
            assert metric.heading(short).endswith("↓") != metric.higher_is_better
    assert METRICS["mae"].heading(short=True) == "mean abs. error ↓"


@pytest.mark.parametrize(
    ("metric", "trials"),
    [("accuracy", 20), ("auc", 5), ("balanced_accuracy", 5), ("sensitivity", 5), ("specificity", 15)],
)
def test_answers_that_are_all_right_have_an_exact_interval(metric, trials):
    y = np.repeat([0, 1], [15, 5])
    right = bootstrap_interval(metric, y, y.astype(float))
    exact = beta.ppf(0.025, trials, 1)  # Clopper and Pearson, n of n
    assert (right.value, right.high) == (1.0, 1.0)
    assert right.low == pytest.approx(exact)
    wrong = bootstrap_interval(metric, y, 1.0 - y)
    assert (wrong.value, wrong.low, wrong.high) == (0.0, 0.0, pytest.approx(1 - exact))


def test_the_exact_interval_counts_clusters():
    y = np.repeat([0, 1], [15, 5])
    clusters = np.repeat(np.arange(4), 5)  # three of class 0, one of class 1
    low = [bootstrap_interval(metric, y, y.astype(float), clusters=clusters).low for metric in ("accuracy", "auc")]
    assert low == pytest.approx([0.025**0.25, 0.025])


def test_the_exact_interval_covers_and_is_not_wider_than_needed():
    p, n, draws = 0.97, 60, 20_000
    right = np.random.default_rng(0).binomial(n, p, draws) == n
    assert 0.0 < mean_interval(np.ones(n), share=True).low < p  # so the draws that are all right cover 0.97
    assert right.mean() == pytest.approx(p**n, abs=0.01)
    assert mean_interval(np.ones(150), share=True).low > p  # and 150 of 150 would tell it from 1


def test_a_mean_that_is_no_share_stays_as_it_is():
    assert mean_interval(np.ones(10)).low == 1.0
    assert mean_interval(np.zeros(10), share=True).high == pytest.approx(beta.ppf(0.975, 1, 10))
