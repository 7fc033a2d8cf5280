// Reduce-scatter and all-gather of ours against stock MPI, a stream-add and a memcpy of the same bytes, in
// one run.
//
//   mpirun -n 2 build/release/bin/benchmark_collectives [repetitions [smallest bytes]]
//
// Each figure is the median of paired ratios: both sides of a pair run one after the other, the order
// changing from pair to pair, and a pair's time is the slowest rank's. Stock MPI gets the same raised malloc
// thresholds.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"
#include "lockstep/staging/buffer.hpp"
#include "paired.hpp"

namespace {

using namespace lockstep;

using benchmark::Bar;  // of value 0: no bar
using benchmark::quantile;

struct Figure {
  std::string name;
  std::function<void()> numerator;
  std::function<void()> denominator;
  Bar bar;
};

// Seconds of one call: all ranks start together, the slowest counts. MPI's barrier, so that ours is not
// favoured.
double timed(const std::function<void()>& body, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_seconds();
  for (int i = 0; i < calls; ++i) body();
  double seconds = (now_seconds() - start) / calls;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

std::string judged(const Bar& bar, double median, double low, double high) {
  if (bar.value == 0) return "no bar";
  const std::string words = std::string(bar.at_most ? "<= " : ">= ") + std::to_string(bar.value).substr(0, 4);
  return words + "  " + benchmark::verdict(bar, median, low, high);
}

// Small messages are timed several calls at once, so that the clock does not count.
int calls_for(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>((1 << 20) / bytes, 1, 200));
}

void measure(const Figure& figure, std::size_t bytes, int repetitions, int rank) {
  const int calls = calls_for(bytes);
  timed(figure.numerator, calls);
  timed(figure.denominator, calls);
  std::vector<double> ratios;
  std::vector<double> numerators;
  std::vector<double> denominators;
  for (int i = 0; i < repetitions; ++i) {
    const bool first = i % 2 == 0;
    double a = first ? timed(figure.numerator, calls) : 0;
    const double b = timed(figure.denominator, calls);
    if (!first) a = timed(figure.numerator, calls);
    ratios.push_back(a / b);
    numerators.push_back(a);
    denominators.push_back(b);
  }
  if (rank != 0) return;
  const double median = quantile(ratios, 0.5);
  const double low = quantile(ratios, 0.1);
  const double high = quantile(ratios, 0.9);
  std::printf("%9zu B  %-58s %7.3f  [%.3f, %.3f]  %9.1f us / %9.1f us  %s\n", bytes, figure.name.c_str(),
              median, low, high, quantile(numerators, 0.5) * 1e6, quantile(denominators, 0.5) * 1e6,
              judged(figure.bar, median, low, high).c_str());
  std::fflush(stdout);
}

// One rank's share of a size: memory of every kind that the figures need, touched.
struct Workload {
  Workload(comm::Collectives& shared, comm::Collectives& mpi, std::size_t bytes)
      : ranks(shared.size()),
        rank(shared.rank()),
        elements(bytes / sizeof(float)),
        own_elements(elements / static_cast<std::size_t>(ranks)),
        window(shared.allocate(bytes)),
        plain(mpi.allocate(bytes)),
        stock(bytes),
        stock_out(bytes),
        a(own_elements * sizeof(float)),
        b(own_elements * sizeof(float)),
        c(own_elements * sizeof(float)) {
    for (int r = 0; r < ranks; ++r) {
      cuts.push_back(own_elements * static_cast<std::size_t>(r));
      counts.push_back(static_cast<int>(own_elements));
      displacements.push_back(static_cast<int>(cuts.back()));
    }
    cuts.push_back(elements);
  }

  int ranks;
  int rank;
  std::size_t elements;
  std::size_t own_elements;
  staging::Buffer window, plain, stock, stock_out, a, b, c;
  std::vector<std::size_t> cuts;
  std::vector<int> counts, displacements;
};

// c = a + b over the bytes that one rank reduces: what the memory allows.
void stream_add(Workload& work) {
  const auto* a = reinterpret_cast<const float*>(work.a.data());
  const auto* b = reinterpret_cast<const float*>(work.b.data());
  auto* c = reinterpret_cast<float*>(work.c.data());
#pragma GCC ivdep
  for (std::size_t i = 0; i < work.own_elements; ++i) c[i] = a[i] + b[i];
}

void reduce_scatter(comm::Collectives& collectives, std::byte* data, const Workload& work,
                    comm::Reduction reduction) {
  collectives.reduce_scatter(data, work.cuts, Dtype::float32, reduction).wait();
}

void stock_reduce_scatter(Workload& work) {
  MPI_Reduce_scatter(work.stock.data(), work.stock_out.data(), work.counts.data(), MPI_FLOAT, MPI_SUM,
                     MPI_COMM_WORLD);
}

void stock_all_gather(Workload& work) {
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, work.stock.data(), work.counts.data(),
                 work.displacements.data(), MPI_FLOAT, MPI_COMM_WORLD);
}

std::vector<Figure> figures(comm::Collectives& shared, comm::Collectives& mpi, Workload& work,
                            std::size_t bytes) {
  const bool large = bytes >= (16u << 20);
  const auto ours = [&] { reduce_scatter(shared, work.window.data(), work, comm::Reduction::exact); };
  const auto over_mpi = [&] { reduce_scatter(mpi, work.plain.data(), work, comm::Reduction::exact); };
  const auto staged = [&] { reduce_scatter(shared, work.plain.data(), work, comm::Reduction::exact); };
  const auto gather = [&] { shared.all_gather(work.window.data(), work.cuts, Dtype::float32).wait(); };
  const auto gather_mpi = [&] { mpi.all_gather(work.plain.data(), work.cuts, Dtype::float32).wait(); };
  const auto copy = [&] { std::memcpy(work.c.data(), work.a.data(), work.c.size()); };
  const auto stock = [&] { stock_reduce_scatter(work); };
  const auto stock_gather = [&] { stock_all_gather(work); };
  return {
      {"exact reduce-scatter, shared segment / stream-add",
       ours,
       [&] { stream_add(work); },
       {large ? 1.25 : 0.0, true}},
      {"stock MPI reduce-scatter / ours, shared segment", stock, ours, {large ? 3.0 : 0.0, false}},
      {"stock MPI reduce-scatter / ours, own memory, through slots", stock, staged, {}},
      {"stock MPI reduce-scatter / ours over MPI, exact", stock, over_mpi, {}},
      {"all-gather, shared segment / memcpy", gather, copy, {}},
      {"stock MPI all-gather / ours, shared segment", stock_gather, gather, {}},
      {"stock MPI all-gather / ours over MPI", stock_gather, gather_mpi, {}},
  };
}

void measure_small(comm::Collectives& collectives, int repetitions, int rank) {
  double value = 1;
  const Figure figure{"stock MPI all-reduce / ours, " + std::string(collectives.backend()),
                      [&] { MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); },
                      [&] { collectives.all_reduce(&value, 1, Dtype::float64, comm::ReduceOp::max).wait(); },
                      {}};
  measure(figure, sizeof(double), repetitions, rank);
}

int run(int argc, char** argv) {
  Runtime runtime(argc, argv, {});
  log::start(runtime.rank(), runtime.size());
  staging::tune_allocator();
  const int repetitions = argc > 1 ? std::max(std::atoi(argv[1]), 15) : 31;
  if (runtime.size() < 2) throw ContractError("start this benchmark with 2 ranks: mpirun -n 2 ...");
  auto shared = comm::make_collectives(comm::Communicator::world(), "shared_memory", 60);
  auto mpi = comm::make_collectives(comm::Communicator::world(), "mpi", 60);
  if (runtime.rank() == 0) {
    std::printf("%d ranks, %d pairs a figure: ratio, [10, 90 %%], times of both sides, bar\n", runtime.size(),
                repetitions);
  }
  measure_small(*shared, repetitions, runtime.rank());
  measure_small(*mpi, repetitions, runtime.rank());
  const std::size_t smallest = argc > 2 ? std::max(std::strtoul(argv[2], nullptr, 10), 1024ul) : 1024;
  for (std::size_t bytes = smallest; bytes <= (64u << 20); bytes *= 4) {
    Workload work(*shared, *mpi, bytes);
    for (const Figure& figure : figures(*shared, *mpi, work, bytes))
      measure(figure, bytes, repetitions, runtime.rank());
    shared->barrier().wait();
  }
  runtime.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::run_guarded([&] { return run(argc, argv); });
}
