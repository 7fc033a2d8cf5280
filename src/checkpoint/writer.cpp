#include "lockstep/checkpoint/writer.hpp"

#include <functional>
#include <optional>
#include <utility>

#include "checkpoint/file_builder.hpp"
#include "checkpoint/plan_cache.hpp"
#include "checkpoint/publisher.hpp"
#include "checkpoint/together.hpp"
#include "checkpoint/user_block.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/data/gather.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr std::size_t least_chunk = 64;

void check_options(const WriterOptions& options) {
  if (options.keep < 1) throw ContractError("a checkpoint writer must keep at least 1 file");
  if (options.keep_every < 0) throw ContractError("a checkpoint writer's keep_every must not be negative");
  if (options.chunk_bytes < least_chunk)
    throw ContractError("a checkpoint writer's chunks must have at least 64 bytes");
}

// Feeds a state's pieces to the file; begins and ends datasets where one entry gives way to the next.
class StateStream {
 public:
  StateStream(FileBuilder& file, const StateView& state) : file_(file), state_(state) {}

  void take(const Piece& piece, std::span<const std::byte> bytes) {
    advance_to(piece.entry + std::size_t{1});
    file_.append(bytes);
  }
  void finish() {
    advance_to(state_.entries.size());
    if (begun_ > 0) file_.end();
  }

 private:
  // Entries without elements come in no piece: they are begun and ended on the way.
  void advance_to(std::size_t count) {
    for (; begun_ < count; ++begun_) {
      if (begun_ > 0) file_.end();
      const StateEntry& entry = state_.entries[begun_];
      file_.begin(entry.name, entry.dtype, entry.shape);
    }
  }

  FileBuilder& file_;
  const StateView& state_;
  std::size_t begun_ = 0;
};

// Removes the temporary when a write is left early; once it has been renamed there is none.
class TemporaryGuard {
 public:
  TemporaryGuard(const Publisher& publisher, std::int64_t round) : publisher_(publisher), round_(round) {}
  ~TemporaryGuard() { publisher_.discard(round_); }
  TemporaryGuard(const TemporaryGuard&) = delete;
  TemporaryGuard& operator=(const TemporaryGuard&) = delete;

 private:
  const Publisher& publisher_;
  std::int64_t round_;
};

}  // namespace

struct Writer::State {
  State(comm::Collectives& all, const WriterOptions& options)
      : collectives(all), publisher(options), plans(options.chunk_bytes), gather(all, options.chunk_bytes) {}

  bool on_rank_0() const noexcept { return collectives.rank() == 0; }

  // Collective. A named place where a fault can be injected on any rank, then rank 0's work.
  void step(std::string_view site, std::int64_t round, const std::function<void()>& work) {
    together(collectives, [&] {
      const fault::Action action = fault::at(site, static_cast<std::uint64_t>(round));
      if (!on_rank_0()) return;
      if (action == fault::Action::flip) publisher.damage(round);
      work();
    });
  }

  // Collective. Leaves rank 0 with a whole, closed and sealed temporary file.
  void write_temporary(const Contents& contents, const GatherPlan& plan);
  void publish(std::int64_t round);

  comm::Collectives& collectives;
  Publisher publisher;
  PlanCache plans;
  Gather gather;
};

void Writer::State::write_temporary(const Contents& contents, const GatherPlan& plan) {
  const std::int64_t round = contents.round;
  std::optional<FileBuilder> file;
  std::optional<StateStream> stream;
  step("checkpoint.begin", round, [&] {
    publisher.discard(round);
    file.emplace(publisher.temporary(round), round);
    stream.emplace(*file, contents.state);
  });
  together(collectives, [&] {
    gather.run(
        contents.state, plan, [&](const Piece& piece, auto bytes) { stream->take(piece, bytes); },
        [&] { fault::at("checkpoint.chunk", static_cast<std::uint64_t>(round)); });
  });
  step("checkpoint.close", round, [&] {
    stream->finish();
    for (const auto& [metric, values] : contents.history) file->add_history(metric, values);
    for (const auto& [key, text] : contents.provenance) file->add_provenance(key, text);
    file->close();
    seal(publisher.temporary(round));
  });
}

void Writer::State::publish(std::int64_t round) {
  step("checkpoint.sync", round, [&] { publisher.sync(round); });
  step("checkpoint.verify", round, [&] { publisher.verify(round); });
  step("checkpoint.rename", round, [&] { publisher.publish(round); });
  step("checkpoint.directory", round, [&] { publisher.sync_folder(); });
  step("checkpoint.pointer", round, [&] { publisher.point_to(round); });
  step("checkpoint.prune", round, [&] { publisher.prune(round); });
}

Writer::Writer(comm::Collectives& collectives, WriterOptions options) {
  check_options(options);
  state_ = std::make_unique<State>(collectives, options);
  if (state_->on_rank_0()) state_->publisher.prepare();
}

Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

std::string Writer::write(const Contents& contents) {
  const std::string path = state_->publisher.path(contents.round);
  const GatherPlan& plan = state_->plans.plan_for(state_->collectives, contents);
  std::optional<TemporaryGuard> guard;
  if (state_->on_rank_0()) guard.emplace(state_->publisher, contents.round);
  state_->write_temporary(contents, plan);
  state_->publish(contents.round);
  return path;
}

}  // namespace lockstep::checkpoint
