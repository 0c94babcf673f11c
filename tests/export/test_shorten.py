"""A shortened graph has fewer operations and the same numbers."""

import torch

from liquidtime.export.run import run
from liquidtime.export.shorten import shortened
from liquidtime.export.simplify import simplified
from liquidtime.export.trace import trace


def kinds(graph):
    return [operation.kind for operation in graph.operations]


def both(function, **inputs):
    """Return the kinds of a graph before and after, of which the numbers are equal."""
    graph = simplified(trace(function, inputs, ("out",)))
    short = shortened(graph)
    given = {name: torch.randn_like(value.repeat(3, *[1] * (value.ndim - 1))) for name, value in inputs.items()}
    one, other = run(graph, given)["out"], run(short, given)["out"]
    assert torch.equal(one, other)
    assert one.shape == other.shape
    return kinds(graph), kinds(short)


def test_reshapes_of_reshapes():
    before, after = both(lambda x: x.reshape(-1, 6, 1).reshape(-1, 2, 3).reshape(-1, 3, 2), x=torch.zeros(1, 6))
    assert (before.count("reshape"), after) == (3, ["reshape"])
    _, after = both(lambda x: x.reshape(-1, 6, 1).reshape(-1, 6) + 1.0, x=torch.zeros(1, 6))
    assert after == ["add"]


def test_parts_that_are_joined_as_they_were_cut():
    def mean(x):
        return torch.stack([x[:, k] for k in range(3)], dim=1).sum(dim=1)

    before, after = both(mean, x=torch.zeros(1, 3, 4))
    assert "concat" in before
    assert "concat" not in after
    assert "slice" not in after
    _, after = both(lambda x: torch.cat([x[:, 2:], x[:, :2]], dim=1), x=torch.zeros(1, 4))  # in another order
    assert "concat" in after
    _, after = both(lambda x: torch.cat([x[:, :2], x[:, 2:3]], dim=1), x=torch.zeros(1, 4))  # not all
    assert "concat" in after
    _, after = both(lambda x: torch.cat([x[:, :, :2], x[:, :, 2:]], dim=1), x=torch.zeros(1, 3, 4))  # another axis
    assert "concat" in after


def test_nested_joins_and_flags():
    before, after = both(lambda x: torch.cat([x, torch.cat([x + 1, x * 2], dim=1)], dim=1), x=torch.zeros(1, 4))
    assert (before.count("concat"), after.count("concat")) == (2, 1)
    before, after = both(lambda x: torch.where((x > 0.3).float() > 0, x, -x), x=torch.zeros(1, 4))
    assert (before.count("gt"), after.count("gt"), after.count("cast")) == (2, 1, 0)
    _, after = both(lambda x: torch.where((x > 0.3).float() > 1, x, -x), x=torch.zeros(1, 4))
    assert after.count("gt") == 2
