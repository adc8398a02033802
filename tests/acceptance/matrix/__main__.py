"""`python -P -m tests.acceptance.matrix page` writes docs/faults.md anew."""

import argparse

from tests.acceptance.matrix.page import PAGE, page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -P -m tests.acceptance.matrix", description=__doc__)
    parser.add_argument("what", choices=["page"])
    parser.parse_args()
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
