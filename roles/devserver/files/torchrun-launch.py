"""torchrun, but with the exit code of the process that failed first: its own is always 1."""

import sys

from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import main

try:
    main()
except ChildFailedError as error:
    print(error, file=sys.stderr)
    code = error.get_first_failure()[1].exitcode
    # torch reports a signal as a negative number, a shell as 128 plus the number.
    sys.exit(128 - code if code < 0 else code or 1)
