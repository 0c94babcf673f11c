"""How much memory does training on one long series take?

    python benchmarks/memory.py [--repeats 15] [--threads 1,2] [--out FOLDER] …

The same as `liquidtime bench --case memory`, with its options.
"""

import sys

from liquidtime.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench", "--case", "memory"]
    main()
