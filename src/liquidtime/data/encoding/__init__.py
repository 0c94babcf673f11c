"""From series to what a network reads: scaling, bins, history, batches, streams."""
