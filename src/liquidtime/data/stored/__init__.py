"""Sets of series on disk: a folder of arrays with checksums, which are read in parts."""

from liquidtime.data.stored.opening import is_stored, open_set
from liquidtime.data.stored.stored_set import StoredSet
from liquidtime.data.stored.writing import SetFacts, check_place, write_blocks, write_set

__all__ = ["SetFacts", "StoredSet", "check_place", "is_stored", "open_set", "write_blocks", "write_set"]
