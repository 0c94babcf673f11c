"""Where other projects meet this one, each in a module of its own that needs its package.

liquidtime.integrations.aeon          estimators of aeon               pip install 'liquidtime[aeon]'
liquidtime.integrations.sktime        estimators of sktime             pip install 'liquidtime[sktime]'
"""

__all__: list[str] = []
