"""How long does a training step take, beside other libraries and beside the machine's matrix products?

    python benchmarks/training.py [--repeats 15] [--threads 1,2] [--out FOLDER] …

The same as `liquidtime bench --case training`, with its options.
"""

import sys

from liquidtime.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench", "--case", "training"]
    main()
