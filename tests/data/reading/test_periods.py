import numpy as np
import pandas as pd

import liquidtime as lt
from estimators.small import TINY


def test_a_month_is_its_first_instant_in_a_column_and_in_an_index():
    months = pd.period_range("2024-01", periods=3, freq="M")
    frame = pd.DataFrame({"id": 1, "month": months, "x": [1.0, 2.0, 3.0]})
    stamps = lt.SeriesSet.from_wide(frame.assign(month=months.to_timestamp()), id="id", time="month", time_unit="D")
    for data in (
        lt.SeriesSet.from_wide(frame, id="id", time="month", time_unit="D"),
        lt.SeriesSet.from_wide(frame.set_index(["id", "month"]), time_unit="D"),
    ):
        np.testing.assert_array_equal(data.times, [0.0, 31.0, 60.0])
        np.testing.assert_array_equal(data.origins, stamps.origins)


def test_targets_belong_to_the_series_of_an_indexed_frame_in_the_order_of_the_frame():
    rng = np.random.default_rng(0)
    names = [f"p{place}" for place in rng.permutation(24)]
    frame = pd.concat(
        {name: pd.DataFrame({"x": rng.normal(size=4) + 5 * (place % 2)}) for place, name in enumerate(names)}
    )
    y = np.arange(24) % 2
    model = lt.CfCClassifier(**TINY | {"epochs": 40}).fit(frame, y)
    assert (model.predict(frame) == y).mean() > 0.9
    sorted_frame = frame.sort_index()
    by_name = dict(zip(names, model.predict(frame), strict=True))
    assert model.predict(sorted_frame).tolist() == [by_name[name] for name in sorted(names)]
