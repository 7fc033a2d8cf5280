#include "lockstep/core/error.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Error, EachTypeFixesTheExitCode) {
  EXPECT_EQ(InputError("").exit_code(), ExitCode::bad_input);
  EXPECT_EQ(CheckpointError("").exit_code(), ExitCode::bad_input);
  EXPECT_EQ(ContractError("").exit_code(), ExitCode::failed);
  EXPECT_EQ(CommError("").exit_code(), ExitCode::failed);
  EXPECT_EQ(IoError("").exit_code(), ExitCode::failed);
  EXPECT_EQ(NumericError("").exit_code(), ExitCode::failed);
}

TEST(Error, RemembersWhereItWasThrownWithoutTheFoldersOfTheBuild) {
  const unsigned line = __LINE__ + 1;
  const IoError error("disk full");
  EXPECT_STREQ(error.what(), "disk full");
  EXPECT_EQ(error.where().line(), line);
  EXPECT_EQ(error.place(), "error_test.cpp:" + std::to_string(line));
}

TEST(Error, ACheckpointErrorIsAnInputError) {
  EXPECT_THROW(throw CheckpointError("damaged"), InputError);
}

TEST(Error, TogetherIsKeptThroughAThrow) {
  EXPECT_FALSE(InputError("alone").together());
  try {
    throw InputError("all").mark_together();
  } catch (const InputError& error) {
    EXPECT_TRUE(error.together());
  }
}

}  // namespace
}  // namespace lockstep
