from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Self

from huggingface_hub import ModelHubMixin, hf_hub_download

from liquidtime.estimators import load
from liquidtime.estimators.faces.series_model import SeriesModel
from liquidtime.estimators.files.model_config import ModelFolderError
from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.sealed import MANIFEST, SealedFolder, check_name, manifest_text
from liquidtime.files.whole_files import write_file
from liquidtime.integrations.hub.layer_folder import is_layer_folder, load_layer, save_layer
from liquidtime.layers import Recurrent

_CARD = "README.md"
_MOST_FILES = 64


class HubModel(ModelHubMixin, library_name="liquidtime", tags=["time-series"]):
    """Any model of this library with the interface of the Hugging Face hub's mixin.

        HubModel(model).push_to_hub("me/my-model")
        model = HubModel.from_pretrained("me/my-model").model

    It writes a model folder, which `lt.load` reads if it contains an estimator. The card may be edited on the hub; all
    other files must remain unchanged.

    Args:
        model: a fitted estimator, or a layer `lt.CfC` or `lt.LTC`.

    Raises:
        TypeError: another type.

    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, SeriesModel | Recurrent):
            raise TypeError(
                f"`model` must be an estimator or a layer of liquidtime; got {type(model).__name__}. For a network of "
                "your own, publish its layers, or use huggingface_hub.PyTorchModelHubMixin."
            )
        self.model = model

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        config: Any = None,
        repo_id: str | None = None,
        push_to_hub: bool = False,
        model_card_kwargs: Any = None,
        **push_to_hub_kwargs: Any,
    ) -> str | None:
        """Write the model folder, completely or not at all; see `Published.save_pretrained`.

        Args:
            save_directory: the folder.
            config: must be None; the folder has its own.
            repo_id: repository to push to; None for the name of the folder.
            push_to_hub: whether to upload it as well.
            model_card_kwargs: must be None; the folder has its own card.
            **push_to_hub_kwargs: arguments of `push_to_hub`.
        """
        if config is not None or model_card_kwargs is not None:
            raise ValueError("`config` and `model_card_kwargs` come from the model; leave them out")
        home = Path(save_directory)
        self._save_pretrained(home)
        if not push_to_hub:
            return None
        address: str = self.push_to_hub(repo_id or home.absolute().name, **push_to_hub_kwargs)
        return address

    def _save_pretrained(self, save_directory: Path) -> None:
        if isinstance(self.model, Recurrent):
            save_layer(self.model, save_directory)
        else:
            self.model.save(save_directory)

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        force_download: bool = False,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
        **model_kwargs: Any,
    ) -> Self:
        """Return a model from a folder or from the hub; see `Published.from_pretrained`.

        Args:
            pretrained_model_name_or_path: the folder, or a name such as "me/my-model".
            force_download: whether to download it again.
            token: token of the account.
            cache_dir: folder for downloads.
            local_files_only: whether to use only earlier downloads, without contacting the hub.
            revision: branch, tag or commit.
            **model_kwargs: must be empty.
        """
        if model_kwargs:
            raise TypeError(f"from_pretrained has no argument `{next(iter(model_kwargs))}`")
        home = Path(pretrained_model_name_or_path)
        how: dict[str, Any] = {"token": token, "cache_dir": cache_dir, "revision": revision}
        how |= {"force_download": force_download, "local_files_only": local_files_only}
        with tempfile.TemporaryDirectory(prefix="liquidtime-hub-") as place:
            copy = Path(place) / "model"
            copy.mkdir()
            if home.is_dir():
                _copy_sealed(lambda name: home / name, copy)
            else:
                _copy_sealed(lambda name: Path(str(hf_hub_download(str(home), name, **how))), copy)
            return cls(load_layer(copy) if is_layer_folder(copy) else load(copy))


def _copy_sealed(find: Any, copy: Path) -> None:
    """Copy the files that a manifest lists, except the card, which may be edited on the hub.

    The hub stores downloads as links, which are not allowed in a model folder; so files are copied, and each is
    compared with the manifest when it is read.

    Args:
        find: function that returns the path of a file by name.
        copy: an empty folder.
    """
    write_file(copy / MANIFEST, find(MANIFEST).resolve().read_bytes())
    try:
        entries = SealedFolder(copy).entries
    except DamagedFolder as error:
        raise ModelFolderError(f"{error}; it is not a model of this library") from error
    if len(entries) > _MOST_FILES:
        raise ModelFolderError(f"{MANIFEST} lists {len(entries)} files; at most {_MOST_FILES} are allowed")
    entries.pop(_CARD, None)
    for name, (size, _) in entries.items():
        check_name(name)
        source = find(name).resolve()
        if not source.is_file() or source.stat().st_size != size:
            raise ModelFolderError(f"{name} is missing, or does not have the size in {MANIFEST}")
        write_file(copy / name, source.read_bytes())
    write_file(copy / MANIFEST, manifest_text(entries).encode())
