// Counter-based random numbers: Philox 4x32-10 (Salmon et al., SC 2011), keyed by (seed; stream, shard,
// draw), never by rank.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep {

// What a stream is for. Numbers are written into checkpoints' meaning: never renumber, only append.
enum class StreamId : std::uint32_t {
  initialization = 1,  // shard = low 32 bits of the parameter name's hash
  environment_reset = 2,
  action = 3,
  minibatch = 4,
  evaluation = 5,
  dropout = 6,
  replay = 7,
  test = 8,
  noise = 9,  // a loss's own draws, as of the next action in SAC and TD3
};

// One Philox 4x32-10 block.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) noexcept;

// A position in one stream. The whole state is `draw()`: copying or restoring it restores the stream exactly.
// Every call below consumes exactly one draw (one Philox block), whatever it returns.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, StreamId stream, std::uint32_t shard, std::uint64_t draw = 0) noexcept;

  std::uint64_t draw() const noexcept { return draw_; }
  void set_draw(std::uint64_t draw) noexcept { draw_ = draw; }

  double uniform() noexcept;                          // [0, 1), 53 random bits
  double uniform(double low, double high) noexcept;   // low + (high - low) * uniform()
  double normal() noexcept;                           // standard normal, Box-Muller
  std::uint64_t below(std::uint64_t bound) noexcept;  // [0, bound), multiply-high of 64 bits; bound > 0
  void fill_normal(std::span<double> out) noexcept;   // out.size() draws
  // Fisher-Yates permutation of 0 .. out.size()-1; out.size() draws.
  void permutation(std::span<std::int64_t> out) noexcept;

 private:
  std::array<std::uint32_t, 4> next() noexcept;
  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint32_t shard_;
  std::uint64_t draw_;
};

}  // namespace lockstep
