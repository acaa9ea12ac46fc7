#!/bin/sh
# PyTorch's build for CUDA names libraries of four gigabytes that a processor never calls. Empty ones of the same names
# let it be loaded, if functions are looked up at their first call: whoever calls one is told its name, and ends.
# usage: stand_ins.sh FOLDER_OF_PYTORCHS_LIBRARIES
set -eu

cd "$1"
temporary=$(mktemp -d)
trap 'rm -r "$temporary"' EXIT
as -o "$temporary/empty.o" /dev/null
readelf --dynamic --wide ./*.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u > "$temporary/names"
while read -r name; do
  case $name in
    # These are real: PyTorch calls the one at its start, and looks for a GPU with the other, the driver's.
    libcudart.so.* | libcuda.so.*) ;;
    libcu*.so.* | libnccl.so.* | libnvrtc.so.* | libnvshmem*.so.*)
      ld -shared -z noexecstack -soname "$name" -o "$name" "$temporary/empty.o"
      echo "stand-in: $name"
      ;;
  esac
done < "$temporary/names"
