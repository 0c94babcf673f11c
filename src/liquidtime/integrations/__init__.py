"""Connections to other projects, each in a separate module that needs the package of that project.

liquidtime.integrations.aeon          estimators of aeon               pip install 'liquidtime[aeon]'
liquidtime.integrations.sktime        estimators of sktime             pip install 'liquidtime[sktime]'
"""

__all__: list[str] = []
