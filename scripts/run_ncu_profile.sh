#!/usr/bin/env bash
# Measures single kernels of a program with Nsight Compute: how far each is from what the GPU can do, and why.
set -euo pipefail

readonly MISSING=127 WRONG_USAGE=2

usage() {
    cat <<'END'
usage: run_ncu_profile.sh [OPTIONS] [SCRIPT.py | -m MODULE | COMMAND] [ARGUMENTS...]

Measures kernels of a program with Nsight Compute (ncu). Without one, the smallest model of the built-in GPT benchmark
is measured: python -m gpuscope.visualize_performance --run-profiling --configs nano, a few passes, kept out of the
history.

ncu runs each kernel again and again, dozens of times with --set full, and saves and restores the GPU's memory around
each: a kernel takes up to thousands of times as long. So only the first kernels are measured, and the program should
be short. Times that the program itself takes under ncu mean nothing.

options, which come before the program:
  -c, --count N             so many kernels, 0 for all of them [50]
  -s, --skip N              after so many that are not measured, such as those of the warm-up [0]
  -k, --kernel REGEX        only kernels whose names match [all]
      --set NAME            what ncu measures of each: basic, detailed, full, roofline [full]
  -d, --output-dir FOLDER   where the report goes [profiling_results]
  -n, --name NAME           what it is called, or a path if there is a / in it [cutile_ncu]
  -h, --help                this text

environment:
  OUTPUT_DIR, OUTPUT        as --output-dir and --name
  PYTHON                    the interpreter [python, else python3]
  NCU                       the ncu to use [the one on the PATH]

examples:
  bash scripts/run_ncu_profile.sh
  bash scripts/run_ncu_profile.sh --kernel 'gemm|flash' --count 10 train.py --epochs 1
  OUTPUT=attention bash scripts/run_ncu_profile.sh -m mypackage.train

The exit code is that of ncu; 2 for wrong usage, 127 if ncu is not installed.
END
}

say() { printf '%s\n' "$*" >&2; }

refuse() {
    say "error: $1"
    say "hint: run_ncu_profile.sh --help"
    exit "$WRONG_USAGE"
}

# The value of an option: there has to be one.
value_of() {
    [[ $# -ge 2 && -n $2 ]] || refuse "$1: a value is missing"
    printf '%s' "$2"
}

number_of() {
    local value
    value=$(value_of "$@")
    [[ $value =~ ^[0-9]+$ ]] || refuse "$1 $value: use a whole number"
    printf '%s' "$value"
}

missing_ncu() {
    say "error: ncu is not installed, or not on the PATH"
    say "hint: ncu is the command of NVIDIA Nsight Compute. It comes with the CUDA toolkit, and as a package of its"
    say "      own (nsight-compute) from NVIDIA. If it is installed, add its folder to the PATH, or name it:"
    say "      NCU=/usr/local/cuda/bin/ncu bash scripts/run_ncu_profile.sh"
    say "without it: gpuscope bench run gpt --trace"
    say "            gpuscope analyze profiling_results/traces/gpt_nano.json.gz"
    say "      records each model with torch's profiler, and says where the time of one went; gpuscope ops has the"
    say "      FLOPs and bytes of its operators, and how far they are from the roof of the GPU."
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
    say "hint: name the interpreter that has gpuscope: PYTHON=.venv/bin/python bash scripts/run_ncu_profile.sh"
    exit "$MISSING"
}

folder=${OUTPUT_DIR:-profiling_results}
name=${OUTPUT:-cutile_ncu}
set_name=full
count=50
skip=0
kernel=

while [[ $# -gt 0 ]]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        -c | --count) count=$(number_of "$@"); shift 2 ;;
        -s | --skip) skip=$(number_of "$@"); shift 2 ;;
        -k | --kernel) kernel=$(value_of "$@"); shift 2 ;;
        --set) set_name=$(value_of "$@"); shift 2 ;;
        -d | --output-dir) folder=$(value_of "$@"); shift 2 ;;
        -n | --name) name=$(value_of "$@"); shift 2 ;;
        --count=* | --skip=* | --kernel=* | --set=* | --output-dir=* | --name=*)
            set -- "${1%%=*}" "${1#*=}" "${@:2}"
            ;;
        --) shift; break ;;
        -m) break ;;
        -*) refuse "$1: there is no such option" ;;
        *) break ;;
    esac
done

ncu=${NCU:-ncu}
command -v -- "$ncu" >/dev/null || missing_ncu

# ncu puts the ending on by itself.
name=${name%.ncu-rep}
report=$folder/$name
if [[ $name == */* ]]; then
    report=$name
fi

# What is timed under a profiler is no measurement: it goes to a folder of its own, and not into the history.
case ${1-} in
    '')
        [[ $# -eq 0 ]] || refuse "an empty word is no program"
        program=("$(find_python)" -m gpuscope.visualize_performance --run-profiling --configs nano --warmup 1
            --max-repeats 3 --no-history --output-dir "$folder/under_ncu")
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

options=(--set "$set_name" --target-processes all --force-overwrite -o "$report")
if [[ $count -gt 0 ]]; then
    options+=(--launch-count "$count")
else
    say "warning: every kernel of the program is measured; this can take hours"
fi
if [[ $skip -gt 0 ]]; then
    options+=(--launch-skip "$skip")
fi
if [[ -n $kernel ]]; then
    options+=(--kernel-name "regex:$kernel")
fi

mkdir -p -- "$(dirname -- "$report")"
say "warning: ncu runs each kernel many times over, so the program takes far longer than usual"
say "measuring:$(printf ' %q' "${program[@]}")"

code=0
"$ncu" "${options[@]}" "${program[@]}" || code=$?

if [[ $code -ne 0 ]]; then
    say "error: ncu ended with exit code $code"
    say "hint: ERR_NVGPUCTRPERM means that only administrators may read the GPU's counters; NVIDIA's page on it says how"
    say "      to allow it (NVreg_RestrictProfilingToAdminUsers=0)"
fi
if [[ -f $report.ncu-rep ]]; then
    # As a shell would have to be told.
    file=$(printf '%q' "$report.ncu-rep")
    say "report: $file"
    say "look at it:  ncu-ui $file"
    say "in words:    ncu --import $file --page details"
    say "as a table:  ncu --import $file --csv --page raw"
    say "gpuscope does not read such reports today."
fi
exit "$code"
