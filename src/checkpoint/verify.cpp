#include <spdlog/fmt/fmt.h>

#include "checkpoint/stored_file.hpp"
#include "lockstep/checkpoint/reader.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {

void verify(const std::string& path) {
  const StoredFile file = open_checkpoint(path, false);
  for (const char* group : {"model", "training", "history", "provenance"}) {
    for (const DatasetInfo& info : file.list(group)) {
      const StoredDataset dataset = file.open(info.name);
      const std::string stored = file.guarded([&] { return dataset.stored_hash(); });
      const std::string computed = file.guarded([&] { return dataset.computed_hash().hex(); });
      if (stored == computed) continue;
      throw CheckpointError(fmt::format("checkpoint {} is damaged: /{} has hash {}, its attribute says {}",
                                        path, info.name, computed, stored));
    }
  }
}

}  // namespace lockstep::checkpoint
