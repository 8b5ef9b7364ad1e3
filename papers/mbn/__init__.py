"""Tables and figures of [Zhang2016], *Multilayer Bootstrap Networks*.

`digits`, `sets`, `text`, `sweeps` and `taught` define the experiments. Deviations: (1) nearest centres of the first
layer are exact up to 5·10⁷ pairs of a point and a centre, above that among 20 candidates of a neighbour graph; (2)
the output is centred principal components, exact or randomised, where the paper takes EM-PCA; (3) k-means starts at
random points: its mean over 50 runs then is what the paper prints, while careful starts give 2 to 5 points more; (4)
sets, subsets and numbers of runs are those that every setting states.
"""

from papers.registry import Paper

PAPER = Paper(
    "mbn",
    "Zhang2016",
    "Multilayer Bootstrap Networks",
    "RCV1, TDT2, COIL-100 and Lung-Cancer are not available: Reuters-21578 and 20 Newsgroups replace RCV1, "
    "claims on the others cannot be tested. COIL-20 is 32×32 here (64×64 in the paper), UMIST was resized to 32×32 at "
    "the source, USPS is 16×16 (1,024 dimensions in the paper), so their numbers are those of another rendering. "
    "Figures that sweep a parameter take a stated sample of MNIST instead of its 60,000 training images.",
)
