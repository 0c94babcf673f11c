"""Not a namespace, so that it is found before the package `distributed` of Dask."""
