"""Headers and JSON of strangers: what fits together is read, everything else is refused."""

import json

import pytest

from liquidtime.files.bounded import LARGEST_HEADER, DamagedFolder, TensorEntry, json_from_bytes, tensor_entries


def header(tensors):
    text = json.dumps(tensors).encode()
    return len(text).to_bytes(8, "little") + text


def entries(*tensors, data):
    head = header({f"t{number}": tensor for number, tensor in enumerate(tensors)})
    return tensor_entries(head, len(head) + data)


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_tensors_that_fill_the_file_are_listed():
    head = header({"__metadata__": {"a": "b"}, "b": tensor("F32", [2, 3], 4, 28), "a": tensor("U8", [4], 0, 4)})
    assert tensor_entries(head, len(head) + 28) == {"b": TensorEntry("F32", (2, 3)), "a": TensorEntry("U8", (4,))}
    assert TensorEntry("F32", (2, 3)).elements == 6
    assert entries(tensor("F64", [1] * 16, 0, 8), data=8)["t0"].elements == 1
    assert entries(tensor("F32", [0], 0, 0), data=0)["t0"].elements == 0


@pytest.mark.parametrize("wrong", [
    tensor("F32", [2, 3], 0, 20), tensor("F64", [2, 3], 0, 24), tensor("F31", [2, 3], 0, 24),
    tensor("F32", [1] * 16 + [6], 0, 24), tensor("F32", [-2, -3], 0, 24), tensor("F32", [2.0, 3], 0, 24),
    tensor("F32", [True, 6], 0, 24), tensor("F32", [1 << 62, 0], 0, 0), tensor("F32", "23", 0, 24),
    {"dtype": "F32", "shape": [6]}, {"dtype": "F32", "shape": [6], "data_offsets": [0]}, [], 7,
])  # fmt: skip
def test_a_tensor_that_does_not_fit_is_refused(wrong):
    with pytest.raises(DamagedFolder, match="tensor 't0'"):
        entries(wrong, data=24)


@pytest.mark.parametrize(("spans", "data"), [
    ([(0, 4), (8, 12)], 12), ([(0, 8), (4, 12)], 12), ([(4, 8)], 8), ([(0, 4)], 8), ([(0, 8)], 4), ([], 1),
])  # fmt: skip
def test_gaps_and_overlaps_are_refused(spans, data):
    with pytest.raises(DamagedFolder, match="without gaps and overlaps"):
        entries(*(tensor("U8", [end - begin], begin, end) for begin, end in spans), data=data)


def test_a_header_must_be_in_the_file_and_short():
    for head, size in ((b"", 0), (b"\x02\0\0\0\0\0\0", 9), ((3).to_bytes(8, "little") + b"{}", 10)):
        with pytest.raises(DamagedFolder, match="longer than the file"):
            tensor_entries(head, size)
    with pytest.raises(DamagedFolder, match="its header has"):
        tensor_entries((LARGEST_HEADER + 1).to_bytes(8, "little"), 1 << 40)
    with pytest.raises(DamagedFolder, match="is not an object"):
        tensor_entries(header([]), 10)


def test_json_is_counted_before_it_is_parsed():
    raw = b'{"a": [1, 2, 3]}'
    assert json_from_bytes(raw, "x", 4) == {"a": [1, 2, 3]}
    with pytest.raises(DamagedFolder, match=r"x has up to 4 values; at most 3"):
        json_from_bytes(raw, "x", 3)
    for text in (b'{"a": 1, "a": 2}', b"{", b"[" * 100_000, b"\xff"):
        with pytest.raises(DamagedFolder, match="x is not JSON"):
            json_from_bytes(text, "x", 1 << 20)
