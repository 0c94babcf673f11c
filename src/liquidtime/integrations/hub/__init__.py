"""Models on the Hugging Face hub."""

try:
    import huggingface_hub as _huggingface_hub  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}; publishing models needs it: pip install 'liquidtime[hub]'") from None

from liquidtime.integrations.hub.hub_model import HubModel

__all__ = ["HubModel"]
