import pytest

from polyfold._running._progress import Job, job, phases, quiet, track


class Recorder:
    """A watcher that writes down what it sees."""

    def __init__(self):
        self.seen = []
        self.ended = []

    def update(self, job):
        self.seen.append((round(job.done, 6), job.doing))

    def close(self, job):
        self.ended.append(job.done)

    @property
    def shares(self):
        return [share for share, _ in self.seen]


def test_a_loop_shares_out_the_job():
    watcher = Recorder()
    with job("fit", [watcher]):
        assert list(track("abcd", "letters")) == list("abcd")
    assert watcher.seen == [
        (0.25, "letters 1/4"),
        (0.5, "letters 2/4"),
        (0.75, "letters 3/4"),
        (1, "letters 4/4"),
        (1, ""),
    ]
    assert watcher.ended == [1]


def test_phases_have_the_shares_of_their_costs():
    watcher = Recorder()
    with job("fit", [watcher]):
        phase = phases({"kernel": 3.0, "modules": 1.0})
        with phase("kernel"):
            list(track(range(3), "blocks"))
        with phase("modules"):
            pass
    assert watcher.shares == [0, 0.25, 0.5, 0.75, 0.75, 0.75, 1, 1]


def test_what_runs_within_a_turn_of_a_loop_shares_out_that_turn():
    watcher = Recorder()
    with job("fit", [watcher]):
        for _ in track(range(2), "samples"):
            list(track(range(2), "blocks"))
    assert watcher.shares == [0.25, 0.5, 0.5, 0.75, 1, 1, 1]


def test_a_fit_within_a_fit_is_a_part_of_it():
    outer, inner = Recorder(), Recorder()
    with job("outer", [outer]):
        phase = phases({"first": 1.0, "second": 1.0})
        with phase("first"), job("silent", []):
            list(track(range(2), "blocks"))
        with phase("second"), job("watched", [inner]):
            list(track(range(2), "blocks"))
    assert inner.shares == [0.5, 1, 1]
    assert outer.shares == [0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, 1, 1, 1]
    assert inner.ended == outer.ended == [1]


def test_it_never_goes_back():
    watcher = Recorder()
    with job("fit", [watcher]):
        list(track(range(2), "first"))
        list(track(range(4), "again"))
    assert watcher.shares == sorted(watcher.shares)


def test_a_loop_without_a_known_end_says_how_many():
    watcher = Recorder()
    with job("fit", [watcher]):
        list(track(iter("ab"), "steps"))
    assert [doing for _, doing in watcher.seen] == ["steps 1", "steps 2", ""]


def test_a_loop_may_have_more_or_fewer_turns_than_expected():
    watcher = Recorder()
    with job("fit", [watcher]):
        phase = phases({"long": 1.0, "short": 1.0})
        with phase("long"):
            list(track(range(4), "turns", total=2))
        with phase("short"):
            for _ in track(range(10), "turns"):
                break
    assert max(watcher.shares[:6]) == 0.5
    assert watcher.shares[-1] == 1


def test_parts_side_by_side_say_nothing():
    watcher = Recorder()
    with job("fit", [watcher]), quiet():
        list(track(range(3), "parts"))
    assert watcher.seen == [(1, "")]


def test_nobody_looks_and_nothing_is_left_behind():
    with job("fit", []):
        loop = track(range(3), "turns")
        next(loop)
    watcher = Recorder()
    with job("other", [watcher]):
        loop.close()
        list(track(range(1), "own"))
    assert watcher.seen[0] == (1, "own 1/1")


def test_a_loop_left_by_an_error_does_not_come_back_into_the_next_job():
    watcher = Recorder()

    def fail():
        with job("fit", [watcher]):
            for _ in track(range(3), "turns"):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert watcher.ended == [0]
    following = Recorder()
    with job("next", [following]):
        del caught  # only now the loop of the first job is closed
        list(track(range(2), "own"))
    assert following.shares == [0.5, 1, 1]


def test_the_time_left_is_at_the_pace_so_far():
    now = [0.0]
    job = Job("fit", [], clock=lambda: now[0])
    assert job.seconds_left is None
    now[0] = 10.0
    job.reach(0.25, "")
    assert job.seconds_left == 30
    job.reach(1.0, "")
    assert job.seconds_left == 0


def test_what_an_earlier_run_has_done_is_no_pace():
    seen = []

    class Look:
        def update(self, job):
            seen.append((job.done, job.known))

        def close(self, job):
            pass

    with job("fit", [Look()]):
        phase = phases({"first": 1.0, "second": 1.0})
        with phase("first", known=True):
            pass
        with phase("second"):
            list(track(range(2, 4), "clusterings", total=4, known=2))
    assert seen[0] == (0.5, 0.5)
    assert seen[-1] == (1.0, 0.75)
