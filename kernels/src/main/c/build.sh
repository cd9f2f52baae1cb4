#!/usr/bin/env bash
# Compiles the C kernels with the system compiler into one shared library; without a compiler it says so and succeeds.
# usage: build.sh SOURCES OUTPUT_FOLDER WORK_FOLDER [more compiler flags]
set -euo pipefail
sources=$1
output=$2
work=$3
shift 3
flags=("$@")

system=$(uname -s | tr '[:upper:]' '[:lower:]')
machine=$(uname -m | sed 's/^amd64$/x86_64/; s/^arm64$/aarch64/')
library=$output/$system-$machine/libmillrace_kernels.so

compiler=${CC:-}
[ -n "$compiler" ] || compiler=$(command -v cc || command -v gcc || command -v clang || true)
if [ -z "$compiler" ]; then
  echo 'kernels: no C compiler here (CC, cc, gcc or clang): building without native kernels, the vector provider will serve'
  rm -f "$library"
  exit 0
fi

# Nothing to do if no source, this script or the flags changed.
stamp=$work/stamp
state=$(cat "$sources"/*.c "$sources"/*.h "$sources"/build.sh | cksum; "$compiler" --version | head -n 1; echo "${flags[*]:-}")
if [ -f "$library" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$state" ]; then
  exit 0
fi

mkdir -p "$work" "${library%/*}"
common=(-std=c11 -O3 -g1 -fPIC -Wall -Wextra -Werror -fvisibility=default -ffp-contract=off -fno-math-errno)
levels=(portable)
[ "$machine" = x86_64 ] && levels+=(avx2 avxvnni avx512)

level_flags() {
  case $1 in
    avx2) echo -mavx2 -mfma ;;
    avxvnni) echo -mavx2 -mfma -mavxvnni ;;
    avx512) echo -mavx2 -mfma -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni ;;
  esac
}

objects=()
compile() {
  local object=$work/$1.o
  objects+=("$object")
  "$compiler" "${common[@]}" ${flags[@]+"${flags[@]}"} "${@:3}" -c "$sources/$2" -o "$object" &
  if [ "$(jobs -pr | wc -l)" -ge "$(getconf _NPROCESSORS_ONLN)" ]; then
    wait -n
  fi
}

compile levels levels.c
for source in "$sources"/*.c; do
  name=$(basename "$source" .c)
  [ "$name" = levels ] && continue
  for level in "${levels[@]}"; do
    # shellcheck disable=SC2046
    compile "$name-$level" "$name.c" -DLEVEL="$level" $(level_flags "$level")
  done
done
while [ -n "$(jobs -pr)" ]; do
  wait -n
done
"$compiler" -shared ${flags[@]+"${flags[@]}"} -o "$library.new" "${objects[@]}" -lm
mv "$library.new" "$library"
case " ${flags[*]:-} " in
  *-fsanitize=*)
    # Whoever loads a sanitized library must have loaded these first.
    for runtime in libasan.so libubsan.so; do
      cp "$("$compiler" -print-file-name=$runtime)" "$output/$runtime"
    done
    ;;
esac
printf '%s' "$state" > "$stamp"
echo "kernels: compiled ${levels[*]} with $("$compiler" --version | head -n 1)"
