"""IMDB reviews as word numbers: is the review positive?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from liquidtime._checks import check_rate, check_size
from liquidtime.paper.datasets.files import locate
from liquidtime.paper.datasets.prepare.imdb import ORIGIN
from liquidtime.paper.datasets.sequences import Sequences, Split, check_protocol, draw_validation, rows_of
from liquidtime.times import equidistant

VOCABULARY, LONGEST, VALIDATION = 20_000, 200, 0.1
BLOCKS = 50
"""Number of neighbouring reviews in a block, in each class."""
PADDING, UNKNOWN, FIRST_WORD = 0, 1, 2
WORD = r"[\p{L}\p{N}]+(?:'[\p{L}\p{N}]+)*"


def imdb(
    data_dir: str | Path | None = None,
    *,
    protocol: str = "honest",
    seed: int = 0,
    vocabulary: int = VOCABULARY,
    longest: int = LONGEST,
    validation: float = VALIDATION,
    times: tuple[float, float] | None = None,
) -> Split:
    """Return reviews as sequences of word numbers with their sentiment.

    Of each review, the last `longest` words are used. Number 0 is padding, 1 any other word, and 2… are the most
    frequent words of the training part, `vocabulary` numbers in all. Time does not matter; dt is 1, or as in `times`.

    |            | honest                                                     | published                          |
    |------------|------------------------------------------------------------|------------------------------------|
    | padding    | behind, outside `lengths`                                  | in front, a word like any other    |
    | validation | a share of the training reviews, blocks of neighbours      | none                               |
    | training   | without texts that are also in the test part or come twice | all 25,000                         |

    Reviews of one film are neighbours, and no film of the test part is in training. Validation therefore has whole
    blocks of neighbours; otherwise a network that learns names of films would look better than it is.

    Args:
        data_dir: folder with `imdb/`; see `locate`.
        protocol: "honest" or "published".
        seed: random seed of the validation part.
        vocabulary: number of word numbers, including padding and unknown words.
        longest: T, number of words.
        validation: share of the training reviews that is held out under the honest protocol; 0 for none.
        times: (a, b) for dt that goes from a to b in equal steps over the words of a review (`lt.equidistant`), the
            paper's rule for data without time, which its code does not have; None for 1 at every word.

    Returns:
        x (N, T) int64, y (N,) 0 or 1; ids are numbers of reviews, those of the test part after those of training.

    Raises:
        DataNotFound: the files cannot be found or downloaded.

    """
    check_protocol(protocol)
    check_size("vocabulary", vocabulary, least=FIRST_WORD + 1)
    check_size("longest", longest)
    check_rate("validation", validation)
    folder = locate(ORIGIN, data_dir)
    known, test = (pl.read_parquet(folder / f"{part}.parquet").with_row_index("at") for part in ("train", "test"))
    test = test.with_columns(at=pl.col("at") + len(known))
    front = protocol == "published"
    train, held = known, None
    if not front:
        train = known.unique("text", keep="first", maintain_order=True)
        train = train.filter(~pl.col("text").is_in(test["text"].implode()))
    if not front and validation > 0:
        rows = _held_back(train, validation, seed)
        train, held = train.filter(~rows), train.filter(rows)
    words = most_frequent(split_words(train["text"]), vocabulary - FIRST_WORD)

    def part(table: pl.DataFrame) -> Sequences:
        return _sequences(table, words, longest, front, times)

    return Split(part(train), None if held is None else part(held), part(test))


def _held_back(table: pl.DataFrame, share: float, seed: int) -> pl.Series:
    """Return which reviews are for validation: a share of the blocks of neighbours in each class."""
    place, count = pl.col("id").rank("ordinal").over("label") - 1, pl.len().over("label")
    block = table.select(pl.col("label") * BLOCKS + place.cast(pl.Int64) * BLOCKS // count).to_series()
    units = block.unique().sort().to_numpy()
    _, held = draw_validation(len(units), share, seed, (units // BLOCKS).astype(np.int64))
    return block.is_in(units[held].tolist())


def split_words(texts: pl.Series) -> pl.Series:
    """Return the words of each text, in lower case, without punctuation or line-break marks."""
    return texts.str.replace_all("<br />", " ", literal=True).str.to_lowercase().str.extract_all(WORD)


def most_frequent(texts: pl.Series, count: int) -> list[str]:
    """Return the `count` most frequent words, the most frequent first, ties in alphabetical order."""
    flat = texts.explode().drop_nulls()
    ranked = flat.alias("word").value_counts().sort("count", "word", descending=[True, False])
    return ranked["word"].head(count).to_list()


def _sequences(
    table: pl.DataFrame, words: list[str], longest: int, front: bool, times: tuple[float, float] | None
) -> Sequences:
    texts = split_words(table["text"]).list.tail(longest)
    lengths = texts.list.len().to_numpy().astype(np.int64)
    flat = texts.explode().drop_nulls()
    numbers = flat.replace_strict(words, range(FIRST_WORD, FIRST_WORD + len(words)), default=UNKNOWN)
    k = np.arange(longest)
    inside: npt.NDArray[np.bool_] = k >= longest - lengths[:, None] if front else k < lengths[:, None]
    x = np.full((len(table), longest), PADDING, np.int64)
    x[inside] = numbers.to_numpy()
    if front:
        lengths = np.full_like(lengths, longest)
    dt = (k < lengths[:, None]).astype(np.float32)
    if times is not None:
        for n in np.unique(lengths):
            dt[lengths == n, :n] = equidistant(int(n), *times).numpy()
    whole = Sequences(
        torch.from_numpy(x),
        torch.from_numpy(dt),
        torch.from_numpy(lengths),
        torch.from_numpy(table["label"].to_numpy().astype(np.int64)),
        torch.from_numpy(table["at"].to_numpy().astype(np.int64)),
    )
    return whole.take(rows_of(np.arange(len(table))))
