"""Arguments arrive under their own names, by position too, and are documented where users look."""

import inspect
import re

import pytest

import liquidtime as lt
from liquidtime.estimators.faces.base import SeriesEstimator

FACES = [lt.CfCClassifier, lt.CfCRegressor, lt.CfCForecaster]


def documented(kind):
    """Return the arguments that the docstring of a class describes, with their descriptions."""
    text = inspect.getdoc(kind)
    block = text[text.index("Args:\n") :].split("\n\n")[0]
    parts = re.split(r"^    (\w+): ", block, flags=re.MULTILINE)[1:]
    return {name: " ".join(words.split()) for name, words in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("kind", FACES)
def test_every_argument_is_stored_as_it_came_by_position(kind):
    names = list(inspect.signature(kind).parameters)
    values = [object() for _ in names]
    params = kind(*values).get_params(deep=False)
    assert sorted(params) == sorted(names)
    for name, value in zip(names, values, strict=True):
        assert params[name] is value, name


@pytest.mark.parametrize("kind", FACES)
def test_every_argument_is_documented_in_the_words_of_the_base(kind):
    words, base = documented(kind), documented(SeriesEstimator)
    assert list(words) == list(inspect.signature(kind).parameters)
    own = {"bin_width", "budget"} if kind is lt.CfCForecaster else set()  # it has no scales, and other trials
    for name in set(words) & set(base) - own:
        assert words[name] == base[name]
        assert len(words[name]) > 15


def test_encoded_series_are_taken_in_place_of_series():
    from estimators.small import TINY, series

    data, labels, _ = series(30)
    model, other = (lt.CfCClassifier(**TINY, n_estimators=2).fit(data, labels) for _ in range(2))
    encoded = model.encode(data)
    assert (model.predict_proba(encoded) == model.predict_proba(data)).all()
    part, whole = model.evolve(encoded[[7, 3]]), model.evolve(data[[7, 3]])
    assert part.offsets.tolist() == whole.offsets.tolist()
    assert part.outputs == pytest.approx(whole.outputs, abs=1e-6)
    assert model.encode(encoded) is encoded
    with pytest.raises(ValueError, match="encoded for another model"):
        other.predict(encoded)
