"""Methods for the Hugging Face hub, which every model that can be published has."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Self


class Published:
    """A model that can be published on the Hugging Face hub; this needs `pip install 'liquidtime[hub]'` when used.

    model.save_pretrained("folder");   model.push_to_hub("me/my-model")
    model = type(model).from_pretrained("folder" or "me/my-model")
    """

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> str | None:
        """Write the model as a folder for the hub, as JSON and safetensors with a model card; never as a pickle.

        Args:
            save_directory: the folder; an existing folder with a model is replaced and kept as `<name>.previous`.
            **options: options of `huggingface_hub.ModelHubMixin.save_pretrained`, such as `push_to_hub` and `repo_id`.

        Raises:
            FileExistsError: the folder contains other files.

        """
        saved: str | None = _hub().HubModel(self).save_pretrained(save_directory, **options)
        return saved

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Upload the model.

        Args:
            repo_id: such as "me/my-model".
            **options: options of `huggingface_hub.ModelHubMixin.push_to_hub`, such as `private`, `token` and `branch`.
        """
        address: str = _hub().HubModel(self).push_to_hub(repo_id, **options)
        return address

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | Path, **options: Any) -> Self:
        """Return a model from a folder, or from the hub.

        Args:
            pretrained_model_name_or_path: the folder, or a name such as "me/my-model".
            **options: options of `huggingface_hub.ModelHubMixin.from_pretrained`: `revision`, `cache_dir`, `token`,
                `local_files_only`, `force_download`.

        Raises:
            TypeError: the model is of another class.
            ModelFolderError: it is not a model of this library, or it is damaged.

        """
        model = _hub().HubModel.from_pretrained(pretrained_model_name_or_path, **options).model
        if not isinstance(model, cls):
            kind = type(model).__name__
            raise TypeError(
                f"{pretrained_model_name_or_path} is a {kind}, not a {cls.__name__}; call {kind}.from_pretrained"
            )
        return model


def _hub() -> Any:
    """Return the module that needs the hub's package; models must not import it, so it is looked up when called."""
    return importlib.import_module("liquidtime.integrations.hub")
