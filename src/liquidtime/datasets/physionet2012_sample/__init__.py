"""A thousand stays of set a of the PhysioNet/Computing in Cardiology Challenge 2012, bundled under ODC-By 1.0.

Created by `tools/make_physionet_sample.py`; see ATTRIBUTION.md in this folder.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["ATTRIBUTION", "OUTCOMES", "RECORDS", "STATIC"]

_HERE = Path(__file__).parent
RECORDS = _HERE / "records.parquet"
"""One measurement per row: record_id, minutes, parameter, value; -1 means not known."""
OUTCOMES = _HERE / "outcomes.parquet"
"""One stay per row: record_id, in_hospital_death."""
STATIC = ("Age", "Gender", "Height", "ICUType")
"""Parameters that do not change within a stay."""
ATTRIBUTION = (
    "Data: 1,000 stays of PhysioNet/Computing in Cardiology Challenge 2012, set a (ODC-By 1.0). Silva I, Moody G, "
    "Scott DJ, Celi LA, Mark RG. Predicting in-hospital mortality of ICU patients. Comput Cardiol 2012;39:245-248. "
    "Goldberger AL et al. PhysioBank, PhysioToolkit, and PhysioNet. Circulation 2000;101(23):e215-e220."
)
"""The source of the data, for display."""
