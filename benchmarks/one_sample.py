"""How long does one sample take?

    python benchmarks/one_sample.py [--repeats 15] [--threads 1,2] [--out FOLDER] …

The same as `liquidtime bench --case step`, with its options.
"""

import sys

from liquidtime.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench", "--case", "step"]
    main()
