"""Rows wherever they are: arrays, files, streams of blocks and clusters, read block by block."""

from polyfold.sources._budget import budget, memory_budget
from polyfold.sources._checks import as_block, check_block
from polyfold.sources._cluster import answering, current_client
from polyfold.sources._gather import all_or_some
from polyfold.sources._methods import by_blocks, method_rows, write_rows
from polyfold.sources._opening import as_source, check_stream, in_memory, is_stream, trusted
from polyfold.sources._picking import answer_others, pick_rows
from polyfold.sources._source import Source, add_up, stack_rows
from polyfold.sources._survey import Survey, survey

__all__ = [
    "Source",
    "Survey",
    "add_up",
    "all_or_some",
    "answer_others",
    "answering",
    "as_block",
    "as_source",
    "budget",
    "by_blocks",
    "check_block",
    "check_stream",
    "current_client",
    "in_memory",
    "is_stream",
    "memory_budget",
    "method_rows",
    "pick_rows",
    "stack_rows",
    "survey",
    "trusted",
    "write_rows",
]
