"""What [Reeve2018] claims, judged by the numbers of its experiments."""

import numpy as np

from papers.cells import Cells
from papers.mbm.printed import METHODS, NOT_HAD, PRECISION, PRINTED, PRINTED_DIFFERENCE, RIVALS, SOLVERS
from papers.report import Claim, ahead, observed, untestable
from papers.run import Run

ERRORS = 0.5  # what the printed numbers are sure to, about twice the largest printed error of the sets we have


def solver_claims(found: Cells, name: str) -> list[Claim]:
    """Judge Table 1 and Theorem 1 on one set."""

    def of(number: str) -> dict[str, list[float]]:
        return {label: found.values(number, solver=solver) for label, solver in SOLVERS.items()}

    loss, seconds, source = of("loss"), of("s until within 1 %"), "Table 1, Sec. 6.1"
    claims = [
        ahead(f"SGD ends above MBM on {name}: loss", loss["SGD"], loss["MBM"], source=source, digits=2),
        ahead(
            f"MBM ends as low as Adam on {name}, to a hundredth: loss",
            loss["Adam"],
            loss["MBM"],
            source=source,
            slack=0.01 * float(np.mean(loss["Adam"] or [0])),
            digits=2,
        ),
        ahead(
            f"Adam needs at least twice the time of MBM on {name}: seconds of Adam against twice those of MBM",
            seconds["Adam"],
            [2 * value for value in seconds["MBM"]],
            source=source,
            digits=2,
            why=_why_slower(of("epochs until within 1 %"), seconds),
            see="mbm-table1",
        ),
    ]
    falls, statement = of("falls at every epoch")["MBM"], f"Algorithm 1 lowers the loss at every epoch on {name}"
    if not falls:
        return [*claims, untestable(statement, NOT_HAD, source="Theorem 1")]
    return [*claims, observed(statement, all(falls), f"in {sum(falls)} of {len(falls)} runs", source="Theorem 1")]


def _why_slower(epochs: dict[str, list[float]], seconds: dict[str, list[float]]) -> str:
    if not epochs["MBM"]:
        return ""
    n, s = ({label: float(np.mean(values)) for label, values in found.items()} for found in (epochs, seconds))
    step = {label: 1000 * s[label] / n[label] for label in s}
    return (
        f"MBM needs {n['MBM']:.0f} epochs and Adam {n['Adam']:.0f}. In the few directions that matter a step of Adam "
        f"takes {step['Adam']:.1f} ms, an epoch of MBM with its ten eigenvalue problems {step['MBM']:.1f}"
    )


def beats(name: str, rival: str, score: str, ours: list[float], theirs: list[float]) -> Claim:
    """Judge a pair of Table 2: ahead where the printed difference is more than its errors, else no worse."""
    printed = dict(zip(METHODS, PRINTED[score][name], strict=True))
    if printed["MBM"] - printed[rival] > ERRORS:
        return ahead(f"MBM beats {rival} on {name}: {score}", ours, theirs, source="Table 2, Sec. 6.2")
    statement = f"MBM is at least as good as {rival} on {name}, to {ERRORS} points: {score}"
    return ahead(statement, ours, theirs, source="Table 2, Sec. 6.2", slack=ERRORS)


def against_one(
    name: str, score: str, ours: list[float], alone: list[float], speed: list[float], shares: list[float], why: str
) -> list[Claim]:
    """Judge a row of Table 3: what is lost or won against one embedding, and whether answers are faster.

    `why` is what other modules have shown where these do not beat one embedding.
    """
    source, difference = "Table 3, Sec. 6.2", PRINTED_DIFFERENCE[score][name]
    faster = ahead(
        f"modules answer faster than one embedding on {name}: times, {score.split(',')[0]}",
        speed,
        [1.0] * len(speed),
        source=source,
        digits=2,
        why=""
        if not shares
        else f"{100 * np.mean(shares):.0f} % of the time is what must wait for all modules; the "
        "search itself, a matrix product on today's machines, barely depends on the dimensions.",
        see="mbm-figure2",
    )
    if score == PRECISION and difference < 0:
        most = -difference + 1
        statement = (
            f"MBM loses little precision to one embedding on {name}: at most {most:.1f} points, one more than printed"
        )
        return [ahead(statement, ours, alone, source=source, slack=most), faster]
    if difference < 0:
        statement = f"one embedding beats MBM on {name}: {score}"
        why = "Table 2 prints more for MBM than Table 3 for one embedding: the sign of the difference is a slip."
        return [ahead(statement, alone, ours, source=source, why=why, see="mbm-table3"), faster]
    if difference <= ERRORS:
        statement = f"MBM is at least as good as one embedding on {name}, to {ERRORS} points: {score}"
        return [ahead(statement, ours, alone, source=source, slack=ERRORS), faster]
    statement = f"MBM beats one embedding of 300 dimensions on {name}: {score}"
    return [ahead(statement, ours, alone, source=source, why=why), faster]


def diversity_of(p: float, modules: int) -> float:
    """λ that belongs to the probability p of keeping a module [Reeve2018, Theorem 2]."""
    return modules * p / (1 + p * (modules - 1))


def dropout_claims(found: Cells, most: int) -> list[Claim]:
    """Judge Theorem 2 and Proposition 2, and Fig. 1 for `most` modules."""

    def largest(number: str) -> float:
        return max(found.values(number))

    identity, proposition = largest("relative error of the identity"), largest("relative error of Proposition 2")
    off = {"p": 0.0, "√(pλ)": 0.0}
    for cell in found:
        p, factor = cell.parameters["p"], cell.numbers["factor"]
        for name, value in (("p", p), ("√(pλ)", np.sqrt(p * cell.numbers["diversity"]))):
            off[name] = max(off[name], abs(factor / value - 1))
    half = diversity_of(0.5, most)
    return [
        observed("the modular loss is a convex combination of the modules' losses and their composite's",
                 proposition < 1e-9, f"largest relative error {proposition:.0e}", source="Proposition 2"),
        observed("minima of the drop-module loss are those of the modular loss, up to the scale √(p/λ)",
                 identity < 1e-9, f"L_drop = (1-λ)‖K‖² + λ L_mod at that scale, relative error {identity:.0e}",
                 source="Theorem 2"),
        observed("the derivatives in Theorem 2 differ by the factor p", off["p"] < 1e-4,
                 f"the factor is up to {100 * off['p']:.0f} % away from p", source="Theorem 2",
                 why=f"It is √(pλ), to a relative error of {off['√(pλ)']:.0e}: the printed factor is a slip that "
                 "changes no minimum.", see="mbm-figure1"),
        observed("p = 0.5 corresponds to a λ just below 1 when M is large", 0.9 < half < 1,
                 f"λ = {half:.3f} for M = {most}", source="Fig. 1, Sec. 6.2"),
    ]  # fmt: skip


def sweep_claims(
    name: str,
    score: str,
    curves: dict[str, dict[int, list[float]]],
    alone: list[float],
    larger: dict[str, list[float]],
    run: Run,
    source: str,
) -> list[Claim]:
    """Judge a panel of Figs. 3, 4, 7 and 9; `larger` are the scores of all methods on more images."""
    ours = {H: float(np.mean(values)) for H, values in curves["MBM"].items() if values}
    if not ours:
        return []
    first, last = min(ours), max(ours)
    ahead_at = sum(all(ours[H] >= np.mean(curves[rival][H]) for rival in RIVALS) for H in ours)
    more = run["larger"]
    typical = observed(
        f"MBM is ahead of the other modules at most values of H on {name}: {score}",
        ahead_at > len(ours) / 2,
        f"at {ahead_at} of {len(ours)}",
        source=source,
        why=f"At H = {more['components']} on up to {more['rows']:,} images MBM has {np.mean(larger['MBM']):.1f} and "
        f"the best of the others {max(float(np.mean(larger[rival])) for rival in RIVALS):.1f}",
    )
    if score != PRECISION:
        return [typical]
    share = float(np.mean(alone)) / 100
    gap = {H: abs(ours[H] - 100 * share) for H in (first, last)}
    asked = 10 * run["queries"]
    noise = 100 * float(np.sqrt(share * (1 - share) / asked))
    nearer = observed(
        f"precision of MBM approaches that of one embedding as H grows on {name}",
        gap[last] < gap[first],
        f"{gap[first]:.1f} points away at H = {first}, {gap[last]:.1f} at H = {last}",
        source=source,
        why=f"It is there at every H: by chance alone a precision of {100 * share:.0f} % of {asked:,} neighbours "
        f"varies by {noise:.1f} points",
    )
    return [typical, nearer]


def time_claims(name: str, curves: dict[str, dict[int, float]]) -> list[Claim]:
    """Judge a panel of Figs. 2 and 6; the last H is that of one embedding."""
    votes, found = curves["classification"], curves["retrieval"]
    first, last, best = min(votes), max(votes), min(found, key=lambda H: found[H])
    shown = [f"{found[H]:.3f} ms at H = {H}" for H in dict.fromkeys((first, best, last))]
    return [
        observed(
            f"classification takes longer with more dimensions per module on {name}",
            votes[last] > votes[first],
            f"{votes[first]:.3f} ms at H = {first}, {votes[last]:.3f} at H = {last}",
            source="Fig. 6, App. 12.2",
        ),
        observed(
            f"the time of retrieval falls with H before it rises on {name}",
            first < best < last,
            ", ".join(shown),
            source="Fig. 6, App. 12.2",
            why=f"Ranking takes {curves['ranking'][first]:.3f} ms at H = {first} and the search only "
            f"{curves['search'][first]:.3f}, and {curves['search'][last]:.3f} at H = {last}: among so few images it is "
            "a small matrix product, which costs less than the ranking saves.",
            see="mbm-figure2",
        ),
    ]


def diversity_claims(name: str, score: str, means: dict[float, float], at_one: list[float]) -> list[Claim]:
    """Judge a panel of Figs. 5 and 8."""
    if score != PRECISION:
        return []
    source, best = "Figs. 5 and 8, Sec. 6.2", max(means, key=lambda lam: means[lam])
    shown = f"best at λ = {best:g}: {means[best]:.1f}; at λ = 1 {means.get(1.0, np.nan):.1f} (closed form)"
    near = observed(f"precision is best with λ near 1 on {name}", best >= 0.95, shown, source=source)
    peak = [means[best]] * len(at_one)
    sharp = ahead(f"precision of Algorithm 1 falls at λ = 1 on {name}", peak, at_one, source=source)
    return [near, sharp]
