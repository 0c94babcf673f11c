from collections import Counter

import numpy as np
import polars as pl
import pytest
import torch

from liquidtime.paper.datasets import imdb
from liquidtime.paper.datasets.imdb import most_frequent, split_words
from real_data import REAL
from small_data import write_all


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("data"))


def test_words():
    texts = pl.Series(["It's GOOD.<br /><br />Really-good, isn't it?", "Café 1984 ...", ""])
    assert split_words(texts).to_list() == [
        ["it's", "good", "really", "good", "isn't", "it"],
        ["café", "1984"],
        [],
    ]
    assert most_frequent(split_words(texts), 3) == ["good", "1984", "café"]


def test_padding_in_front_and_the_last_words(root):
    published, honest = imdb(root, protocol="published", longest=8), imdb(root, longest=8)
    texts = split_words(pl.read_parquet(root / "imdb" / "test.parquet")["text"]).to_list()
    known = split_words(pl.read_parquet(root / "imdb" / "train.parquet")["text"]).to_list()
    count = Counter(word for words in known for word in words)
    ranked = sorted(count, key=lambda word: (-count[word], word))
    for row, words in enumerate(texts):
        numbers = [2 + ranked.index(word) if word in count else 1 for word in words[-8:]]
        assert published.test.x[row].tolist() == [0] * (8 - len(numbers)) + numbers
        length = int(honest.test.lengths[row])
        assert length == len(numbers)
        assert bool((honest.test.x[row, :length] > 0).all())
    assert published.test.lengths.unique().tolist() == [8]
    assert 1 in published.test.x


def test_equidistant_times_go_from_a_to_b_within_each_review(root):
    plain, spread = imdb(root, longest=8), imdb(root, longest=8, times=(0.5, 2.0))
    assert torch.equal(plain.test.x, spread.test.x)
    for n, ones, dt in zip(spread.test.lengths.tolist(), plain.test.dt, spread.test.dt, strict=True):
        assert ones.tolist() == [1.0] * n + [0.0] * (len(dt) - n)
        torch.testing.assert_close(dt[:n], torch.linspace(0.5, 2.0, n))
        assert not dt[n:].any()


def test_vocabulary_is_cut_and_comes_from_the_training_part_alone(root):
    small = imdb(root, vocabulary=5)
    assert small.train.x.unique().tolist() == [0, 1, 2, 3, 4]
    whole = imdb(root)
    assert int(whole.train.x.min()) >= 0
    assert 1 not in whole.train.x  # every training word has its number
    assert 1 in whole.validation.x  # each made-up review has one word of its own


def test_no_validation_part(root):
    held, whole = imdb(root), imdb(root, validation=0.0)
    assert whole.validation is None
    assert sorted(whole.train.ids.tolist()) == sorted([*held.train.ids.tolist(), *held.validation.ids.tolist()])
    assert 1 not in whole.train.x
    with pytest.raises(ValueError, match="`validation` must be at least 0 and less than 1; got 1"):
        imdb(root, validation=1)


def test_texts_of_the_test_part_and_repeats_leave_the_honest_training_part(tmp_path):
    write_all(tmp_path)
    path = tmp_path / "imdb" / "train.parquet"
    table = pl.read_parquet(path)
    foreign = pl.read_parquet(tmp_path / "imdb" / "test.parquet").head(2)
    pl.concat([table, table.head(3), foreign]).write_parquet(path)
    split = imdb(tmp_path)
    assert len(split.train) + len(split.validation) == len(table)
    assert len(imdb(tmp_path, protocol="published").train) == len(table) + 5


@pytest.mark.data("imdb/train.parquet")
def test_the_real_reviews():
    published = imdb(REAL, protocol="published")
    for part in (published.train, published.test):
        assert part.x.shape == (25_000, 200)
        assert int(part.y.sum()) == 12_500
    assert published.validation is None
    assert int(published.train.x.max()) == 19_999
    assert bool((published.train.dt == 1).all())
    unpadded = published.train.x != 0
    assert torch.equal(unpadded.sort(dim=1).values, unpadded)  # padding in front only
    honest = imdb(REAL)
    # 24,904 distinct texts, of which 123 are in the test part too
    assert len(honest.train) + len(honest.validation) == 24_904 - 123
    assert len(honest.test) == 25_000


def test_validation_takes_whole_blocks_of_neighbours_from_both_classes(tmp_path):
    """400 reviews a class: 50 blocks of 8, five of them held back."""
    folder = tmp_path / "imdb"
    folder.mkdir()
    ids = [number for number in range(400) for _ in range(2)]
    table = pl.DataFrame({"id": ids, "label": [1, 0] * 400, "text": [f"word{k % 7} text{k}" for k in range(800)]})
    table = table.cast({"id": pl.Int32, "label": pl.Int8})
    table.write_parquet(folder / "train.parquet")
    table.with_columns(text=pl.lit("other ") + pl.col("text")).write_parquet(folder / "test.parquet")
    split = imdb(tmp_path)
    held = split.validation.ids.numpy()
    for label in (0, 1):
        mine = held[split.validation.y.numpy() == label]
        numbers, counts = np.unique(mine // 2 // 8, return_counts=True)
        assert len(numbers) == 5
        assert counts.tolist() == [8] * 5
    other = imdb(tmp_path, seed=1).validation.ids
    assert not torch.equal(split.validation.ids, other)
