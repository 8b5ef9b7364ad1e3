"""The catalogue of data sets: file name, checksum, image shape and openml.org identifier."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One data set of the folder.

    `arrays` lists what the file must hold, `openml` is the identifier of the same data on openml.org (None
    where only a different rendering exists there), `n_train` the size of the published training part.
    """

    file: str
    title: str
    sha256: str | None = None
    arrays: str = "X, y"
    image_shape: tuple[int, int] | None = None
    openml: int | None = None
    n_train: int | None = None

    @property
    def names(self) -> set[str]:
        """Arrays that a file must have: those of `arrays` except the published split."""
        return {name.strip() for name in re.sub(r"\([^)]*\)", "", self.arrays).split(",")} - {"n_train"}


_SPARSE = "data, indices, indptr, shape, y, vocab, test, class_names"

CATALOGUE: dict[str, Entry] = {
    "mnist": Entry(
        "mnist.npz",
        "MNIST, 70,000 handwritten digits of 28×28 pixels, 60,000 for training",
        "804848014aa321f92156d7d48ea5d77db532755ee7c661d826a8384028fbb107",
        "X (70000×784, uint8), y, n_train",
        (28, 28),
        openml=554,
        n_train=60_000,
    ),
    "fashion_mnist": Entry(
        "fashion_mnist.npz",
        "Fashion-MNIST, 70,000 images of clothing of 28×28 pixels, 60,000 for training",
        None,
        "X (70000×784, uint8), y, n_train",
        (28, 28),
        openml=40996,
        n_train=60_000,
    ),
    "rectangles": Entry(
        "rectangles.npz",
        "Rectangles of [Larochelle2007], 51,200 outlines, tall or wide, 1,200 for training",
        "40036e3534d1ac0fa82f71df4f3a7ae9dacf88e8c5814dc9a4c0f5b399d536d6",
        "X (51200×784, uint8, 0 or 255), y, n_train",
        (28, 28),
    ),
    "usps": Entry(
        "usps_11000.npz",
        "USPS, 1,100 of each handwritten digit, 16×16 pixels",
        "a254d3289e4a7a7ee47c8a30e82ad4c203e3c8d9fdee08b28d4efb03f52e099b",
        "X (11000×256, uint8), y",
        (16, 16),
    ),
    "coil20": Entry(
        "coil20_32.npz",
        "COIL-20, 20 objects from 72 angles each, 32×32 pixels",
        "1fddd85143cca0a5c840d39facdc4d216c68786ffceb65ec98a53d0ba133d29d",
        "X (1440×1024, uint8), y",
        (32, 32),
    ),
    "orl": Entry(
        "orl_32.npz",
        "ORL, 10 faces of each of 40 people, 32×32 pixels",
        "72548db347b616d9eff5b22c22abd4a98c0c7a67ee772c6eb864461892b69175",
        "X (400×1024, uint8), y",
        (32, 32),
    ),
    "umist": Entry(
        "umist_32.npz",
        "UMIST, 575 faces of 20 people turning their heads, resized to 32×32 pixels",
        "a2dd6be11e3efa9bfae1d3317f5b7afab8eab20ed92ef2dbb0a0c5122ee3e07b",
        "X (575×1024, uint8), y",
        (32, 32),
    ),
    "yaleb": Entry(
        "yaleb_32.npz",
        "Extended Yale B, 2,414 faces of 38 people under varying light, 32×32 pixels",
        "78185f55ce58432b995f563c713f690dbe14e26ab9c81705c71c6331bc346fd7",
        "X (2414×1024, uint8), y",
        (32, 32),
    ),
    "isolet1": Entry(
        "isolet1.npz",
        "ISOLET part 1, 617 acoustic features of 26 spoken letters, 30 speakers",
        "64e75da0462d60b26d2033bd23312d00a76d5c40498bb55e811c89c9ba1b8efd",
        "X (1560×617), y",
        openml=300,
    ),
    "new_thyroid": Entry(
        "new_thyroid.npz",
        "New thyroid (UCI), 5 laboratory tests of 215 patients, 3 classes, unscaled",
        "119d42e4f8fffa963ca46ccc38e6881e1459861600bc50b42c4380b429e9dfa6",
        "X (215×5), y",
        openml=40682,
    ),
    "dermatology": Entry(
        "dermatology.npz",
        "Dermatology (UCI), 34 findings of 366 patients, 6 diseases, unscaled; 8 missing ages are NaN",
        "5fc269eea6c8a9041f921f69bd7f31d0206cb6a8243fee90a2a069d28da0ffc3",
        "X (366×34), y",
        openml=35,
    ),
    "20newsgroups": Entry(
        "20newsgroups_counts_csr.npz",
        "20 newsgroups, term counts of 18,846 posts (by date, bodies only)",
        "7cd8242df5a30c408931d654b65780c49e558108731676ecaf2e326bd8f9c370",
        _SPARSE,
    ),
    "reuters": Entry(
        "reuters21578_counts_csr.npz",
        "Reuters-21578, term counts of the 9,100 articles in the 52 single-label topics",
        "c67445e89870daac5cbe5876b1771f6284c3f5f234321922d8e3c43ba9e88e22",
        _SPARSE,
    ),
    "isomap_faces": Entry(
        "isomap_faces_32.npz",
        "Isomap faces, 698 renderings of a head, 32×32 pixels; target: light, pan and tilt, standardised",
        "5ced8c8c7f899e950f8aef004a8df6d6f35bc3d029108786e6eecb211d286ddf",
        "X (698×1024), light_pan_tilt (698×3)",
        (32, 32),
    ),
}
