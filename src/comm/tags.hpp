// Private: message tags of one communicator. MPI promises 32767 at least.
#pragma once

#include <cstdint>

namespace lockstep::comm::tags {

constexpr int largest_user_tag = 16383;
constexpr int question = 32766;
constexpr int answer = 32767;

// Of the collective with this number: a receive can only match its own collective's message.
constexpr int of_collective(std::uint64_t sequence) noexcept {
  return largest_user_tag + 1 + static_cast<int>(sequence % 16000);
}

}  // namespace lockstep::comm::tags
