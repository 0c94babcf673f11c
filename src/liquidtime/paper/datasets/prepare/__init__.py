"""From each data set's original files to the prepared ones, one file per set."""
