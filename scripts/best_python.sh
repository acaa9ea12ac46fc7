#!/bin/sh
# Prints the Python to make the virtual environment with: PYTHON if it is set, else the distribution's, else python3.
# Distributions build Python with profile-guided optimisation; a build without it, as pyenv's is by default, needs 1.3 to
# 1.5 times the CPU. Nothing that sysconfig reports tells one from the other (Debian optimises without
# `--enable-optimizations`), and timing them chose the slower one in a quarter of all tries on a shared machine.
# usage: best_python.sh
set -eu

if [ -n "${PYTHON:-}" ]; then
  echo "$PYTHON"
  exit
fi

# Debian ships part of venv in a separate package, which root can install.
fits='
import os, sys
if sys.version_info < (3, 11): sys.exit(1)
if os.geteuid() != 0: import ensurepip
'
for python in /usr/bin/python3 python3; do
  if "$python" -I -c "$fits" 2>/dev/null; then
    echo "$python"
    exit
  fi
done
echo python3
