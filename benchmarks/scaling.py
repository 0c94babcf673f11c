"""How does the cost grow with length, width and batch: the paper's two complexity tables, measured?

    python benchmarks/scaling.py [--repeats 15] [--threads 1,2] [--out FOLDER] …

The same as `liquidtime bench --case scaling`, with its options.
"""

import sys

from liquidtime.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench", "--case", "scaling"]
    main()
