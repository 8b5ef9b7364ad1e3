import logging

from polyfold._progress import show_progress, track


def test_progress_tells_what_how_far_and_how_long(caplog):
    with caplog.at_level(logging.INFO, logger="polyfold"):
        assert list(track(range(4), "blocks", every=0)) == [0, 1, 2, 3]
    assert caplog.messages[1].startswith("blocks 2/4, ")
    assert caplog.messages[1].endswith("s left")


def test_progress_without_a_total(caplog):
    with caplog.at_level(logging.INFO, logger="polyfold"):
        list(track(iter("ab"), "steps", every=0))
    assert caplog.messages[0].startswith("steps 1, ")


def test_shown_on_request_and_silenced_again(capsys):
    show_progress()
    show_progress()
    list(track(range(1), "blocks", every=0))
    show_progress(False)
    list(track(range(1), "blocks", every=0))
    assert capsys.readouterr().err.count("polyfold: blocks 1/1") == 1
