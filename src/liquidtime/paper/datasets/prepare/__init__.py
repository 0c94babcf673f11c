"""Prepare the files of each data set from the original ones, one module per set."""
