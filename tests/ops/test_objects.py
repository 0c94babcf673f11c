"""A watch over objects notices every other object in their dictionaries, by versions and by a walk alike."""

import pytest

from liquidtime.ops.native import library, objects
from liquidtime.ops.native.objects import Watch

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")


class Base:
    shared = 1


class Thing(Base):
    def __init__(self):
        self.setting, self.parts = 1.0, {"a": object()}

    def method(self):
        return 1


@pytest.fixture(params=["versions", "walk"])
def way(request, monkeypatch):
    if request.param == "versions" and not objects.have_versions():
        pytest.skip("this Python's dictionaries have no versions")
    if request.param == "walk":
        monkeypatch.setattr(objects, "have_versions", lambda: False)
    return request.param


def rebase(thing):
    class Other(Base):
        pass

    thing.__class__ = Other


CHANGES = {
    "a setting": lambda thing: setattr(thing, "setting", 2.0),
    "an equal setting": lambda thing: setattr(thing, "setting", float("1.0")),
    "a setting more": lambda thing: setattr(thing, "further", 0),
    "a setting less": lambda thing: delattr(thing, "setting"),
    "past setattr": lambda thing: thing.__dict__.update(setting=3.0),
    "a part": lambda thing: thing.parts.update(a=object()),
    "a part more": lambda thing: thing.parts.update(b=None),
    "no part": lambda thing: thing.parts.clear(),
    "another dictionary": lambda thing: setattr(thing, "__dict__", dict(thing.__dict__)),
    "another class": rebase,
    "a method of the instance": lambda thing: setattr(thing, "method", len),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_change_is_noticed(way, change):
    thing = Thing()
    watch = Watch.on([thing], [thing.parts])
    assert watch.holds()
    assert thing.method() == 1
    assert watch.holds()
    CHANGES[change](thing)
    assert not watch.holds()
    assert Watch.on([thing], [thing.parts]).holds()


@pytest.mark.parametrize("owner", [Thing, Base])
def test_a_change_of_a_class_is_noticed(way, owner, monkeypatch):
    thing = Thing()
    watch = Watch.on([thing], [])
    monkeypatch.setattr(owner, "shared", 2, raising=False)
    assert not watch.holds()


def test_other_objects_do_not_matter(way):
    thing, other = Thing(), Thing()
    watch = Watch.on([thing], [thing.parts])
    other.setting, other.parts["b"] = 7, 8
    for k in range(1000):
        {}[k] = Thing()
    assert watch.holds()


def test_versions_are_of_this_python_where_they_are_used():
    table = {}
    if objects.have_versions():
        before = objects.version_of(table)
        table["a"] = 1
        assert before != objects.version_of(table) != 0
