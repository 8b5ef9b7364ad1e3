import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

from polyfold._files import digest, fingerprint, portable, replacing, write_file


@pytest.mark.parametrize("fails", [False, True])
def test_a_folder_takes_the_place_of_another_when_it_is_whole(tmp_path, fails):
    path = tmp_path / "store.zarr"
    path.mkdir()
    (path / "old").touch()
    try:
        with replacing(path) as temporary:
            temporary.mkdir()
            (temporary / "new").touch()
            if fails:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert fails
    assert [inside.name for inside in path.iterdir()] == ["old" if fails else "new"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "new" / "state"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace"])
def test_an_interrupted_write_leaves_the_old_file_alone(tmp_path, monkeypatch, failing):
    path = tmp_path / "state"
    write_file(path, b"one")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(failing, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"two")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_links_stay_and_lead_to_the_new_file(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    link, dangling, chain = (tmp_path / name for name in ("link", "dangling", "chain"))
    (folder / "old").write_bytes(b"one")
    link.symlink_to(folder / "old")
    chain.symlink_to("link")
    dangling.symlink_to(folder / "new")
    write_file(chain, b"two")
    write_file(dangling, b"three")
    assert all(path.is_symlink() for path in (link, chain, dangling))
    assert [(folder / name).read_bytes() for name in ("old", "new")] == [b"two", b"three"]
    assert len(list(folder.iterdir())) == 2


def test_an_interrupted_write_leaves_the_file_behind_a_link_alone(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"one")
    monkeypatch.setattr("os.fsync", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_file(tmp_path / "link", b"two")
    assert (tmp_path / "file").read_bytes() == b"one"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_pipes_and_devices_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, [b"one", memoryview(b"two")])
    reader.join()
    assert read == [b"onetwo"]
    assert pipe.is_fifo()
    (tmp_path / "nothing").symlink_to(os.devnull)
    write_file(tmp_path / "nothing", b"three")
    assert Path(os.devnull).is_char_device()
    assert len(list(tmp_path.iterdir())) == 2


def test_names_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("m" * 246 + ".polyfold")
    write_file(path, b"one")
    assert path.read_bytes() == b"one"


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "file"
    path.touch(0o600)
    write_file(path, b"one")
    assert path.stat().st_mode & 0o777 == 0o600


def test_digests_differ_with_every_byte():
    content = bytes(range(256))
    flipped = {digest(content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :]) for i in range(256)}
    assert len(flipped | {digest(content)}) == 257


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_equal_arrays_have_one_fingerprint_in_any_layout(rng, dtype):
    X = rng.uniform(0, 100, (5000, 3)).astype(dtype)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    assert fingerprint(X) == fingerprint(np.asfortranarray(X)) == fingerprint(strided)


def test_equal_sparse_matrices_have_one_fingerprint(rng):
    X = sp.random(50, 20, density=0.2, format="csr", rng=rng)
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert fingerprint(X) == fingerprint(wide) == fingerprint(sp.coo_array(X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_other_content_shape_or_type_has_another_fingerprint(form):
    X = np.arange(1.0, 13).reshape(3, 4)
    changed = X.copy()
    changed[2, 3] += 1e-15 * 12
    others = [changed, X.reshape(4, 3), X.astype(np.float32), X[::-1]]
    assert len({fingerprint(form(other)) for other in [X, *others]}) == 5
    assert fingerprint(X) != fingerprint(sp.csr_array(X))


@pytest.mark.parametrize("X", [np.zeros((0, 3)), np.array(3.0), np.array(["a", None], dtype=object)])
def test_unusual_arrays_have_a_fingerprint(X):
    assert fingerprint(X) == fingerprint(X.copy())


def test_numbers_of_numpy_are_plain_numbers():
    settings = {"a": np.int64(3), "b": [np.float64(0.5), np.bool_(True)], "c": ("x", None)}
    assert portable(settings) == {"a": 3, "b": [0.5, True], "c": ["x", None]}


def test_objects_are_known_by_class_and_parameters():
    assert portable(KNeighborsTransformer(n_neighbors=np.int64(7)))["n_neighbors"] == 7
    assert fingerprint(KNeighborsTransformer(n_neighbors=3)) != fingerprint(KNeighborsTransformer(n_neighbors=4))


def test_functions_have_the_same_name_in_every_process():
    code = "from functools import partial; from polyfold._files import portable; print(portable([print, partial(len)]))"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert seen.strip() == str(portable([print, partial(len)]))


def closing_over(number):
    return lambda: number


def test_functions_are_known_by_their_code_and_what_they_close_over():
    assert fingerprint(closing_over(1)) == fingerprint(closing_over(1))
    assert fingerprint(closing_over(1)) != fingerprint(closing_over(2))
    assert fingerprint(lambda x: x + 1) != fingerprint(lambda x: x + 2)
    assert fingerprint(lambda x: x.sin()) != fingerprint(lambda x: x.cos())


def test_a_folder_stays_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    folder = tmp_path / "z.zarr"
    folder.mkdir()
    (folder / "before").write_text("kept")

    def fail_for_new(self, target, move=Path.replace):
        if ".part" in self.name and self.suffix == ".zarr":
            raise KeyboardInterrupt
        return move(self, target)

    monkeypatch.setattr(Path, "replace", fail_for_new)
    with pytest.raises(KeyboardInterrupt), replacing(folder) as temporary:
        temporary.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["z.zarr"]
    assert (folder / "before").read_text() == "kept"
