#include "lockstep/checkpoint/run_lock.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "checkpoint/scratch_folder.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::HasSubstr;

// A child process that holds the lock until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& directory) {
    int ready[2];
    if (::pipe(ready) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
      const RunLock lock(directory);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    char sign = 0;
    ::close(ready[1]);
    held_ = ::read(ready[0], &sign, 1) == 1;
    ::close(ready[0]);
  }
  ~Holder() { kill(); }
  bool held() const { return held_; }
  pid_t process() const { return process_; }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
  bool held_ = false;
};

TEST(RunLock, ASecondHolderIsToldWhoHasIt) {
  const ScratchFolder folder;
  Holder holder(folder.path());
  ASSERT_TRUE(holder.held());
  const std::string text = message_of<InputError>([&] { RunLock lock(folder.path()); });
  EXPECT_THAT(text, HasSubstr(folder.path()));
  EXPECT_THAT(text, HasSubstr("process " + std::to_string(holder.process()) + " on "));
  EXPECT_THAT(text, HasSubstr("started 20"));
}

TEST(RunLock, IsFreeOnceItsHolderIsKilled) {
  const ScratchFolder folder;
  Holder holder(folder.path());
  ASSERT_TRUE(holder.held());
  holder.kill();
  EXPECT_NO_THROW(RunLock lock(folder.path()));
}

TEST(RunLock, SaysWhoHoldsItNow) {
  const ScratchFolder folder;
  write_file(folder.path() + "/.lock", std::string(400, 'x'));
  const RunLock lock(folder.path());
  const std::string text = read_file(folder.path() + "/.lock");
  EXPECT_THAT(text, HasSubstr("process " + std::to_string(::getpid()) + " on "));
  EXPECT_EQ(text.find('x'), std::string::npos);
}

TEST(RunLock, MovesAndIsFreedOnce) {
  const ScratchFolder folder;
  std::optional<RunLock> first(std::in_place, folder.path());
  std::optional<RunLock> second(std::move(*first));
  first.reset();
  EXPECT_THROW(RunLock third(folder.path()), InputError);
  second.reset();
  EXPECT_NO_THROW(RunLock third(folder.path()));
}

TEST(RunLock, RefusesAFolderThatIsNotThere) {
  const ScratchFolder folder;
  EXPECT_THAT(message_of<InputError>([&] { RunLock lock(folder.path() + "/missing"); }),
              HasSubstr("missing/.lock"));
}

TEST(RunLock, DoesNotFollowALinkInItsPlace) {
  const ScratchFolder folder;
  write_file(folder.path() + "/precious", "data");
  std::filesystem::create_symlink("precious", folder.path() + "/.lock");
  EXPECT_THROW(RunLock lock(folder.path()), InputError);
  EXPECT_EQ(read_file(folder.path() + "/precious"), "data");
}

}  // namespace
}  // namespace lockstep::checkpoint
