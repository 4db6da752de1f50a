"""``python -m isaprof``: the same as the ``isaprof`` command."""

from isaprof.cli import main

if __name__ == "__main__":
    main()
