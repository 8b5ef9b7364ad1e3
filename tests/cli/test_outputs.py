"""Outputs: nothing is overwritten that is read, nothing is deleted that polyfold did not write, no half files."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from polyfold.cli._outputs import write_blocks

pd = pytest.importorskip("pandas")
pytest.importorskip("click")

QUICK = "-n 2 --set network__n_clusterings=10"


@pytest.fixture
def mine(call, shared):
    """Copies of the shared files in the folder of the test."""
    for name in ("digits.npy", "y.npy", "digits.polyfold", "iris.csv", "iris.polyfold"):
        shutil.copy(shared / name, name)


@pytest.mark.parametrize(
    "text",
    [
        f"cluster iris.csv {QUICK} -o iris.csv",
        f"cluster iris.csv {QUICK} -o ./iris.csv",
        f"cluster iris.csv {QUICK} -o link.csv",
        f"cluster iris.csv {QUICK} -o hard.csv",
        f"cluster link.csv {QUICK} -o iris.csv",
        "transform digits.polyfold digits.npy -o digits.npy",
        "transform digits.polyfold digits.npy --target y.npy -o y.npy",
        "search digits.polyfold digits.npy --queries y.npy -o y.npy",
        "map digits.npy --target y.npy -o y.npy",
        f"cluster digits.npy {QUICK} --save saved.polyfold --config saved.polyfold -o g.npy",
        "cluster parts -n 2 -o parts/0.parquet",
        "transform iris.polyfold parts -o parts/z.parquet",
    ],
)
def test_an_input_is_never_overwritten(refused, mine, text):
    os.symlink("iris.csv", "link.csv")
    os.link("iris.csv", "hard.csv")
    Path("saved.polyfold").write_text("[parameters]\n")
    os.mkdir("parts")
    pd.read_csv("iris.csv").to_parquet("parts/0.parquet")
    before = {name: Path(name).read_bytes() for name in ("iris.csv", "digits.npy", "y.npy", "parts/0.parquet")}
    refused(text, "would overwrite the input")
    assert {name: Path(name).read_bytes() for name in before} == before
    assert os.listdir("parts") == ["0.parquet"]


@pytest.mark.parametrize("text", [f"cluster iris.csv {QUICK} -o kept.csv", "fit iris.csv -o kept.polyfold"])
def test_a_write_protected_output_is_kept(refused, mine, text):
    kept = Path(text.split()[-1])
    kept.write_text("mine")
    kept.chmod(0o444)
    refused(text, f"--output is write-protected, got '{kept}'")
    assert kept.read_text() == "mine"


def test_the_error_of_a_full_disk_names_the_file(tmp_path):
    def blocks():
        yield np.zeros((2, 2))
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left on device: '.*z.csv'"):
        write_blocks(tmp_path / "z.csv", blocks(), ["a", "b"], 4)
    assert not list(tmp_path.iterdir())


def test_the_message_names_the_input(refused, mine):
    refused(f"cluster iris.csv {QUICK} -o iris.csv", "--output would overwrite the input iris.csv")
    refused("transform digits.polyfold digits.npy --target y.npy -o y.npy", "overwrite the input y.npy")


def test_a_folder_with_files_of_others_is_kept(call, refused, mine):
    zarr = pytest.importorskip("zarr")
    os.mkdir("precious.zarr")
    Path("precious.zarr/thesis.txt").write_text("years of work")
    zarr.open_array("theirs.zarr", mode="w", shape=(3,), dtype="f8")[:] = 1
    zarr.open_group("group.zarr", mode="w").create_array("x", shape=(3,), dtype="f8")
    for name in ("precious", "theirs", "group"):
        refused(f"transform digits.polyfold digits.npy -o {name}.zarr", "holds files that polyfold did not write")
    assert Path("precious.zarr/thesis.txt").read_text() == "years of work"
    call("transform digits.polyfold digits.npy -o own.zarr")
    call("transform digits.polyfold digits.npy -o own.zarr")
    Path("own.zarr/notes.txt").write_text("mine")
    refused("transform digits.polyfold digits.npy -o own.zarr", "holds files that polyfold did not write")


def test_other_files_are_replaced_and_links_are_followed(call, refused, mine):
    Path("old.npy").write_bytes(b"old")
    os.symlink("old.npy", "link.npy")
    call("transform digits.polyfold digits.npy -o link.npy")
    assert os.path.islink("link.npy")
    assert np.load("old.npy").shape == (120, 6)
    os.symlink("iris.csv", "link.zarr")
    refused("transform digits.polyfold digits.npy -o link.zarr", "must be a folder")
    os.symlink("iris.csv", "table.npy")
    refused("transform digits.polyfold digits.npy -o table.npy", "which has another ending")


@pytest.mark.parametrize(
    "text",
    [
        "fit :digits.npy -o nofolder/m.polyfold",
        "cluster :digits.npy -o nofolder/g.npy",
        "cluster :digits.npy -o g.npy --save nofolder/c.polyfold",
        "map :digits.npy -o nofolder/m.npy",
        "map :digits.npy -o m.npy --save nofolder/m.polyfold",
        "transform :digits.polyfold :digits.npy -o nofolder/z.npy",
        "transform :digits.polyfold :digits.npy --reconstruct -o nofolder/images",
        "search :digits.polyfold :digits.npy -o nofolder/f.npy",
        "report :digits.polyfold :digits.npy -o nofolder/r.html",
        "demo -o nofolder/demo",
    ],
)
def test_paths_are_checked_before_the_work(refused, monkeypatch, text):
    def work(*_, **__):
        raise AssertionError("the work has begun")

    for name in ("polyfold.cli._inputs.open_data", "polyfold.cli._commands.open_data", "polyfold.load"):
        monkeypatch.setattr(name, work)
    refused(text, "existing folder")


def test_the_demo_replaces_only_its_own_report(refused, tmp_path):
    from polyfold.cli._outputs import is_report
    from polyfold.report._explore import Arrays, document

    report = tmp_path / "report.html"
    report.write_text("<p>mine</p>")
    refused(f"demo -o {tmp_path}", "a report.html that polyfold did not write")
    assert report.read_text() == "<p>mine</p>"
    report.write_text(document("title", [], Arrays()), encoding="utf-8")
    assert is_report(report)


def test_models_do_not_go_to_data_files(refused):
    refused("cluster :digits.npy -o g.npy --save c.npy", "--save writes a model, got the name of a data file")
    refused("fit :digits.npy -o .", "--output must be a file")


def test_classes_of_any_name_and_numbers_can_be_drawn(run, tmp_path, rng):
    pytest.importorskip("matplotlib")
    from polyfold.cli._outputs import draw

    Z = rng.standard_normal((60, 2))
    for number, y in enumerate((None, np.array(["$x", "a$b_$", "[/]"] * 20), np.arange(60) / 7, np.arange(60) % 20)):
        draw(tmp_path / f"{number}.png", Z, y)
    assert len(list(tmp_path.iterdir())) == 4


def test_an_interrupt_leaves_no_file(call, monkeypatch):
    before = set(os.listdir())

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for where, text in (
        ("polyfold.ModularKernelPCA.fit", "fit :digits.npy -o m.polyfold"),
        ("polyfold.ModularKernelPCA.transform", "transform :digits.polyfold :digits.npy -o z.csv"),
        ("os.fsync", "fit :digits.npy -o m.polyfold --set n_modules=2 --set n_components=2"),
        ("polyfold.ModularKernelPCA.transform", "transform :digits.polyfold :digits.npy -o z.zarr"),
        ("pathlib.Path.replace", "transform :digits.polyfold :digits.npy -o z.csv"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, interrupt)
            assert "interrupted" in call(text, code=130)
        assert set(os.listdir()) == before


def start(*words, **options):
    command = [sys.executable, "-m", "polyfold", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_signals_during_transform_leave_no_file(shared, tmp_path, number, code):
    np.save(tmp_path / "large.npy", np.tile(np.load(shared / "digits.npy"), (1_500, 1)).astype(np.float32))
    # A process started in the background would otherwise ignore SIGINT.
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    words = ("transform", shared / "digits.polyfold", tmp_path / "large.npy", "-o", tmp_path / "z.csv")
    process = start(*words, **listen)
    try:
        deadline = time.monotonic() + 120
        while not any(name.endswith(".part.csv") for name in os.listdir(tmp_path)):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        _, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == code
    assert "interrupted" in error
    assert os.listdir(tmp_path) == ["large.npy"]


def test_a_process_is_silent_in_a_pipe(shared, tmp_path):
    process = start("transform", shared / "digits.polyfold", shared / "digits.npy", "-o", tmp_path / "z.npy")
    assert process.communicate() == ("", "")
    assert process.returncode == 0
    assert os.listdir(tmp_path) == ["z.npy"]


def test_version_and_help_import_nothing_heavy():
    code = "import sys; from polyfold.cli._main import run; run(sys.argv[1:]); print(*sys.modules)"
    for words in (["--version"], ["--help"], ["fit", "--help"]):
        modules = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True).stdout.split()
        assert "click" in modules
        assert not {"numpy", "pandas", "rich", "sklearn", "numba"} & set(modules)


def test_a_part_of_an_input_folder_is_not_overwritten_through_a_link(call):
    pd.DataFrame(np.random.RandomState(0).rand(40, 3), columns=list("abc")).to_parquet("real.parquet")
    before = Path("real.parquet").read_bytes()
    Path("parts").mkdir()
    Path("parts/a.parquet").symlink_to(Path("real.parquet").resolve())
    call("fit parts -o m.polyfold --set n_modules=2 --set n_components=2")
    assert "would overwrite the input" in call("transform m.polyfold parts -o real.parquet", code=2)
    assert Path("real.parquet").read_bytes() == before


def test_a_model_is_not_written_through_a_link_to_another_kind_of_file(call):
    Path("other.csv").write_text("a,b")
    Path("link.polyfold").symlink_to(Path("other.csv").resolve())
    assert "another ending" in call("fit :digits.npy -o link.polyfold", code=2)
    assert Path("other.csv").read_text() == "a,b"


def test_permissions_of_a_replaced_output_are_kept(call):
    Path("z.npy").touch(mode=0o600)
    call("transform :digits.polyfold :digits.npy -o z.npy")
    assert Path("z.npy").stat().st_mode & 0o777 == 0o600


def test_blocks_of_images_share_one_scale(tmp_path):
    image = pytest.importorskip("PIL.Image")
    blocks = [np.array([[0.0, 10.0, 5.0, 0.0]]), np.array([[5.0, 10.0, 5.0, 5.0]])]
    write_blocks(tmp_path / "images", [block / 20 for block in blocks], [], 2, size="2x2")
    pixels = [np.asarray(image.open(tmp_path / "images" / f"{number:07d}.png")).ravel() for number in (0, 1)]
    assert pixels[0].tolist() == [0, 255, 127, 0]
    assert pixels[1].tolist() == [127, 255, 127, 127]
