"""What is exported of a stack: its networks, with what the rest was worth."""

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import series
from estimators.stacking.quick import classifier, regressor, small_parts
from liquidtime.export.of_model import step_of
from liquidtime.export.parts import change_in_words, part_of_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stack():
    data, labels, _ = series(60)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(60) < 0.6, rng.choice(list("abc"), 60), labels)  # so that no part is perfect
    return classifier(data, labels), data, labels


def test_a_stack_is_refused_with_its_parts_and_what_to_do(stack):
    model, _, _ = stack
    others = [part.name for part in model.parts_ if part.weight > 0 and part.name != "CfC networks"]
    assert others
    with pytest.raises(ValueError, match="features of whole series") as refused:
        step_of(model)
    text = str(refused.value)
    assert all(name in text for name in others)
    assert "part='networks'" in text
    assert f"{model.figures_['log_loss']:.4g} -> " in text


def test_its_networks_are_exported_with_the_change_in_its_own_metrics(stack, tmp_path):
    pytest.importorskip("onnxruntime")
    model, data, labels = stack
    result = lt.export.onnx(model, tmp_path / "folder", data=data, target=labels, part="networks")
    from liquidtime.export.onnx_runner import Model
    from liquidtime.tasks import task_of

    figures = task_of(model).compare(model, "model", None, (data, labels)).figures["model"]
    assert f"log loss {figures['log_loss'].value:.4f} -> " in result.facts["part"]
    static = [{"age": age, "sex": ("f", "m")[int(sex)]} for age, sex in data.static]
    given = Model(tmp_path / "folder").predict_proba([(one.times, one.values) for one in data], static)
    np.testing.assert_allclose(given, model.cfc_.predict_proba(data), atol=5e-6)


def test_without_data_the_figures_are_those_of_training(stack):
    model, _, _ = stack
    assert "held out in training" in change_in_words(model, None, None)


def test_networks_that_training_gave_up_are_told_of():
    data, labels, _ = series(60)
    model = classifier(data, labels)
    assert model.parts_[0].weight == 0
    assert "dropped the networks" in change_in_words(model, None, None)


def test_a_stack_of_networks_only_is_what_its_networks_are():
    data, _, level = series(6)
    few = regressor(data, level)
    if few._feature_parts:
        few._feature_parts = {}
    assert part_of_model(few, "all") is few.cfc_


def test_classes_of_samples(tmp_path):
    data, _, _ = series(24)
    y = np.where(np.nan_to_num(data.values[:, 0]) > 0, "up", "down")
    with small_parts():
        model = lt.StackedStepClassifier(random_state=0).fit(data, y)
    step = step_of(model, "networks")
    assert step.classes == ["down", "up"]
    if model._feature_parts:
        with pytest.raises(ValueError, match="running features"):
            step_of(model)


def test_no_other_part_can_be_named(stack):
    with pytest.raises(ValueError, match="`part`"):
        part_of_model(stack[0], "trees")
