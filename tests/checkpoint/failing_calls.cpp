#include "checkpoint/failing_calls.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace lockstep::checkpoint::failing {
namespace {

struct Plan {
  std::string call;
  int countdown = 0;
  int error = 0;
  bool forever = false;
  int seen = 0;
};
Plan plan;

// Whether this call is the one that fails.
bool due(const char* call) {
  if (plan.call != call) return false;
  ++plan.seen;
  if (plan.countdown-- > 0) return false;
  if (!plan.forever) plan.call.clear();
  return true;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

bool on_a_checkpoint(int descriptor) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  return length > 0 && std::string(path, static_cast<std::size_t>(length)).find("lockstep_checkpoint_") !=
                           std::string::npos;
}

ssize_t write_or_fail(int descriptor, const void* bytes, size_t count, off_t offset, const char* name) {
  const auto call = real<ssize_t (*)(int, const void*, size_t, off_t)>(name);
  if (plan.call.empty() || !on_a_checkpoint(descriptor)) return call(descriptor, bytes, count, offset);
  if (due("pwrite")) {
    errno = plan.error;
    return -1;
  }
  return call(descriptor, bytes, count > 1 && due("short_pwrite") ? count - 1 : count, offset);
}

}  // namespace

void arm(const std::string& call, int countdown, int error, bool forever) {
  plan = {call, countdown, error, forever, 0};
}
void disarm() {
  plan = {};
}
int seen() {
  return plan.seen;
}

}  // namespace lockstep::checkpoint::failing

namespace failing = lockstep::checkpoint::failing;

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  return failing::write_or_fail(descriptor, bytes, count, offset, "pwrite");
}

extern "C" ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t offset) {
  return failing::write_or_fail(descriptor, bytes, count, offset, "pwrite64");
}

extern "C" int fsync(int descriptor) {
  if (!failing::plan.call.empty() && failing::on_a_checkpoint(descriptor) && failing::due("fsync")) {
    errno = failing::plan.error;
    return -1;
  }
  return failing::real<int (*)(int)>("fsync")(descriptor);
}

extern "C" int rename(const char* from, const char* to) {
  if (failing::due("rename")) {
    errno = failing::plan.error;
    return -1;
  }
  return failing::real<int (*)(const char*, const char*)>("rename")(from, to);
}
