#include "device_choice.hpp"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <map>
#include <string>

#include "cuda_check.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/host.hpp"

namespace lockstep::comm {
namespace {

struct Finding {
  int device = 0;
  std::string bus;      // the GPU's address on its host; empty when there is a problem
  std::string problem;  // why this rank has no GPU
};

Finding problem(std::string text) {
  return {.device = 0, .bus = {}, .problem = std::move(text)};
}

Finding look(int local_rank, int local_ranks) {
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted != cudaSuccess || devices == 0) {
    return problem(fmt::format("no CUDA device (cudaGetDeviceCount: {})", cudaGetErrorString(counted)));
  }
  if (devices > 1 && local_rank >= devices) {
    return problem(fmt::format("{} ranks on a node of {} CUDA devices; each rank needs one of its own",
                               local_ranks, devices));
  }
  const int device = devices == 1 ? 0 : local_rank;
  std::array<char, 32> bus{};
  const cudaError_t named = cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device);
  if (named != cudaSuccess)
    return problem(fmt::format("CUDA device {}: {}", device, cudaGetErrorString(named)));
  return {.device = device, .bus = bus.data(), .problem = {}};
}

// The problems of all ranks, a phrase a rank; empty when there are none. A finding is "<place>\n<problem>".
std::string problems(const std::vector<std::string>& findings) {
  std::map<std::string, std::size_t> owner;
  std::string text;
  const auto add = [&](std::size_t rank, const std::string& what) {
    text += fmt::format("{}rank {}: {}", text.empty() ? "" : "; ", rank, what);
  };
  for (std::size_t r = 0; r < findings.size(); ++r) {
    const std::size_t cut = findings[r].find('\n');
    const std::string place = findings[r].substr(0, cut);
    const std::string trouble = findings[r].substr(cut + 1);
    if (!trouble.empty()) {
      add(r, trouble);
    } else if (const auto [other, fresh] = owner.emplace(place, r); !fresh) {
      add(r, fmt::format("shares the CUDA device {} with rank {}; each rank needs one of its own", place,
                         other->second));
    }
  }
  return text;
}

}  // namespace

int choose_device(MpiCollectives& mpi) {
  const Communicator node = mpi.communicator().split_node();
  const Finding mine = look(node.rank(), node.size());
  // Addresses on the bus tell GPUs apart on one host only.
  const std::string place = fmt::format("{} of {}", mine.bus, host_name());
  const std::string text = problems(all_gather_text(mpi, place + "\n" + mine.problem));
  if (!text.empty())
    throw CommError(
        fmt::format("collectives over NCCL: {}. Without a GPU for each rank, use \"auto\"", text));
  LOCKSTEP_CUDA(cudaSetDevice(mine.device));
  return mine.device;
}

}  // namespace lockstep::comm
