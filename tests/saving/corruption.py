"""Damage to the bytes of a file, of every kind that disks, networks and people do."""

import numpy as np


def corruptions(content: bytes, count: int, seed: int = 0):
    """Yield a name and damaged bytes, `count` times; never the bytes themselves."""
    rng = np.random.RandomState(seed)
    makers = [_flip, _cut, _zeroed, _swapped, _repeated, _dropped, _garbage, _appended]
    for number in range(count):
        maker = makers[number % len(makers)]
        damaged = maker(bytearray(content), rng)
        if bytes(damaged) != content:
            yield f"{maker.__name__[1:]} {number}", bytes(damaged)


def _flip(content, rng):
    for place in rng.randint(len(content), size=rng.randint(1, 4)):
        content[place] ^= 1 << rng.randint(8)
    return content


def _cut(content, rng):
    return content[: rng.randint(len(content))]


def _span(content, rng):
    start = rng.randint(len(content))
    return start, min(len(content), start + rng.randint(1, 400))


def _zeroed(content, rng):
    start, end = _span(content, rng)
    content[start:end] = bytes(end - start)
    return content


def _swapped(content, rng):
    first, second = rng.randint(len(content), size=2)
    content[first], content[second] = content[second], content[first]
    return content


def _repeated(content, rng):
    start, end = _span(content, rng)
    content[end:end] = content[start:end]
    return content


def _dropped(content, rng):
    start, end = _span(content, rng)
    del content[start:end]
    return content


def _garbage(content, rng):
    start, end = _span(content, rng)
    content[start:end] = rng.bytes(end - start)
    return content


def _appended(content, rng):
    return content + rng.bytes(rng.randint(1, 100))
