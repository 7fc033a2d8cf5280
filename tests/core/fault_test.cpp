#include "lockstep/core/fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "lockstep/core/error.hpp"
#include "lockstep/core/runtime.hpp"

namespace lockstep::fault {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void arm(const char* text, int rank = 0) {
  setenv("LOCKSTEP_FAULT", text, 1);
  configure(rank);
}

class FaultTest : public testing::Test {
 protected:
  void SetUp() override {
    if (sites().empty()) GTEST_SKIP() << "this build has no fault sites";
  }
  void TearDown() override {
    unsetenv("LOCKSTEP_FAULT");
    configure(0);
  }
};

TEST_F(FaultTest, NothingHappensUnlessAsked) {
  unsetenv("LOCKSTEP_FAULT");
  configure(0);
  EXPECT_EQ(at("step", 0), Action::none);
}

TEST_F(FaultTest, HappensOnceAtTheSiteRankAndStepNamed) {
  arm("step:1:3:nan", 1);
  EXPECT_EQ(at("step", 2), Action::none);
  EXPECT_EQ(at("collect", 3), Action::none);
  EXPECT_EQ(at("step", 3), Action::nan);
  EXPECT_EQ(at("step", 3), Action::none);
  arm("step:1:3:nan", 0);
  EXPECT_EQ(at("step", 3), Action::none);
}

TEST_F(FaultTest, AStarIsAnyStep) {
  arm("checkpoint.chunk:0:*:flip");
  EXPECT_EQ(at("checkpoint.chunk", 17), Action::flip);
  EXPECT_EQ(at("checkpoint.chunk", 18), Action::none);
}

TEST_F(FaultTest, ThrowsWithTheSitesName) {
  arm("collect:0:0:throw");
  EXPECT_THAT([] { at("collect", 0); }, ThrowsMessage<Error>(HasSubstr("injected fault at collect")));
}

TEST_F(FaultTest, DelayTakesItsTime) {
  arm("record:0:0:delay");
  const double start = now_seconds();
  EXPECT_EQ(at("record", 0), Action::delay);
  EXPECT_GE(now_seconds() - start, 0.2);
}

TEST_F(FaultTest, KillKills) {
  EXPECT_EXIT(
      {
        arm("step:0:0:kill");
        at("step", 0);
      },
      testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FaultTest, MalformedFaultsAreRefused) {
  const auto refused = [](const char* text, const char* why) {
    EXPECT_THAT([&] { arm(text); }, ThrowsMessage<InputError>(HasSubstr(why))) << text;
  };
  refused("step", "four fields");
  refused("step:0:0:kill:now", "four fields");
  refused("stp:0:0:kill", "no site \"stp\"; there are: step collect");
  refused("step:one:0:kill", "rank \"one\" is no number");
  refused("step:0:-1:kill", "step \"-1\" is no number");
  refused("step:0::kill", "step \"\" is no number");
  refused("step:0:0:explode", "no action \"explode\"; there are: throw kill stop nan flip delay");
}

TEST_F(FaultTest, EverySiteOfTheWritePathIsListed) {
  for (const std::string_view site :
       {"step", "collect", "checkpoint.begin", "checkpoint.chunk", "checkpoint.close", "checkpoint.sync",
        "checkpoint.verify", "checkpoint.rename", "checkpoint.directory", "checkpoint.pointer",
        "checkpoint.prune", "evaluate", "record"}) {
    EXPECT_THAT(sites(), testing::Contains(site));
  }
}

}  // namespace
}  // namespace lockstep::fault
