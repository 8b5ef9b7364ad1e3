"""Numbers, chosen by evidence, that change results of networks, axes, clusters, searches and ensembles.

Each constant has its reason and its evidence. Other constants of these packages are sizes of blocks and samples, counts
of steps and tolerances; `tests/test_policy.py` lists them.
"""

# Centres of the last layer per class: fewer would not be stronger than guessing [Zhang2016, sec. 5.3.1].
CENTERS_PER_CLASS = 1.5

# Fraction of the clusterings below that a clustering sees, in every layer above the first [Zhang2016, sec. 5.3].
CODE_FRACTION = 0.5

# Fractions of the features that "auto" compares; 0.5 is the paper's. 20 labelled sets, mean NMI of the sets of choice
# and held-out: 75.8 and 77.2 with the selected fraction, 74.2 and 77.6 with 0.5.
FEATURE_FRACTIONS = (0.2, 0.5, 0.8)

# Differences of stability (adjusted Rand index) between layers that count as equal. 20 labelled sets, mean NMI of the
# sets of choice and held-out: 75.8 and 77.2 with 0.05, 74.6 and 77.0 with 0.1, 75.4 and 76.6 with 0.
SAME_STABILITY = 0.05

# Clusterings of a replicate. Each clustering above sees half of them: enough for the centres of a sample, not for
# 10,000 (20,000 MNIST images, three seeds: NMI 84.0 with two replicates of 100, 86.6 with one network of 200).
REPLICATE_CLUSTERINGS = 100

# Most replicates of a network: 400 clusterings in total, the paper's number. Fractions of features are compared by as
# many parts, in pairs: 8 tables, six seeds, mean NMI 71.5 with four (standard deviation 5.5), 69.5 with two (8.5).
# Layers of a sample, too: 20,000 MNIST images, three seeds, NMI 87.0 with four, 85.1 with two.
MAX_REPLICATES = 4

# Reliability of the similarity at which no replicate is added: the usual threshold of Spearman and Brown's formula.
RELIABLE = 0.95

# Rows on which layers and fractions are compared, and rows per cluster if there are many clusters: two trees of 500
# rows take a tenth of a second.
STABILITY_ROWS, ROWS_PER_CLUSTER = 500, 20

# Pairs of a row and a centre, or of two rows, up to which a search compares all of them: seconds on two cores.
EXACT_PAIRS = 5e7

# Centres compared per row beyond that: 0.3 % of the assignments of 20,000 MNIST images then differ from exact search.
CANDIDATES = 20

# Principal directions in which candidates are searched: 0.90 of the true neighbours of MNIST images are found with 96.
# Rows with no more columns are searched exactly: there, candidates cost 8 NMI (segment, 19 columns) and gain little
# time. Ten sets of 240 to 1,024 columns, two seeds: mean NMI 76.4 exactly, 76.5 by candidates in half the CPU time.
CANDIDATE_DIRECTIONS = 96

# Rows up to which the neighbour graphs of kernels are exact; beyond, exact search dominates the time of a fit.
EXACT_ROWS = 20_000

# Links per row of FAISS's HNSW graphs, and the fewest candidates while building and searching them. They find 0.993 of
# the neighbours of 20,000 MNIST images. With 32 links, FAISS's default, 2 to 8 % of duplicate rows were not found.
HNSW_LINKS, HNSW_EFFORT = 16, 48

# Candidates per neighbour of graphs, if that is more, and of scans that choose the modules for a wanted recall. 20,000
# MNIST images in 15 modules, recall 0.95: four modules with 2.8 candidates per neighbour have a recall of 0.96.
CANDIDATES_PER_NEIGHBOR = 3

# Fraction of nonzero entries below which rows without negative entries count as text and are compared by the cosine.
TEXT_DENSITY = 0.05

# Neighbours by shared codes, if no number is given: umap-learn's default.
N_NEIGHBORS = 15

# Clusters at the bottom of a tree, beyond the requested number of clusters: fewer mix groups, more cost time.
SMALL_CLUSTERS = 500

# Leading coordinates in which c clusters are looked for, as a multiple of c: one of them may be about something else.
# 20,000 MNIST images, one network: NMI 83 with 1, 87 with 1.1. Two keep two: with three, breast cancer loses 24.
COORDINATES_PER_CLUSTER = 1.1

# Coordinates in which clusters are looked for if their number is not given. Banking77, eigenmaps, cut at 77 clusters:
# ARI 53 with 64 or 77 coordinates, 47 with 96.
TREE_COORDINATES = 64

# Bandwidth factors of non-redundant coordinates that "auto" compares: the range of the paper, and infinity for the
# coordinate that is only uncorrelated with the earlier ones. The widest one within a standard error is taken. Shapes of
# 1,000 points, lowest R²: without infinity a slab of four dimensions falls from 0.93 to 0.82; without 0.12 a horseshoe
# by eigenmaps from 0.89 to 0.27.
BANDWIDTHS = (float("inf"), 0.6, 0.35, 0.2, 0.12)

# Standard errors by which the unexplained fraction must fall for non-redundant coordinates to be rotated. Faces, one
# axis each for tilt and light: rank correlations of 0.68 and 0.71 without rotation, 0.90 and 0.79 with it. Four sets of
# rendered images and five shapes: no loss with 3. With 1, tilt and light fall from 0.96, 0.72 to 0.86, 0.60 on one set.
# Its cost: the first three of nine coordinates of MNIST images have errors of 18 and 20 %, without it 12 and 17 %.
SIGNIFICANT = 3

# Fraction of another kernel's unexplained variance below which a kernel replaces it. On MNIST images Isomap leaves 4 %
# less than eigenmaps with five coordinates and classifies worse; on shapes the better kernel leaves 35 to 80 % less.
# With 0.8, kernels of nearly equal scores take turns from sample to sample, and the axes with them.
CLEARLY_LOWER = 2 / 3

# Rows on which layers, kernels, bandwidths and numbers of coordinates are selected. Beyond 2,000, because the smoother
# is cheaper then (its factor is truncated): 11 coordinates of 15,000 images take twice the time of plain eigenmaps.
SEARCH_ROWS = 2500
