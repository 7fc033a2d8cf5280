// Ends in the way its first argument names, on the rank its second names; other ranks wait in a collective
// for it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"

namespace {

using lockstep::CommError;
using lockstep::InputError;

void fail(const std::string& how) {
  if (how == "input") throw InputError("the deck says \"x\", it must be y");
  if (how == "comm") throw CommError("no answer\nfrom the other side \x1b[31m");
  if (how == "memory") throw std::bad_alloc();
  if (how == "standard")
    throw std::runtime_error("tensor sizes differ\nException raised from add at /build/add.cpp:1");
  if (how == "unknown") throw 42;
  if (how == "kill") std::raise(SIGKILL);
}

int body(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "done";
  const int where = argc > 2 ? std::stoi(argv[2]) : 0;
  if (how == "before") throw InputError("no such command").mark_together();
  lockstep::Runtime runtime(argc, argv, {});
  if (how == "together") throw InputError("no such file: deck.toml").mark_together();
  if (how == "half") {
    if (runtime.rank() == where) throw InputError("only here").mark_together();
    for (;;) std::this_thread::yield();
  }
  if (how == "unfinished") return 0;
  if (how == "arithmetic") std::cout << runtime.arithmetic() << '\n';
  if (how == "threads") {
    runtime.set_threads(2);
    std::cout << runtime.arithmetic() << '\n';
  }
  if (how == "signal") {
    if (runtime.stop_requested()) return 1;
    std::raise(runtime.rank() % 2 == 0 ? SIGUSR1 : SIGTERM);
    if (!runtime.stop_requested()) return 1;
    runtime.finish();
    return static_cast<int>(lockstep::ExitCode::stopped);
  }
  if (runtime.rank() == where) fail(how);
  // Others wait in a collective, or ("busy") are far from any.
  while (argc > 3 && std::string(argv[3]) == "busy") std::this_thread::yield();
  runtime.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::run_guarded([&] { return body(argc, argv); });
}
