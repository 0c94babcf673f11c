"""Files and folders that are written completely or not at all, and read with limits on their size."""

from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.folders import FallbackWarning
from liquidtime.files.locks import FolderInUse
from liquidtime.files.whole_files import SaveFailed

__all__ = ["DamagedFolder", "FallbackWarning", "FolderInUse", "SaveFailed"]
