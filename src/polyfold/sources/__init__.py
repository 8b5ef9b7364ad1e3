"""Rows in any container: arrays, files, streams of blocks and clusters, read block by block."""

from polyfold.sources._budget import budget as budget
from polyfold.sources._budget import memory_budget
from polyfold.sources._dask import answering as answering
from polyfold.sources._dask import current_client as current_client
from polyfold.sources._dask import merge_tree as merge_tree
from polyfold.sources._methods import by_blocks as by_blocks
from polyfold.sources._methods import method_rows as method_rows
from polyfold.sources._methods import write_rows
from polyfold.sources._opening import as_source
from polyfold.sources._opening import check_stream as check_stream
from polyfold.sources._opening import in_memory as in_memory
from polyfold.sources._opening import is_stream as is_stream
from polyfold.sources._opening import trusted as trusted
from polyfold.sources._picking import all_or_some as all_or_some
from polyfold.sources._picking import pick_rows as pick_rows
from polyfold.sources._picking import rows_to_fit as rows_to_fit
from polyfold.sources._picking import transform_rest as transform_rest
from polyfold.sources._source import Source
from polyfold.sources._source import add_up as add_up
from polyfold.sources._source import as_block as as_block
from polyfold.sources._source import check_block as check_block
from polyfold.sources._source import stack_rows as stack_rows
from polyfold.sources._source import with_names as with_names
from polyfold.sources._survey import Survey as Survey
from polyfold.sources._survey import survey as survey

# The other names are for the package itself.
__all__ = ["Source", "as_source", "memory_budget", "write_rows"]
