"""Series whose samples arrive one at a time."""
