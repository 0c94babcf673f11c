"""Labels in tables, as the command line reads them."""

import polars as pl
import pytest

from liquidtime.cli.columns import with_numbers


def labels(*texts):
    return pl.DataFrame({"id": list(range(len(texts))), "life": list(texts)})


def test_numbers_written_as_text_are_targets_of_regression():
    for texts, decimal, numbers in [
        (("957", "3,412", "12,345,678"), None, [957.0, 3412.0, 12345678.0]),
        (("1.957,5", "3,5", None), None, [1957.5, 3.5, None]),
        (("3,412", "957"), ".", [3412.0, 957.0]),
        (("3,412", "957"), ",", [3.412, 957.0]),
        (("7", "n/a"), None, [7.0, None]),
    ]:
        assert with_numbers(labels(*texts), "life", "regress", decimal)["life"].to_list() == numbers
    assert with_numbers(labels("1", "2"), "life", "classify", None)["life"].to_list() == ["1", "2"]


def test_texts_that_are_no_numbers_are_refused_with_the_first_and_their_count():
    message = r"--target 'life' must be numbers for regression; 2 of 4 labels are not, the first is 'long' in row 1"
    with pytest.raises(ValueError, match=message):
        with_numbers(labels("1", "long", "short", None), "life", "regress", None)
    with pytest.raises(ValueError, match=r"could be .*3412.* or .*3\.412"):
        with_numbers(labels("3,412", "957"), "life", "regress", None)
