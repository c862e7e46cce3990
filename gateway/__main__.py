"""`python -m gateway` is `codriver`."""

import sys

from gateway.cli.main import run

sys.exit(run())
