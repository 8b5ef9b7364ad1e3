"""What [Reeve2018] prints, and the sets and methods it prints it for."""

from papers.images import BACKGROUND, CONVEX, MNIST, RANDOM, RECTANGLES, ROTATIONS, SCORES

UNAVAILABLE = ("NUS Wide", "NVDR")
NOT_HAD = "the images are not available"
ROWS = {CONVEX: 8000, RECTANGLES: 1200}  # of training; 12,000 for the others
PRECISION, ACCURACY = SCORES
RIVALS: tuple[str, ...] = ("Partition", "Bootstrap", "Random")
METHODS: tuple[str, ...] = (*RIVALS, "MBM", "Monolithic")
# Tables 2 and 3, in the order of METHODS.
PRINTED = {
    PRECISION: {
        "NUS Wide": (29.8, 27.5, 46.1, 53.4, 56.8),
        "NVDR": (68.0, 48.1, 73.4, 77.6, 79.0),
        MNIST: (67.7, 55.4, 71.5, 76.6, 78.6),
        BACKGROUND: (30.5, 26.8, 42.4, 45.0, 47.2),
        RANDOM: (7.0, 10.9, 6.1, 17.2, 23.1),
        ROTATIONS: (59.6, 54.3, 68.4, 75.3, 76.5),
        CONVEX: (74.1, 57.8, 75.2, 79.7, 80.3),
        RECTANGLES: (63.3, 44.6, 46.7, 71.6, 70.1),
    },
    ACCURACY: {
        "NUS Wide": (32.2, 37.7, 42.0, 43.7, 40.6),
        "NVDR": (44.9, 39.6, 43.9, 44.8, 40.8),
        MNIST: (89.2, 95.0, 94.5, 95.8, 95.7),
        BACKGROUND: (41.0, 47.3, 53.8, 57.3, 52.5),
        RANDOM: (40.9, 89.5, 53.1, 90.3, 83.9),
        ROTATIONS: (72.0, 85.5, 83.8, 87.4, 86.3),
        CONVEX: (55.7, 65.5, 60.3, 65.6, 57.6),
        RECTANGLES: (93.0, 95.5, 93.9, 98.1, 95.8),
    },
}
# Table 3: MBM minus Monolithic; the sign of the last accuracy is as printed, against Table 2.
PRINTED_DIFFERENCE = {
    PRECISION: dict(zip(PRINTED[PRECISION], (-3.4, -1.4, -1.9, -2.2, -5.9, -1.2, -0.6, 1.5), strict=True)),
    ACCURACY: dict(zip(PRINTED[ACCURACY], (3.1, 3.9, 0.1, 4.9, 6.4, 1.0, 8.0, -2.3), strict=True)),
}
# Table 3: how many times faster the answers of MBM are, and the λ of its validation images.
PRINTED_SPEED = {
    "NUS Wide": (10.8, 11.7),
    "NVDR": (7.7, 12.6),
    MNIST: (9.1, 12.9),
    BACKGROUND: (5.8, 8.1),
    RANDOM: (5.7, 7.1),
    ROTATIONS: (7.9, 10.9),
    CONVEX: (7.2, 23.0),
    RECTANGLES: (2.4, 10.7),
}
PRINTED_DIVERSITY = {
    "NUS Wide": (0.999, 0.990),
    "NVDR": (0.999, 0.999),
    MNIST: (0.990, 0.900),
    BACKGROUND: (0.999, 0.999),
    RANDOM: (0.950, 0.500),
    ROTATIONS: (0.990, 0.800),
    CONVEX: (0.999, 0.200),
    RECTANGLES: (0.990, 0.990),
}
# Table 1: SGD, Adam, MBM: the lowest loss, and the seconds until it was within 1 % of it.
PRINTED_LOSS = {
    CONVEX: (110.0, 13.4, 13.3),
    MNIST: (427.6, 59.9, 59.9),
    "NUS Wide": (598.6, 73.1, 73.1),
    "NVDR": (110.0, 10.7, 10.6),
    RECTANGLES: (29.4, 10.3, 10.3),
}
PRINTED_SECONDS = {
    CONVEX: (3369.8, 963.9, 334.7),
    MNIST: (3484.7, 1609.1, 400.6),
    "NUS Wide": (3376.3, 1495.1, 422.7),
    "NVDR": (1891.3, 1157.2, 402.4),
    RECTANGLES: (1796.1, 746.9, 256.2),
}
SOLVERS = {"SGD": "sgd", "Adam": "adam", "MBM": "mbm"}
