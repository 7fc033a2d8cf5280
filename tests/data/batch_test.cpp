#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/data/batch.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ContractError& error) {
    return error.what();
  }
  return "no ContractError";
}

Batch three_rows() {
  Batch batch;
  batch.add(key::observation, at::arange(6, at::kDouble).view({3, 2}));
  batch.add(key::reward, at::arange(3, at::kFloat));
  return batch;
}

TEST(Batch, KeepsEntriesInOrder) {
  const Batch batch = three_rows();
  EXPECT_EQ(batch.rows(), 3);
  ASSERT_EQ(batch.entries().size(), 2u);
  EXPECT_EQ(batch.entries()[0].first, "observation");
  EXPECT_EQ(batch.entries()[1].first, "reward");
  EXPECT_TRUE(batch.has("reward"));
  EXPECT_FALSE(batch.has("rew"));
  EXPECT_EQ(Batch().rows(), 0);
}

TEST(Batch, RefusesWhatBreaksRows) {
  Batch batch = three_rows();
  EXPECT_THAT(message_of([&] { batch.add("reward", at::zeros({3})); }), HasSubstr("'reward'"));
  EXPECT_THAT(message_of([&] { batch.add("x", at::zeros({2})); }), HasSubstr("'x' has 2 rows"));
  EXPECT_THAT(message_of([&] { batch.replace("reward", at::zeros({4})); }), HasSubstr("have 3"));
  EXPECT_THAT(message_of([&] { batch.add("x", at::zeros({})); }), HasSubstr("scalar"));
  EXPECT_THAT(message_of([&] { batch.add("x", at::Tensor()); }), HasSubstr("undefined"));
  EXPECT_EQ(batch.entries().size(), 2u);
}

TEST(Batch, AMissingEntryNamesThoseThatAreThere) {
  EXPECT_EQ(message_of([] { three_rows().at("value"); }),
            "batch has no entry 'value'; it has observation, reward");
  EXPECT_THAT(message_of([] { Batch().at("value"); }), HasSubstr("it has none"));
}

TEST(Batch, ReplaceAddsOrOverwrites) {
  Batch batch = three_rows();
  batch.replace("reward", at::ones({3}));
  batch.replace("value", at::zeros({3}));
  EXPECT_EQ(batch.entries().size(), 3u);
  EXPECT_EQ(batch.at("reward").sum().item<double>(), 3.0);

  Batch alone;
  alone.add("x", at::zeros({3}));
  alone.replace("x", at::zeros({5}));  // the only entry may change the number of rows
  EXPECT_EQ(alone.rows(), 5);
}

TEST(Batch, RowsAtCopiesInOrder) {
  const Batch batch = three_rows();
  const Batch chosen = batch.rows_at(at::tensor(std::vector<std::int64_t>{2, 0, 2}, at::kLong));
  EXPECT_EQ(chosen.rows(), 3);
  EXPECT_TRUE(at::equal(chosen.at("reward"), at::tensor({2.f, 0.f, 2.f})));
  chosen.at("reward").fill_(9);
  EXPECT_EQ(batch.at("reward").sum().item<double>(), 3.0);
  EXPECT_EQ(batch.rows_at(at::zeros({0}, at::kLong)).rows(), 0);
  EXPECT_THROW(batch.rows_at(at::zeros({1}, at::kInt)), ContractError);
  EXPECT_THROW(batch.rows_at(at::zeros({1, 1}, at::kLong)), ContractError);
}

TEST(Batch, SliceIsAView) {
  const Batch batch = three_rows();
  const Batch part = batch.slice(1, 3);
  EXPECT_EQ(part.rows(), 2);
  EXPECT_TRUE(at::equal(part.at("reward"), at::tensor({1.f, 2.f})));
  EXPECT_EQ(part.at("observation").data_ptr(), batch.at("observation")[1].data_ptr());
  EXPECT_EQ(batch.slice(2, 2).rows(), 0);
  EXPECT_THROW(batch.slice(0, 4), ContractError);
  EXPECT_THROW(batch.slice(2, 1), ContractError);
}

}  // namespace
}  // namespace lockstep
