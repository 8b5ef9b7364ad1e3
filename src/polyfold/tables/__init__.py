"""Tables in files (extra ``cli``): what their columns hold, and their rows in blocks. Private."""

from polyfold.tables._column_kinds import CATEGORIES as CATEGORIES
from polyfold.tables._column_kinds import CODE as CODE
from polyfold.tables._column_kinds import DATE as DATE
from polyfold.tables._column_kinds import MAX_CATEGORIES as MAX_CATEGORIES
from polyfold.tables._column_kinds import MAX_WORDS as MAX_WORDS
from polyfold.tables._column_kinds import NUMBER as NUMBER
from polyfold.tables._column_kinds import PARTS_OF_DATES as PARTS_OF_DATES
from polyfold.tables._column_kinds import TEXT as TEXT
from polyfold.tables._column_kinds import TEXT_COMPONENTS as TEXT_COMPONENTS
from polyfold.tables._column_kinds import USES as USES
from polyfold.tables._column_kinds import Plan as Plan
from polyfold.tables._readers import Csv as Csv
from polyfold.tables._readers import Parquet as Parquet
from polyfold.tables._readers import parquet_files as parquet_files
from polyfold.tables._table_data import TableData as TableData
