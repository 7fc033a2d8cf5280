#include "run_state.hpp"

namespace lockstep::app {

StateView run_view(algorithms::Algorithm& algorithm, Counters& counters) {
  StateView view = algorithm.learner().state();
  view.append(algorithm.source().state());
  const auto add = [&](const char* name, std::int64_t& value) {
    view.add_whole(std::string("training/counters/") + name, Dtype::int64, {}, &value);
  };
  add("round", counters.round);
  add("environment_steps", counters.environment_steps);
  add("horizon", counters.horizon);
  add("evaluation_pending", counters.evaluation_pending);
  return view;
}

}  // namespace lockstep::app
