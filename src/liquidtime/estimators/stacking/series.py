"""Series as a stack reads them: encoded for the networks, and as tables of features, each made once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.network.inputs import Prepared

Table = npt.NDArray[np.floating[Any]]


class StackedSeries:
    """S series before the parts of one stack; its methods take it in place of the series themselves.

    Args:
        encoded: for the networks.
        features: fitted transformers by the name of their table.
    """

    def __init__(self, encoded: EncodedSeries, features: Mapping[str, Any]) -> None:
        self.encoded, self.features = encoded, features
        self._tables: dict[str, Table] = {}

    @property
    def data(self) -> SeriesSet:
        """The series themselves."""
        return self.encoded.data

    @property
    def encoders(self) -> Any:
        """Those of the networks."""
        encoders: list[SeriesEncoder] = self.encoded.encoders  # type: ignore[assignment]
        return encoders

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitem__(self, rows: Any) -> StackedSeries:
        chosen = np.asarray(rows, dtype=np.int64)
        part = StackedSeries(self.encoded[chosen], self.features)
        part._tables = {name: table[chosen] for name, table in self._tables.items()}
        return part

    def prepared(self, position: int = 0, *, every_step: bool = False) -> Prepared:
        """Return the series as a network takes them; as `EncodedSeries.prepared`."""
        return self.encoded.prepared(position, every_step=every_step)

    def table(self, name: str) -> Table:
        """Return (S, p) the features of one table."""
        if name not in self._tables:
            self._tables[name] = self.features[name].transform(self.data)
        return self._tables[name]
