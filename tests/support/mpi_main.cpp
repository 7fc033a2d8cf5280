// The main of every MPI test program. Rank 0 alone speaks; a test passes when it passed on every rank, and
// the ranks on which it failed are listed. The verdict is reduced at the end of each test, where every rank
// arrives.
#include <gtest/gtest.h>
#include <mpi.h>
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <string>
#include <vector>

#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"

namespace {

class RankVerdicts : public testing::EmptyTestEventListener {
 public:
  RankVerdicts() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~RankVerdicts() override { MPI_Comm_free(&comm_); }

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed() && rank_ != 0) {
      std::fprintf(stderr, "[rank %d] %s:%d: %s\n", rank_, result.file_name() ? result.file_name() : "?",
                   result.line_number(), result.message());
    }
  }

  void OnTestEnd(const testing::TestInfo& info) override {
    const int failed = info.result()->Failed() ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(size_));
    MPI_Allgather(&failed, 1, MPI_INT, all.data(), 1, MPI_INT, comm_);
    std::string ranks;
    for (int r = 0; r < size_; ++r) {
      if (all[static_cast<std::size_t>(r)] != 0) ranks += fmt::format(" {}", r);
    }
    if (ranks.empty()) return;
    if (rank_ == 0) {
      std::fprintf(stderr, "%s.%s failed on rank%s\n", info.test_suite_name(), info.name(), ranks.c_str());
    }
    any_failed_ = true;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;

 public:
  bool any_failed_ = false;
};

int run_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lockstep::Runtime runtime(argc, argv, {});
  lockstep::log::start(runtime.rank(), runtime.size());
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (runtime.rank() != 0) delete listeners.Release(listeners.default_result_printer());
  auto* verdicts = new RankVerdicts;
  listeners.Append(verdicts);
  const int result = RUN_ALL_TESTS();
  const bool failed = verdicts->any_failed_ || result != 0;
  // Before the runtime ends MPI: the listener holds a communicator.
  delete listeners.Release(verdicts);
  runtime.finish();
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::run_guarded([&] { return run_tests(argc, argv); });
}
