"""Make the bundled sample of the PhysioNet/Computing in Cardiology Challenge 2012 from its set a.

    python tools/make_physionet_sample.py DATA_DIR

DATA_DIR holds `records-a.parquet` (record_id, minutes, parameter, value) and `outcomes.parquet` (set, record_id,
in_hospital_death, …). The same input gives the same stays: as many of each outcome, in proportion, as make `--stays`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

OUT = Path(__file__).parents[1] / "src" / "liquidtime" / "datasets" / "physionet2012_sample"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--stays", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=2012)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()

    outcomes = pl.read_parquet(args.data_dir / "outcomes.parquet").filter(pl.col("set") == "a").sort("record_id")
    ids, died = outcomes["record_id"].to_numpy(), outcomes["in_hospital_death"].to_numpy()
    rng = np.random.default_rng(args.seed)
    chosen = []
    for outcome in (0, 1):
        stays = ids[died == outcome]
        chosen.append(rng.choice(stays, round(args.stays * len(stays) / len(ids)), replace=False))
    kept = pl.Series(np.sort(np.concatenate(chosen))).implode()

    records = pl.read_parquet(args.data_dir / "records-a.parquet").filter(pl.col("record_id").is_in(kept))
    records = records.select(
        pl.col("record_id").cast(pl.Int32),
        pl.col("minutes").cast(pl.Int16),
        pl.col("parameter").cast(pl.String).cast(pl.Categorical),
        pl.col("value").cast(pl.Float32),
    )
    labels = outcomes.filter(pl.col("record_id").is_in(kept)).select(
        pl.col("record_id").cast(pl.Int32), pl.col("in_hospital_death").cast(pl.Int8)
    )
    args.out.mkdir(parents=True, exist_ok=True)
    options = {"compression": "zstd", "compression_level": 22, "row_group_size": 10**7, "statistics": False}
    records.write_parquet(args.out / "records.parquet", **options)
    labels.write_parquet(args.out / "outcomes.parquet", **options)
    size = sum((args.out / name).stat().st_size for name in ("records.parquet", "outcomes.parquet"))
    deaths = int(labels["in_hospital_death"].sum())
    print(f"{len(labels):,} stays, {deaths} deaths in hospital, {len(records):,} measurements, {size:,} bytes")


if __name__ == "__main__":
    main()
