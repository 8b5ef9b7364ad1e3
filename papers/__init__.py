"""The tables and figures of the four papers, run with polyfold and compared with the printed numbers.

``python -m papers list`` names them, ``python -m papers mbm-table2 --fast`` runs one. This folder belongs to the
repository and is not installed with the package.
"""
