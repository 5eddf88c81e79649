"""Engines: where the shards of long work run: this process, workers on this machine, a Dask cluster."""
