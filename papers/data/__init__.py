"""The data sets of the papers and benchmarks, read from one folder."""

from papers.data._load import load_dataset
from papers.data._store import data_folder

__all__ = ["data_folder", "load_dataset"]
