"""What the server of `processes` imports before it forks: what is slow to import and not the package itself."""

import importlib

SLOW = (
    "torch", "torch.nn.parallel", "sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection", "scipy.stats",
    "polars", "narwhals", "safetensors.torch", "typer", "rich.console", "rich.progress", "rich.table",
)  # fmt: skip

for name in SLOW:
    importlib.import_module(name)
importlib.import_module("torch").set_num_threads(1)
