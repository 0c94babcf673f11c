"""A model folder with a manifest that fits, whatever its files hold."""

import hashlib
import json


def sign(folder):
    """Write the manifest anew, as one who forges a folder would."""
    listed = {}
    for file in sorted(folder.iterdir()):
        if file.name != "manifest.json":
            content = file.read_bytes()
            listed[file.name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps({"files": listed}, indent=1, sort_keys=True) + "\n")
