"""Predictions of trained models for tables: frame to frame, and shard by shard in several processes or on a cluster."""

from liquidtime.scoring.frames import predict_frame
from liquidtime.scoring.shards import ShardedPredictions, predict_shards

__all__ = ["ShardedPredictions", "predict_frame", "predict_shards"]
