"""What the benchmarks of the service share."""
