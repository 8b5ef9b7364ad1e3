"""The simulated cluster does what arithmetic says where arithmetic can tell, and the terms of costs are found again."""

import numpy as np
import pytest

pytest.importorskip("simpy", reason="simpy is not installed; run: pip install 'polyfold[bench]'")
from benchmarks.cluster import BRANCHES, Cluster, Stage, simulate
from benchmarks.costs import COSTS, fitted, paces, plan, seconds
from benchmarks.pages.scale import duration

EXACT = {"overhead": 0.0, "jitter": 0.0}


@pytest.mark.parametrize(("tasks", "workers", "rounds"), [(12, 4, 3), (13, 4, 4), (3, 10, 1)])
def test_alike_workers_share_the_tasks(tasks, workers, rounds):
    found = simulate([Stage(tasks, 2.0, client=0.5)], Cluster(workers, **EXACT))
    assert found["seconds"] == pytest.approx(2.0 * rounds + 0.5)
    assert found["busy"] == pytest.approx(2.0 * tasks / (workers * found["seconds"]))
    assert found["again"] == 0


def test_the_scheduler_hands_out_one_task_after_the_other():
    found = simulate([Stage(1000, 1e-6)], Cluster(500, overhead=0.01, jitter=0.0))
    assert found["seconds"] == pytest.approx(10.0, rel=1e-3)
    assert found["scheduler"] == pytest.approx(1.0, rel=1e-3)


def test_sums_are_merged_in_a_tree():
    leaves = BRANCHES**2
    found = simulate([Stage(leaves, 1.0, result=1000, merge=0.1)], Cluster(leaves, **EXACT, bandwidth=1e6))
    # Two levels, in each of which seven or eight others are fetched and seven are added, and the way to the client.
    low, high = (1.0 + 2 * (far * 1e-3 + 0.7) + 1e-3 for far in (BRANCHES - 1, BRANCHES))
    assert low - 1e-9 <= found["seconds"] <= high + 1e-9


def test_the_same_seed_gives_the_same_run():
    cluster, stages = Cluster(20, slow=0.2, deaths=30.0), [Stage(300, 5.0, result=1000)]
    assert simulate(stages, cluster, 1) == simulate(stages, cluster, 1) != simulate(stages, cluster, 2)


def test_what_dies_is_computed_again_and_takes_longer():
    stages = [Stage(200, 10.0, result=1000)]
    calm = simulate(stages, Cluster(10, **EXACT))
    rough = simulate(stages, Cluster(10, **EXACT, deaths=10.0, restart=5.0))
    assert calm["again"] == 0 < rough["again"]
    assert calm["seconds"] < rough["seconds"] < 5 * calm["seconds"]


def test_what_is_written_is_not_lost():
    stages = [Stage(200, 10.0)]
    rough = simulate(stages, Cluster(10, **EXACT, deaths=60.0, restart=5.0))
    assert rough["again"] == 0
    assert simulate(stages, Cluster(10, **EXACT))["seconds"] < rough["seconds"]


def test_the_pace_of_workers_is_the_median_of_their_fits():
    fits = ((1, 2.0), (1, 9.0), (1, 3.0), (2, 5.0))
    assert paces({"workers": count, "measured": m, "simulated": 1.0} for count, m in fits) == {1: 3.0, 2: 5.0}


def test_slow_workers_cost_time():
    stages = [Stage(100, 1.0)]
    assert simulate(stages, Cluster(10, slow=0.5))["seconds"] > simulate(stages, Cluster(10))["seconds"]


def test_terms_are_found_again():
    cost, rng = COSTS["ModularKernelPCA"], np.random.RandomState(0)
    truth = {"products": 1e-10, "kernel values": 2e-9, "numbers read": 1e-9, "client": 3e-9, "call": 0.01}
    runs = []
    for _ in range(12):
        sizes = {"N": rng.randint(1e4, 1e5), "D": rng.randint(10, 300), "R": rng.randint(50, 600)}
        runs.append({"sizes": sizes, "cpu": seconds(cost.terms(sizes), truth)})
    found = fitted(cost, runs)
    assert max(found["errors"]) < 1e-6
    assert found["seconds"] == pytest.approx(truth, rel=1e-4)


def test_a_plan_shares_out_all_work():
    sizes, each = {"N": 10**7, "D": 50, "R": 100}, {"products": 1e-10, "kernel values": 1e-9, "numbers read": 1e-9}
    stages = plan(COSTS["ModularKernelPCA"], {**each, "client": 1e-9}, sizes, 10**5)
    work = sum(stage.tasks * stage.seconds for stage in stages)
    assert work == pytest.approx(seconds(COSTS["ModularKernelPCA"].rows(sizes), each))
    assert [stage.tasks for stage in stages] == [100, 100]


def test_durations_read_well():
    assert [duration(s) for s in (0.123, 45, 150, 9000)] == ["0.12 s", "45 s", "2.5 min", "2.5 h"]
