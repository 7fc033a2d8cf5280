#include "lockstep/core/version.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "lockstep/core/dtype.hpp"

namespace lockstep {
namespace {

TEST(Version, IsThreeNumbersAndARevision) {
  EXPECT_TRUE(std::regex_match(std::string(version()), std::regex(R"(\d+\.\d+\.\d+)"))) << version();
  EXPECT_TRUE(std::regex_match(std::string(revision()), std::regex("[0-9a-f]{7,40}|unknown"))) << revision();
}

TEST(Dtype, NamesAndSizesAgree) {
  EXPECT_EQ(to_string(Dtype::float32), "float32");
  EXPECT_EQ(to_string(Dtype::bfloat16), "bfloat16");
  EXPECT_EQ(to_string(Dtype::boolean), "boolean");
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::float16, Dtype::int32,
                            Dtype::int64, Dtype::uint8}) {
    const std::string name(to_string(dtype));
    EXPECT_EQ(size_of(dtype) * 8, std::stoul(name.substr(name.find_first_of("0123456789")))) << name;
  }
  EXPECT_EQ(size_of(Dtype::boolean), 1U);
}

}  // namespace
}  // namespace lockstep
