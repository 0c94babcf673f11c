"""A trained model behind HTTP, whose live series outlive restarts: `liquidtime serve MODEL`.

No module here imports torch: the model is an exported one, run by onnxruntime.
"""

from liquidtime.serving.settings import Settings

__all__ = ["Settings"]
