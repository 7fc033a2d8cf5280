#!/usr/bin/env bash
# On a machine with GPUs: builds with a CUDA LibTorch in build/cuda (jobs/check_cuda_build.sh) and runs the collectives' suite
# over NCCL, on device memory too, at 1, 2, 4 and 8 ranks as far as there are GPUs.
#
#   bash jobs/check_gpu.sh
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

command -v nvidia-smi >/dev/null || die "no nvidia-smi: this machine has no GPU, or no driver for it"
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
((gpus > 0)) || die "nvidia-smi lists no GPU"
say "$gpus GPUs: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c | tr -s ' ' | tr '\n' ';')"

bash jobs/check_cuda_build.sh comm_gpu_collectives_test comm_nccl_library_test
allow_any_launch
for ranks in 1 2 4 8; do
  ((ranks <= gpus)) || break
  show_step "gpu_collectives_np$ranks" mpirun -n "$ranks" build/cuda/bin/comm_gpu_collectives_test
done
say "The NCCL backend passes its suite on $gpus GPUs"
