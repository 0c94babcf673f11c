"""How long does a training step of every recurrent network take beside a plain loop over its cell?

    python benchmarks/cells.py [--repeats 15] [--threads 1,2] [--out FOLDER] …

The same as `liquidtime bench --case cells`, with its options.
"""

import sys

from liquidtime.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench", "--case", "cells"]
    main()
