"""The two pages of the service, each of which is a single file without external resources."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources


def page(name: str) -> tuple[bytes, str, dict[str, str]]:
    """Return a page, its type, and headers that let it load its own script and style and nothing else."""
    text = resources.files("liquidtime.serving").joinpath(name).read_text(encoding="utf-8")
    rules = ["default-src 'none'", "connect-src 'self'", "img-src data:", "base-uri 'none'", "frame-ancestors 'none'"]
    for tag in ("script", "style"):
        (inner,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        rules.append(f"{tag}-src 'sha256-{digest}'")
    headers = {"content-security-policy": "; ".join(rules), "referrer-policy": "no-referrer"}
    return text.encode(), "text/html", headers
