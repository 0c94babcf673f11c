import pytest

from liquidtime.integrations.trackers import TRACKERS, MLflow, TensorBoard, WeightsAndBiases, find_trackers
from liquidtime.training import Tracker


def test_names_places_and_trackers_are_taken():
    mine = Tracker()
    found = find_trackers(["tensorboard=logs", mine, "mlflow=sqlite:///a.db?x=1", "wandb=team"])
    assert found[0].folder.name == "logs"
    assert found[1] is mine
    assert (found[2].uri, found[3].project) == ("sqlite:///a.db?x=1", "team")
    assert [type(one) for one in find_trackers(list(TRACKERS))] == [TensorBoard, MLflow, WeightsAndBiases]
    assert find_trackers(None) == [] == find_trackers(())


@pytest.mark.parametrize(
    ("track", "error", "words"),
    [
        ("tensorbord", ValueError, "--track must be one of tensorboard, mlflow, wandb; got 'tensorbord'; did you mean"),
        (["mlflow="], ValueError, "has no destination"),
        (3, TypeError, "must be names or trackers; got int"),
    ],
)
def test_anything_else_is_refused(track, error, words):
    with pytest.raises(error, match=words):
        find_trackers(track, "--track")


@pytest.mark.parametrize(("name", "module"), [("tensorboard", None), ("mlflow", "mlflow"), ("wandb", "wandb")])
def test_a_package_that_is_not_there_is_named_before_anything_starts(name, module, monkeypatch):
    if module is None:
        monkeypatch.setattr("liquidtime.integrations.trackers.tensorboard.find_spec", lambda name: None)
    else:
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ImportError, match=rf"`{name}` needs its package: pip install 'liquidtime\[track\]'"):
        find_trackers(name)[0].start("run", {})
