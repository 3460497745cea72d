#!/usr/bin/env bash
# Records a program with Nsight Systems: what ran when, on the host and on the GPU.
set -euo pipefail

readonly MISSING=127 WRONG_USAGE=2

usage() {
    cat <<'END'
usage: run_nsys_profile.sh [OPTIONS] [SCRIPT.py | -m MODULE | COMMAND] [ARGUMENTS...]

Records a program with Nsight Systems (nsys). Without one, the built-in GPT benchmark is recorded:
python -m gpuscope.visualize_performance --run-profiling, 20 repeats of each model, kept out of the history.

options, which come before the program:
  -d, --output-dir FOLDER   where the report goes [profiling_results]
  -n, --name NAME           what it is called, or a path if there is a / in it [cutile_nsys]
      --trace LIST          what nsys traces [cuda,nvtx,osrt,cudnn,cublas]
  -h, --help                this text

environment:
  OUTPUT_DIR, OUTPUT        as --output-dir and --name
  PYTHON                    the interpreter [python, else python3]
  NSYS                      the nsys to use [the one on the PATH]

examples:
  bash scripts/run_nsys_profile.sh
  bash scripts/run_nsys_profile.sh train.py --epochs 1
  OUTPUT=attention bash scripts/run_nsys_profile.sh -m mypackage.train
  bash scripts/run_nsys_profile.sh torchrun --nproc-per-node 2 train.py

The exit code is that of nsys, which is that of the program; 2 for wrong usage, 127 if nsys is not installed.
END
}

say() { printf '%s\n' "$*" >&2; }

refuse() {
    say "error: $1"
    say "hint: run_nsys_profile.sh --help"
    exit "$WRONG_USAGE"
}

# The value of an option: there has to be one.
value_of() {
    [[ $# -ge 2 && -n $2 ]] || refuse "$1: a value is missing"
    printf '%s' "$2"
}

missing_nsys() {
    say "error: nsys is not installed, or not on the PATH"
    say "hint: nsys is the command of NVIDIA Nsight Systems. It comes with the CUDA toolkit, and as a package of its"
    say "      own (nsight-systems) from NVIDIA. If it is installed, add its folder to the PATH, or name it:"
    say "      NSYS=/usr/local/cuda/bin/nsys bash scripts/run_nsys_profile.sh"
    say "without it: gpuscope bench run gpt --trace"
    say "            gpuscope analyze profiling_results/traces/gpt_nano.json.gz"
    say "      records each model with torch's profiler, and says where the time of one went."
    exit "$MISSING"
}

find_python() {
    local name
    for name in ${PYTHON:+"$PYTHON"} python python3; do
        if command -v -- "$name" >/dev/null; then
            printf '%s' "$name"
            return
        fi
    done
    say "error: neither python nor python3 is on the PATH"
    say "hint: name the interpreter that has gpuscope: PYTHON=.venv/bin/python bash scripts/run_nsys_profile.sh"
    exit "$MISSING"
}

folder=${OUTPUT_DIR:-profiling_results}
name=${OUTPUT:-cutile_nsys}
trace=cuda,nvtx,osrt,cudnn,cublas

while [[ $# -gt 0 ]]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        -d | --output-dir) folder=$(value_of "$@"); shift 2 ;;
        -n | --name) name=$(value_of "$@"); shift 2 ;;
        --trace) trace=$(value_of "$@"); shift 2 ;;
        --output-dir=* | --name=* | --trace=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
        --) shift; break ;;
        -m) break ;;
        -*) refuse "$1: there is no such option" ;;
        *) break ;;
    esac
done

nsys=${NSYS:-nsys}
command -v -- "$nsys" >/dev/null || missing_nsys

# nsys puts the ending on by itself.
name=${name%.nsys-rep}
report=$folder/$name
if [[ $name == */* ]]; then
    report=$name
fi

# What is timed under a profiler is no measurement: it goes to a folder of its own, and not into the history.
case ${1-} in
    '')
        [[ $# -eq 0 ]] || refuse "an empty word is no program"
        program=("$(find_python)" -m gpuscope.visualize_performance --run-profiling --max-repeats 20
            --no-history --output-dir "$folder/under_nsys")
        ;;
    -m)
        [[ $# -ge 2 ]] || refuse "-m: name a module"
        program=("$(find_python)" "$@")
        ;;
    *.py)
        [[ -f $1 ]] || refuse "$1: there is no such file"
        program=("$(find_python)" "$@")
        ;;
    *)
        command -v -- "$1" >/dev/null || refuse "$1: neither a script that ends in .py nor a command; a module is -m $1"
        program=("$@")
        ;;
esac

mkdir -p -- "$(dirname -- "$report")"
say "recording:$(printf ' %q' "${program[@]}")"

code=0
"$nsys" profile --trace="$trace" --cuda-memory-usage=true --force-overwrite=true -o "$report" "${program[@]}" || code=$?

if [[ $code -ne 0 ]]; then
    say "error: nsys ended with exit code $code, which is the program's if that could be started"
fi
if [[ -f $report.nsys-rep ]]; then
    # As a shell would have to be told.
    file=$(printf '%q' "$report.nsys-rep")
    base=$(printf '%q' "$report")
    say "report: $file"
    say "look at it:     nsys-ui $file"
    say "in numbers:     nsys stats $file"
    say "as a database:  nsys export --type sqlite --output $base.sqlite $file"
    say "gpuscope reads neither of these files today: for gpuscope analyze, record with torch's profiler"
    say "(gpuscope profile SCRIPT.py, or gpuscope bench run gpt --trace)."
fi
exit "$code"
