"""Little memory, a full disk, folders without write access: a clear error, and no part of a file."""

import os
import resource
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pytest

import polyfold as pf
from polyfold.cli._main import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of processes are those of Linux")
NOBODY = 65534


def in_child(function):
    """Run a function in a forked process, so that limits end with it; return its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = function() or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def other_user():
    """Skip unless the tests can become a user without rights who can read the package."""
    if os.getuid():
        pytest.skip("only root can become another user")

    def can_read():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return 0 if os.access(pf.__file__, os.R_OK) else 1

    if in_child(can_read):
        pytest.skip("the package is in a folder that other users cannot read")


@pytest.fixture
def work():
    """A folder that other users can read, with rows and a model of them; pytest hides its own folders from them."""
    X = np.random.default_rng(0).standard_normal((4000, 20))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        np.save(folder / "x.npy", X)
        pf.save(pf.ModularKernelPCA(2, 10, kernel="linear", random_state=0).fit(X), folder / "m.polyfold")
        yield folder


def commands(work, out):
    """Commands that write an output, by its kind."""
    transform = ["transform", str(work / "m.polyfold"), str(work / "x.npy"), "-o"]
    fit = ["fit", str(work / "x.npy"), "--set", "n_modules=3", "-o"]
    return [[*transform, str(out / "z.npy")], [*transform, str(out / "z.csv")], [*fit, str(out / "m.polyfold")]]


@pytest.mark.parametrize("number", range(3))
def test_a_full_disk_leaves_what_was_there(work, number, capfd):
    disk = work / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        words = commands(work, disk)[number]
        (disk / os.path.basename(words[-1])).write_text("before")
        assert in_child(lambda: run(words)) == 2
        assert [path.name for path in disk.iterdir()] == [os.path.basename(words[-1])]
        assert (disk / os.path.basename(words[-1])).read_text() == "before"
        assert "No space left on device" in capfd.readouterr().err
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("number", range(3))
def test_a_limit_of_the_file_size_leaves_nothing(work, number, capfd):
    out = work / "out"
    out.mkdir()

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        return run(commands(work, out)[number])

    assert in_child(limited) == 2
    assert list(out.iterdir()) == []
    assert "File too large" in capfd.readouterr().err


@pytest.mark.parametrize("number", range(3))
@pytest.mark.usefixtures("other_user")
def test_folders_without_write_access_are_named(work, number, capfd):
    out = work / "out"
    out.mkdir(mode=0o555)
    words = commands(work, out)[number]
    assert run([*words[:-1], str(work / os.path.basename(words[-1]))]) == 0  # import everything as root

    def unprivileged():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        model = pf.load(work / "m.polyfold")
        with pytest.raises(PermissionError):
            pf.save(model, out / "copy.polyfold")
        return run(words)

    assert in_child(unprivileged) == 2
    assert list(out.iterdir()) == []
    error = capfd.readouterr().err
    assert f"must be in an existing folder with write permission, got '{words[-1]}'" in error


def test_little_memory_is_an_error_that_names_the_size():
    # In a new process: one that ran other tests holds freed memory and threads, which count towards the limit.
    code = """
import resource
from pathlib import Path

import numpy as np
import polyfold as pf

X = np.random.default_rng(0).standard_normal((6000, 5))
model = pf.KernelEmbedding(kernel="isomap", random_state=0)
pf.KernelEmbedding(kernel="isomap", random_state=0).fit(X[:300])  # import and compile before the limit
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 100 * 2**20, used + 100 * 2**20))
try:
    model.fit(X)
except MemoryError as error:
    print(error, hasattr(model, "embedding_"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "allocate" in done.stdout
    assert done.stdout.endswith("False\n")


@pytest.mark.usefixtures("other_user")
def test_compiled_functions_need_no_writable_folder(tmp_path):
    # Python itself may be unreadable for other users, so everything but the package is imported before.
    code = f"""
import os, importlib.metadata
import joblib, numba, numpy, pandas, scipy.sparse.linalg, sklearn.cluster, sklearn.neighbors, threadpoolctl
importlib.metadata.version("numpy")
os.environ.pop("NUMBA_CACHE_DIR", None)
os.environ.update(HOME="/nonexistent", XDG_CACHE_HOME="/nonexistent")
numba.config.CACHE_DIR = ""
os.setgid({NOBODY})
os.setuid({NOBODY})
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from polyfold.modular import _exchange
print([str(warning.message)[:40] for warning in caught], _exchange.group_loss.targetoptions)
"""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "numba finds no writable folder" in done.stdout
