#include "lockstep/core/host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <ctime>
#include <iomanip>
#include <sstream>

namespace lockstep {
namespace {

TEST(Host, TheNameIsTheSystems) {
  utsname system{};
  ASSERT_EQ(uname(&system), 0);
  EXPECT_EQ(host_name(), system.nodename);
}

TEST(Host, NowIsUtcToTheSecond) {
  const std::time_t before = std::time(nullptr);
  const std::string text = utc_now();
  const std::time_t after = std::time(nullptr);
  EXPECT_THAT(text, testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
  std::tm parts{};
  std::istringstream(text) >> std::get_time(&parts, "%Y-%m-%dT%H:%M:%SZ");
  const std::time_t read = timegm(&parts);
  EXPECT_GE(read, before);
  EXPECT_LE(read, after);
}

}  // namespace
}  // namespace lockstep
