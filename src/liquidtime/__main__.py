"""`python -m liquidtime` is the command `liquidtime`."""

from liquidtime.cli import main

main()
