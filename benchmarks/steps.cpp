// A sharded learner step against the same step without communication, and a local one against the bare
// LibTorch step. Run: mpirun -n 2 build/release/bin/benchmark_steps [pairs]
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>

#include <cstdlib>
#include <functional>

#include "lockstep/core/runtime.hpp"
#include "lockstep/learner/learner.hpp"
#include "lockstep/losses/ppo.hpp"
#include "lockstep/staging/buffer.hpp"
#include "models.hpp"
#include "paired.hpp"

namespace lockstep::benchmark {
namespace {

constexpr double clip_norm = 1.0;
const learner::OptimizerOptions adamw{.learning_rate = 1e-4, .weight_decay = 0.01};

using Step = std::function<void()>;

// What PyTorch users write by hand: zero, forward, backward, clip, fused AdamW over the parameters as they
// are.
class BareStep {
 public:
  BareStep(std::vector<at::Tensor> parameters, std::function<at::Tensor()> loss)
      : parameters_(std::move(parameters)), loss_(std::move(loss)) {
    for (const at::Tensor& parameter : parameters_) {
      first_.push_back(at::zeros_like(parameter));
      second_.push_back(at::zeros_like(parameter));
      steps_.push_back(at::zeros({}));
    }
  }
  void operator()() {
    for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    loss_().backward();
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
    const at::NoGradGuard no_gradient;
    const at::Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
    at::_foreach_mul_(gradients, (clip_norm / (norm + 1e-6)).clamp_max(1.0));
    for (at::Tensor& step : steps_) step.add_(1);
    at::_fused_adamw_(parameters_, gradients, first_, second_, {}, steps_, adamw.learning_rate, adamw.beta1,
                      adamw.beta2, adamw.weight_decay, adamw.epsilon, false, false);
  }

 private:
  std::vector<at::Tensor> parameters_, first_, second_, steps_;
  std::function<at::Tensor()> loss_;
};

template <class Model, class Loss>
std::unique_ptr<learner::Learner> make_learner(comm::Collectives& collectives, learner::Sharding sharding) {
  const auto model = std::make_shared<Model>();
  auto stepper = std::make_shared<learner::OptimizationStepper>(
      std::vector<learner::ParameterGroup>{
          {.parameters = learner::trainable_parameters(*model), .options = adamw}},
      learner::StepperOptions{.clip_norm = clip_norm});
  return std::make_unique<learner::Learner>(
      model, std::make_shared<Loss>(model), stepper, collectives,
      learner::LearnerOptions{.shards = collectives.size(), .store = {.sharding = sharding}});
}

class Bench {
 public:
  explicit Bench(int pairs)
      : pairs_(pairs),
        all_(comm::make_collectives(comm::Communicator::world(), "auto", 600)),
        alone_(comm::make_collectives(comm::Communicator::world().split(all_->rank(), 0), "auto", 600)) {}

  comm::Collectives& all() { return *all_; }
  comm::Collectives& alone() { return *alone_; }

  // Ranks start together; a pair's time is the slowest rank's.
  double time(const Step& step, int repeats) {
    all_->barrier().wait();
    const double started = now_seconds();
    for (int i = 0; i < repeats; ++i) step();
    double elapsed = now_seconds() - started;
    all_->all_reduce(&elapsed, 1, Dtype::float64, comm::ReduceOp::max).wait();
    return elapsed;
  }

  void compare(const std::string& name, const Step& a, const Step& b, const Bar& bar, int repeats) {
    for (int warm = 0; warm < 2; ++warm) time(a, repeats), time(b, repeats);
    std::vector<double> ratios, seconds;
    for (int pair = 0; pair < pairs_; ++pair) {
      seconds.push_back(time(a, repeats) / repeats);
      ratios.push_back(seconds.back() / (time(b, repeats) / repeats));
    }
    if (all_->rank() == 0)
      print_ratio(fmt::format("{} ({:.3g} ms)", name, 1e3 * quantile(seconds, 0.5)), ratios, bar);
  }

 private:
  int pairs_;
  std::unique_ptr<comm::Collectives> all_, alone_;
};

template <class Model, class Loss>
void sharded_against_alone(Bench& bench, const std::string& name, const Batch& batch, double bar,
                           int repeats) {
  const auto sharded = make_learner<Model, Loss>(bench.all(), learner::Sharding::optimizer);
  const auto local = make_learner<Model, Loss>(bench.alone(), learner::Sharding::none);
  bench.compare(
      name + ": optimizer sharding / no communication", [&] { sharded->update({batch}); },
      [&] { local->update({batch}); }, {.value = bar}, repeats);
}

void mlp(Bench& bench) {
  Batch batch;
  batch.add("x", at::randn({256 / bench.all().size(), 376}));
  batch.add("y", at::randn({256 / bench.all().size(), 17}));
  sharded_against_alone<MlpModel, MlpLoss>(bench, "MLP 1.46M", batch, 1.10, 10);

  const auto local = make_learner<MlpModel, MlpLoss>(bench.alone(), learner::Sharding::none);
  const auto model = std::make_shared<MlpModel>();
  BareStep bare(model->parameters(),
                [&] { return at::mse_loss(model->forward(batch.at("x")), batch.at("y")); });
  bench.compare(
      "MLP 1.46M: update / bare LibTorch step", [&] { local->update({batch}); }, bare, {.value = 1.03}, 10);
}

void gpt(Bench& bench) {
  Batch batch;
  batch.add("tokens", at::randint(GptModel::vocabulary, {8 / bench.all().size(), 129}, at::kLong));
  sharded_against_alone<GptModel, GptLoss>(bench, "GPT 17.3M", batch, 1.05, 1);
}

// The PPO network of CartPole at 128 rows: the same network and loss, stepped by us and by hand.
void ppo(Bench& bench) {
  const nn::ActorCriticOptions options{.observation_size = 4, .discrete = true, .action_size = 2};
  const std::int64_t rows = 128;
  Batch batch;
  batch.add(key::observation, at::randn({rows, 4}));
  batch.add(key::action, at::randint(2, {rows}, at::kLong));
  batch.add(key::log_prob, at::full({rows}, -0.69f));
  batch.add(key::advantage, at::randn({rows}));
  batch.add(key::value_target, at::randn({rows}));
  const losses::PpoOptions ppo_options{.entropy_coefficient = 0.0, .normalize_advantage = true};
  const auto make_network = [&] {
    auto network = std::make_shared<nn::ActorCritic>(options);
    network->initialize(0);
    return network;
  };
  const auto network = make_network();
  auto stepper = std::make_shared<learner::OptimizationStepper>(
      std::vector<learner::ParameterGroup>{
          {.parameters = learner::trainable_parameters(*network), .options = adamw}},
      learner::StepperOptions{.clip_norm = clip_norm});
  learner::Learner ours(network, std::make_shared<losses::PpoLoss>(network, ppo_options), stepper,
                        bench.alone(), {.shards = 1});

  const auto other = make_network();
  losses::PpoLoss loss(other, ppo_options);
  BareStep bare(other->parameters(), [&] {
    losses::Totals totals;
    loss.add_totals(batch, totals);
    at::Tensor total;
    for (const auto& [name, value] : loss.forward(batch, totals))
      if (name.starts_with("loss")) total = total.defined() ? total + value : value;
    return total;
  });
  bench.compare(
      "PPO network, 128 rows: update / bare LibTorch step", [&] { ours.update({batch}); }, bare,
      {.value = 1.25}, 50);
}

}  // namespace
}  // namespace lockstep::benchmark

int main(int argc, char** argv) {
  using namespace lockstep;
  return run_guarded([&] {
    Runtime runtime(argc, argv, {});
    staging::tune_allocator();
    benchmark::Bench bench(argc > 1 ? std::atoi(argv[1]) : 15);
    benchmark::ppo(bench);
    benchmark::mlp(bench);
    benchmark::gpt(bench);
    runtime.finish();
    return 0;
  });
}
