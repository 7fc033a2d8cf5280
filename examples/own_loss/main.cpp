// A network and a loss of one's own, trained with sharded parameters: the same bits on any number of ranks.
#include <ATen/ATen.h>

#include <cstdio>

#include "lockstep/core/random.hpp"
#include "lockstep/core/runtime.hpp"
#include "lockstep/learner/learner.hpp"
#include "lockstep/nn/initialization.hpp"
#include "lockstep/nn/mlp.hpp"

using namespace lockstep;

// Mean over all rows of (network(x) - y)^2: sums divided by a total that is known before backward.
struct SquaredError : losses::Loss {
  explicit SquaredError(std::shared_ptr<nn::Mlp> network) : network(std::move(network)) {}
  torch::nn::Module& module() override { return *network; }
  void add_totals(const Batch& leaf, losses::Totals& totals) const override {
    totals["rows"].add(static_cast<double>(leaf.rows()));
  }
  losses::Outputs forward(const Batch& leaf, const losses::Totals& totals) override {
    const at::Tensor error = network->forward(leaf.at("x")) - leaf.at("y");
    return {{"loss_square", error.square().sum() / totals.at("rows").value()}};
  }
  std::shared_ptr<nn::Mlp> network;
};

// 64 rows of y = sin(3 x), different ones in each shard and step.
Batch rows_of(std::uint32_t shard, std::uint64_t step) {
  RandomStream stream(0, StreamId::test, shard, 64 * step);
  const at::Tensor x = at::empty({64, 1});
  for (int row = 0; row < 64; ++row) x[row][0] = stream.uniform(-1, 1);
  Batch batch;
  batch.add("x", x);
  batch.add("y", at::sin(3 * x));
  return batch;
}

int main(int argc, char** argv) {
  return run_guarded([&] {
    Runtime runtime(argc, argv, {});
    const auto ranks = comm::make_collectives(comm::Communicator::world(), "auto", 60);
    auto network = std::make_shared<nn::Mlp>(nn::MlpOptions{.inputs = 1, .hidden = {32, 32}, .outputs = 1});
    nn::fan_in_uniform_(*network, 0, "network");
    auto stepper = std::make_shared<learner::OptimizationStepper>(
        std::vector<learner::ParameterGroup>{
            {.parameters = learner::trainable_parameters(*network), .options = {.learning_rate = 3e-3}}},
        learner::StepperOptions{});
    learner::Learner learner(network, std::make_shared<SquaredError>(network), stepper, *ranks,
                             {.shards = 4, .store = {.sharding = learner::Sharding::parameters}});
    for (std::uint64_t step = 0; step < 500; ++step) {
      ShardedBatch batch;
      for (std::int64_t i = 0; i < learner.own_shards(); ++i)
        batch.push_back(
            rows_of(static_cast<std::uint32_t>(learner.first_shard() + i * learner.shard_stride()), step));
      const learner::StepResult result = learner.update(batch);
      if (runtime.rank() == 0 && step % 100 == 99)
        std::printf("step %lu  loss_square %.17g\n", step + 1, result.metrics.at("loss_square"));
    }
    runtime.finish();
    return 0;
  });
}
