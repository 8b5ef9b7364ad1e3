"""Interrupt commands and fits at random moments: ``python -m tests.interrupts --moments 100``.

Commands get SIGINT or SIGTERM at a random moment between the installation of their signal handlers and their end.
Afterwards

- the exit code is 130 or 143, or 0 if the signal came after the work
- every output is absent, or equal to that of an undisturbed run
- the folder holds no other files

Fits with a checkpoint are ended by SIGINT, SIGTERM or SIGKILL, again and again until one is complete. The result must
have the bits of an undisturbed fit, and the folder of the checkpoint must hold no temporary files.

Other fits get a KeyboardInterrupt from a timer. The estimator must keep the state and the answers of its last fit, and
the next fit must have the bits of an undisturbed one.

``--only`` selects commands, classes and ``checkpoint`` by name.
"""

import argparse
import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import polyfold as pf

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
COMMANDS = {
    "fit": ("fit {data} -o {out}/m.polyfold --set n_modules=3 --set n_components=5", ["m.polyfold"]),
    "transform": ("transform {model} {data} -o {out}/z.csv", ["z.csv"]),
    "transform to zarr": ("transform {model} {data} -o {out}/z.zarr", ["z.zarr"]),
    "cluster": ("cluster {data} -n 5 -o {out}/groups.csv", ["groups.csv"]),
    "search": ("search {model} {data} -o {out}/found.csv", ["found.csv"]),
    "map": ("map {data} -o {out}/map.csv --save {out}/map.polyfold", ["map.csv", "map.polyfold"]),
    "explain": ("explain {model} {data} -o {out}/explanation.csv", ["explanation.csv"]),
    "report": ("report {model} {data} -o {out}/report.html", ["report.html"]),
    "evaluate": ("evaluate {model} {data}", []),
    "demo": ("demo --output {out}/demo", ["demo"]),
}
# Estimators whose fits are interrupted in one process; small, as the time of a fit does not matter.
FITS = {
    "ModularKernelPCA": lambda: pf.ModularKernelPCA(3, 3, random_state=0),
    "ModularAutoencoder": lambda: pf.ModularAutoencoder(3, 3, solver="backfit", random_state=0),
    "KernelEmbedding": lambda: pf.KernelEmbedding(kernel="isomap", random_state=0),
    "NonRedundantEmbedding": lambda: pf.NonRedundantEmbedding(kernel="laplacian_eigenmaps", random_state=0),
    "BootstrapClustering": lambda: pf.BootstrapClustering(3, random_state=0),
    "KernelClustering": lambda: pf.KernelClustering(3, kernel="diffusion", random_state=0),
    "ModularNeighbors": lambda: pf.ModularNeighbors(pf.ModularKernelPCA(3, 3, random_state=0)),
}
FIT = """
import sys
import numpy as np
import polyfold as pf
X, folder, out = np.load(sys.argv[1]), sys.argv[2], sys.argv[3]
print("ready", flush=True)
network = pf.MultilayerBootstrapNetwork(2, n_classes=5, n_clusterings=60, n_jobs=1, random_state=0)
np.save(out, network.fit(X, checkpoint=folder).embedding_)
"""


def listening():
    """Undo what a background process inherits: ignored interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(words):
    command = [sys.executable, "-m", "polyfold", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=listening)


def wait_for_handlers(process):
    """Wait until the process catches SIGTERM."""
    path = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        (caught,) = [line.split()[1] for line in path.read_text().splitlines() if line.startswith("SigCgt")]
        if int(caught, 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.002)


def words_of(name, folder, out):
    return COMMANDS[name][0].format(data=folder / "data.npy", model=folder / "model.polyfold", out=out).split()


def content(path):
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    return path.read_bytes()


def undisturbed(name, folder):
    """Outputs of a command, and its duration from the installation of the handlers on."""
    out = Path(tempfile.mkdtemp(dir=folder))
    process = start(words_of(name, folder, out))
    wait_for_handlers(process)
    begin = time.monotonic()
    error = process.communicate()[1].decode()
    assert process.returncode == 0, error
    return {file: content(out / file) for file in COMMANDS[name][1]}, time.monotonic() - begin


def interrupt_command(name, folder, expected, duration, rng):
    """Interrupt a command once; return what happened, and whether it was right."""
    out = Path(tempfile.mkdtemp(dir=folder))
    number = [signal.SIGINT, signal.SIGTERM][rng.integers(2)]
    process = start(words_of(name, folder, out))
    wait_for_handlers(process)
    time.sleep(rng.uniform(0, duration))
    process.send_signal(number)
    error = process.communicate()[1].decode()
    left = set(os.listdir(out))
    whole = all(content(out / file) == expected[file] for file in left & set(expected))
    right = process.returncode in (0, CODES[number]) and whole and left <= set(expected)
    if process.returncode == 0:
        right = right and left == set(expected)
    shutil.rmtree(out)
    outcome = "complete" if process.returncode == 0 else "with output" if left else "without output"
    wrong = f"{name}: code {process.returncode} after {number.name}, left {sorted(left)}, {error}"
    return right, outcome if right else wrong


def interrupt_fit(folder, expected, duration, rng):
    """Interrupt a fit until it is complete; return the number of interrupts, and whether the result is right."""
    place = Path(tempfile.mkdtemp(dir=folder))
    out, checkpoint, interrupts = place / "z.npy", place / "checkpoint", 0
    while not out.exists():
        words = [sys.executable, "-c", FIT, folder / "data.npy", checkpoint, out]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=listening, text=True
        )
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.7 * duration))
        process.send_signal([signal.SIGINT, signal.SIGTERM, signal.SIGKILL][rng.integers(3)])
        process.communicate()
        interrupts += 1
        duration *= 1.2  # so that one of them comes to the end
    temporary = [name for name in os.listdir(checkpoint) if ".part" in name]
    same = out.read_bytes() == expected
    shutil.rmtree(place)
    return interrupts, "" if same and not temporary else f"fit: same={same}, left {temporary}"


def answers(model, X):
    """What a model gives for rows, as bytes."""
    found = model.kneighbors(X)[1] if hasattr(model, "kneighbors") else None
    found = found if found is not None else model.transform(X) if hasattr(model, "transform") else model.predict(X)
    return np.asarray(found).tobytes()


def interrupt_in_process(name, moments, rng):
    """Interrupt fits by a timer; return how many were interrupted, and what was wrong."""
    A, B = rng.standard_normal((2, 200, 6))
    expected = answers(FITS[name]().fit(B), B)
    begin = time.monotonic()
    model = FITS[name]().fit(A)
    duration, state, before = time.monotonic() - begin, dict(vars(model)), answers(model, A)
    interrupts, wrong = 0, []
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(moments):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, duration))
                model.fit(B)
                signal.setitimer(signal.ITIMER_REAL, 0)
                model = FITS[name]().fit(A)
                state = dict(vars(model))
            except KeyboardInterrupt:
                interrupts += 1
                kept = vars(model).keys() == state.keys() and all(vars(model)[key] is state[key] for key in state)
                # The timer may also end between the end of the fit and its own.
                if not (kept and answers(model, A) == before) and answers(model, B) != expected:
                    wrong.append(f"{name}: the interrupted fit changed the estimator")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    if answers(model.fit(B), B) != expected:
        wrong.append(f"{name}: the fit after interrupted ones differs")
    return interrupts, wrong


def prepare(folder):
    """Write the data and the model of the commands."""
    rng = np.random.default_rng(0)
    np.save(folder / "data.npy", rng.standard_normal((1500, 20)) + 4 * rng.integers(5, size=(1500, 1)))
    words = f"fit {folder}/data.npy -o {folder}/model.polyfold --set n_modules=3 --set n_components=5".split()
    process = start(words)
    error = process.communicate()[1].decode()
    assert process.returncode == 0, error


def interrupt_commands(name, folder, moments, rng):
    """Interrupt a command again and again; return counts of outcomes, and what was wrong."""
    expected, duration = undisturbed(name, folder)
    counts, wrong = collections.Counter(), []
    for _ in range(moments):
        right, outcome = interrupt_command(name, folder, expected, duration, rng)
        counts[outcome if right else "wrong"] += 1
        wrong += [] if right else [outcome]
    return counts, wrong


def interrupt_checkpoints(folder, moments, rng):
    """Interrupt fits with a checkpoint again and again; return the number of interrupts, and what was wrong."""
    words = [sys.executable, "-c", FIT, folder / "data.npy", folder / "c", folder / "z.npy"]
    subprocess.run(words, check=True)  # compile
    shutil.rmtree(folder / "c")
    begin = time.monotonic()
    subprocess.run(words, check=True)
    duration, interrupts, failures = time.monotonic() - begin, 0, []
    while interrupts < moments:
        number, wrong = interrupt_fit(folder, (folder / "z.npy").read_bytes(), duration, rng)
        interrupts += number
        failures += [wrong] if wrong else []
    return interrupts, failures


def run(moments, seed, only=(*FITS, *COMMANDS, "checkpoint")):
    """Interrupt commands and fits at this number of moments each; yield name, counts of outcomes and failures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder)
        for name in only:
            rng = np.random.default_rng([seed, *name.encode()])
            if name in COMMANDS:
                counts, wrong = interrupt_commands(name, folder, moments, rng)
            else:
                interrupt = interrupt_in_process if name in FITS else interrupt_checkpoints
                interrupts, wrong = interrupt(name if name in FITS else folder, moments, rng)
                counts = collections.Counter(interrupted=interrupts)
            yield name, counts, wrong


def main():
    """Run the moments and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[*FITS, *COMMANDS, "checkpoint"])
    options = parser.parse_args()
    begin, failed = time.time(), False
    for name, counts, failures in run(options.moments, options.seed, options.only):
        print(f"{name}: {dict(counts)}, {time.time() - begin:.0f} s", *failures, sep="\n", flush=True)  # noqa: T201
        failed |= bool(failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
