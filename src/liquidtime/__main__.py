"""`python -m liquidtime` and `torchrun -m liquidtime`: the command line."""

from liquidtime.cli import main

if __name__ == "__main__":
    main()
