"""``python -m isaprof``: the same as the ``isaprof`` command."""

import signal


def main() -> None:
    """Entry point. Until the command line is there Ctrl-C ends the program without a word."""
    old = signal.getsignal(signal.SIGINT)
    if old is signal.default_int_handler:  # a job in the background may ignore it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from isaprof.cli import main as run

    signal.signal(signal.SIGINT, old)
    run()


if __name__ == "__main__":
    main()
