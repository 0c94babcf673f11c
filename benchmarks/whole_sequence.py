"""How long does a whole sequence take without gradients?

    python benchmarks/whole_sequence.py [--repeats 15] [--threads 1,2] [--out FOLDER] …

The same as `liquidtime bench --case sequence`, with its options.
"""

import sys

from liquidtime.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench", "--case", "sequence"]
    main()
