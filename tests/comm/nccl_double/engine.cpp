#include "engine.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace lockstep::nccl_double {
namespace {

// Longer than NCCL is in progress over a call in any test.
constexpr int idle_before_late_stream = 100;

struct Engine {
  Behaviour behaviour;
  std::vector<std::string> calls, violations;
  CUstream_st default_stream;
  std::vector<CUstream_st*> streams{&default_stream};
  int streams_made = 0;
  int idle = 0;  // how often only the late stream could run, since it last did
  std::mt19937 random;
  MPI_Comm messages = MPI_COMM_NULL;
};

Engine& engine() {
  static Engine one;
  return one;
}

class Function final : public Task {
 public:
  explicit Function(std::function<void()> work) : work_(std::move(work)) {}
  bool step() override {
    work_();
    return true;
  }

 private:
  std::function<void()> work_;
};

bool can_run(const CUstream_st* stream) {
  return !stream->tasks.empty() && stream->tasks.front()->ready();
}

CUstream_st* choose() {
  Engine& e = engine();
  std::vector<CUstream_st*> able;
  std::copy_if(e.streams.begin(), e.streams.end(), std::back_inserter(able), can_run);
  // Not for ever: what can run beside it may be waiting for a rank that waits for it.
  const bool put_off = able.size() > 1 ? e.random() % 50 != 0 : ++e.idle < idle_before_late_stream;
  if (put_off) std::erase(able, e.behaviour.late_stream);
  if (able.empty()) return nullptr;
  CUstream_st* chosen = able[e.random() % able.size()];
  if (chosen == e.behaviour.late_stream) e.idle = 0;
  return chosen;
}

}  // namespace

void start(unsigned seed) {
  Engine& e = engine();
  if (e.messages == MPI_COMM_NULL) MPI_Comm_dup(MPI_COMM_WORLD, &e.messages);
  int rank = 0;
  MPI_Comm_rank(e.messages, &rank);
  e.behaviour = {};
  e.calls.clear();
  e.violations.clear();
  // Tasks that a test left may have messages under way: their buffers stay.
  for (CUstream_st* stream : e.streams) {
    for (auto& task : stream->tasks) static_cast<void>(task.release());
    stream->tasks.clear();
  }
  e.streams = {&e.default_stream};
  e.streams_made = 0;
  e.random.seed(seed * 1009 + static_cast<unsigned>(rank));
}

Behaviour& behaviour() {
  return engine().behaviour;
}
const std::vector<std::string>& calls() {
  return engine().calls;
}
void clear_calls() {
  engine().calls.clear();
}
const std::vector<std::string>& violations() {
  return engine().violations;
}
MPI_Comm messages() {
  return engine().messages;
}

void note(std::string call) {
  engine().calls.push_back(std::move(call));
}
void violate(std::string sentence) {
  engine().violations.push_back(std::move(sentence));
}
bool fails(const char* call) {
  return engine().behaviour.failing_call == call;
}

std::string name_of(cudaStream_t stream) {
  return stream == nullptr ? "default" : "stream " + std::to_string(stream->number);
}

void launch(cudaStream_t stream, const std::string& name, std::function<void()> work) {
  note(name + "(" + name_of(stream) + ")");
  enqueue(stream, std::make_unique<Function>(std::move(work)));
}

void enqueue(cudaStream_t stream, std::unique_ptr<Task> task) {
  (stream == nullptr ? &engine().default_stream : stream)->tasks.push_back(std::move(task));
}

void progress() {
  for (auto steps = engine().random() % 4; steps > 0; --steps) {
    CUstream_st* stream = choose();
    if (stream == nullptr) return;
    if (stream->tasks.front()->step()) stream->tasks.pop_front();
  }
}

void drop(ncclComm_t communicator) {
  for (CUstream_st* stream : engine().streams) {
    for (auto& task : stream->tasks) {
      if (task->belongs_to(communicator)) static_cast<void>(task.release());
    }
    std::erase(stream->tasks, nullptr);
  }
}

}  // namespace lockstep::nccl_double

using lockstep::nccl_double::engine;

extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st{.number = ++engine().streams_made, .tasks = {}};
  engine().streams.push_back(*stream);
  return cudaSuccess;
}

// What is on it still runs, as CUDA has it.
extern "C" cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
