// Between a unit's passes and the store.
#pragma once

#include "unit_state.hpp"

namespace lockstep::learner {

// Reports a unit's passes to the store.
class StoreGate final : public nn::UnitGate {
 public:
  StoreGate(UnitStore::State& store, std::size_t unit) : store_(store), unit_(unit) {}

  void before_forward() override {
    for (const std::size_t needed : store_.map.needs(unit_)) {
      store_.open(needed);
      ++store_.units[needed].users;
    }
  }
  void after_forward() noexcept override {
    for (const std::size_t needed : store_.map.needs(unit_)) {
      --store_.units[needed].users;
      store_.settle(needed);
    }
  }
  void before_backward(bool with_input) override {
    for (const std::size_t needed : store_.map.needs(unit_)) {
      store_.open(needed);
      UnitProgress& unit = store_.units[needed];
      if (needed != unit_) unit.kept = true;
      unit.awaits_gradients = unit.arrived < unit.trained.size();
    }
    // Without a gradient for the input the pass ends with the unit's own gradients.
    if (with_input) ++store_.units[unit_].passes;
    if (!with_input && !store_.units[unit_].awaits_gradients) store_.units[unit_].kept = true;
  }
  void after_backward() override {
    --store_.units[unit_].passes;
    store_.settle(unit_);
  }

 private:
  UnitStore::State& store_;
  std::size_t unit_;
};

}  // namespace lockstep::learner
