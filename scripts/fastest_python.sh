#!/bin/sh
# Prints the Python to make the virtual environment with: PYTHON if it is set, else the fastest on PATH.
# Builds without profile-guided optimisation need 1.3 to 1.5 times the CPU, and nothing that sysconfig reports
# tells one from the other: Debian, for one, optimises without `--enable-optimizations`. So they are timed.
# usage: fastest_python.sh
set -eu

if [ -n "${PYTHON:-}" ]; then
  echo "$PYTHON"
  exit
fi

# Milliseconds for a loop, the best of five; nothing for a Python that is too old or cannot be started.
timed='
import sys
if sys.version_info < (3, 11): sys.exit(1)
from time import process_time
def work():
    before = process_time()
    counts = {}
    for n in range(60000):
        word = str(n % 997)
        counts[word] = counts.get(word, 0) + len(word)
    return process_time() - before
print(round(min(work() for _ in range(5)) * 1000 + 1))
'

best=python3
best_time=
for name in python3 python3.11 python3.12 python3.13; do
  for python in $(which -a "$name" 2>/dev/null | awk '!seen[$0]++'); do
    time=$("$python" -I -c "$timed" 2>/dev/null) || continue
    # The first one stays unless another is clearly faster: a choice must not depend on noise.
    if [ -z "$best_time" ] || [ $((time * 10)) -lt $((best_time * 9)) ]; then
      best=$python
      best_time=$time
    fi
  done
done
echo "$best"
