#include "checkpoint/state_names.hpp"

#include <gmock/gmock.h>

#include "checkpoint/scratch_folder.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

StateView state(const std::vector<std::string>& names) {
  StateView view;
  for (const auto& name : names) view.entries.push_back({name, Dtype::float32, {2}, {}});
  return view;
}

TEST(StateNames, OrdinaryOnesPass) {
  EXPECT_NO_THROW(check_names(
      state({"model/a", "model/a.b", "model/a%2Fb", "training/x/y/z", "training/x/y w", "model/..."})));
  EXPECT_NO_THROW(check_names(StateView{}));
}

TEST(StateNames, WhatAFileCannotHoldIsRefusedByName) {
  for (const std::string& name : {std::string("a"), std::string("models/a"), std::string("history/a"),
                                  std::string("model/"), std::string("model//a"), std::string("model/a/"),
                                  std::string("model/./a"), std::string("training/x/.")}) {
    const std::string text = message_of<ContractError>([&] { check_names(state({"model/fine", name})); });
    EXPECT_THAT(text, testing::HasSubstr("\"" + name + "\""));
  }
  EXPECT_THROW(check_names(state({std::string("model/a\0b", 9)})), ContractError);
}

TEST(StateNames, TwiceOrATensorAsAGroupIsRefused) {
  EXPECT_THROW(check_names(state({"model/a", "model/b", "model/a"})), ContractError);
  EXPECT_THROW(check_names(state({"training/a/b", "training/a"})), ContractError);
  EXPECT_THROW(check_names(state({"training/a", "training/a/b/c"})), ContractError);
}

TEST(StateNames, ShapesThatHdf5CannotHoldAreRefused) {
  StateView view = state({"model/a"});
  view.entries[0].shape = std::vector<std::int64_t>(33, 1);
  EXPECT_THROW(check_names(view), ContractError);
  view.entries[0].shape = {-1};
  EXPECT_THROW(check_names(view), ContractError);
}

}  // namespace
}  // namespace lockstep::checkpoint
