// System calls that stand in front of the C library's and fail when told to.
#pragma once

#include <string>

namespace lockstep::checkpoint::failing {

// The `countdown`-th next call (0: the very next) of "pwrite", "fsync" or "rename" fails with `error`, and
// all after it when `forever`; "short_pwrite" takes a byte less and succeeds. Files outside the tests'
// scratch folders are left alone.
void arm(const std::string& call, int countdown, int error, bool forever = false);
void disarm();
// Calls of that name seen since arm().
int seen();

}  // namespace lockstep::checkpoint::failing
