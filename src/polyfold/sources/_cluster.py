"""The cluster that Dask uses here, if there is one, and what is said when it is gone."""

import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client


def current_client() -> "Client | None":
    """Return the client of the cluster that Dask uses here; None where Dask works in this process."""
    distributed = sys.modules.get("distributed")  # where nobody has loaded it there is no cluster
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:  # its way to say that there is none
        return None


@contextmanager
def answering(client: "Client | None") -> Iterator[None]:
    """Say in one sentence that a cluster is gone, where it is; None is none."""
    if client is None:
        yield
        return
    try:
        if client.status != "running":
            raise ConnectionError(f"its client is {client.status}")
        yield
    except (CancelledError, ConnectionError) as error:
        raise ConnectionError(
            f"the Dask scheduler at {client.scheduler.address if client.scheduler else 'its address'} must answer "
            f"until the work is done, got none ({error}); connect a distributed.Client to a cluster that runs, and "
            "start again."
        ) from error
