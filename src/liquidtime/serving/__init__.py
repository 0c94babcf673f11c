"""A trained model behind HTTP, with live series that survive restarts: `liquidtime serve MODEL`.

No module here imports torch: the model is an exported one and runs in onnxruntime.
"""

from liquidtime.serving.settings import Settings

__all__ = ["Settings"]
