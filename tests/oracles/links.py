"""A graph of links, built slowly: [Malkov2020, Algorithms 1, 2 and 4] on one level, with tops to begin from."""

import numpy as np


def link(rows, order, n_tops, effort, m):
    """Links of every row, as lists."""
    D = ((rows[:, None].astype(float) - rows) ** 2).sum(axis=2)
    links = [[] for _ in rows]
    for i, v in enumerate(order[1:], start=1):
        tops = order[: min(i, n_tops)]
        near = search(D[v], links, tops[np.argmin(D[v, tops])], effort)
        links[v] = choose(D, v, near, m)
        for other in links[v]:
            links[other].append(v)
            if len(links[other]) > m:
                links[other] = choose(D, other, sorted(links[other], key=lambda u: D[other, u]), m)
    return links


def search(distances, links, start, effort):
    """The nearest points that a walk finds, nearest first [Malkov2020, Algorithm 2]."""
    seen, found, done = {start}, [start], set()
    while left := [u for u in found if u not in done]:
        done.add(left[0])
        for u in links[left[0]]:
            if u not in seen:
                seen.add(u)
                found = sorted([*found, u], key=lambda u: distances[u])[:effort]
    return found


def choose(D, v, candidates, m):
    """Candidates that are nearer to the point than to those chosen before [Malkov2020, Algorithm 4]."""
    chosen = []
    for u in candidates:
        if len(chosen) < m and all(D[u, s] >= D[u, v] for s in chosen):
            chosen.append(u)
    return chosen
