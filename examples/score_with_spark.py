"""Predict measurements with Spark: all rows of a series come to one task, which predicts them as one frame.

    spark-submit --master spark://head:7077 examples/score_with_spark.py MODEL measurements/ predictions/ --id patient

`mapInPandas` hands a task its rows some at a time, in any order; they are put together before they are predicted, since
a series must be whole. Model and files lie where all workers see them. Needs `pyspark`, pandas and pyarrow.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import liquidtime as lt


def main(model: str, shards: str, out: str, id: str, tasks: int = 200) -> None:
    model = str(Path(model).absolute())
    spark = SparkSession.builder.getOrCreate()
    measurements = spark.read.parquet(shards).repartition(tasks, id)  # a series is in one task

    def predict(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        frames = list(parts)
        if frames:
            yield lt.predict_frame(pd.concat(frames), model)

    columns = lt.predict_frame(measurements.limit(0).toArrow(), model)  # names and types, without rows
    measurements.mapInPandas(predict, from_arrow_schema(columns.schema)).write.mode("overwrite").parquet(out)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "shards", "out"):
        parser.add_argument(name)
    parser.add_argument("--id", required=True, help="column of ids")
    parser.add_argument("--tasks", type=int, default=200)
    main(**vars(parser.parse_args()))
