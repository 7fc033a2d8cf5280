#include "app/history.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lockstep/core/error.hpp"

namespace lockstep::app {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(History, ColumnsThatComeLateAreNullBefore) {
  History history;
  history.append({{"round", 1}, {"loss", 0.5}});
  history.append({{"round", 2}, {"evaluation_return_mean", 9}});
  ASSERT_EQ(history.rows(), 2u);
  EXPECT_TRUE(std::isnan(history.columns().at("evaluation_return_mean")[0]));
  EXPECT_TRUE(std::isnan(history.columns().at("loss")[1]));
  history.set_last("evaluation_return_mean", 10);
  EXPECT_EQ(history.row(1).at("evaluation_return_mean"), 10);
}

TEST(History, ColumnsOfUnequalLengthAreRefused) {
  EXPECT_THROW(History({{"a", {1, 2}}, {"b", {1}}}), ContractError);
}

TEST(JsonLine, IsStrictJsonWithCountsAsIntegers) {
  const std::string line = json_line({{"round", 3},
                                      {"step", 60},
                                      {"environment_steps", 768},
                                      {"episodes", 0},
                                      {"return_mean", nan},
                                      {"loss_critic", 0.1},
                                      {"ess", std::numeric_limits<double>::infinity()},
                                      {"evaluation_return_mean", nan}},
                                     {{"collect_s", 0.25}});
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_TRUE(parsed["round"].is_number_integer());
  EXPECT_EQ(parsed["environment_steps"], 768);
  EXPECT_TRUE(parsed["return_mean"].is_null());
  EXPECT_TRUE(parsed["ess"].is_null());
  EXPECT_FALSE(parsed.contains("evaluation_return_mean"));
  EXPECT_EQ(parsed["loss_critic"], 0.1);
  EXPECT_EQ(parsed["timings"]["collect_s"], 0.25);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace lockstep::app
