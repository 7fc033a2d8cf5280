#include "step_message.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockstep::learner {
namespace {

// NaN wins, so that it cannot hide behind a larger number.
double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

}  // namespace

void StepMessage::exchange() {
  const std::size_t ranks = static_cast<std::size_t>(collectives_.size());
  const std::size_t rank = static_cast<std::size_t>(collectives_.rank());
  const std::size_t sums_end = sums_.size() * ExactSum::words;
  const std::size_t votes_end = sums_end + votes_.size();
  // A sum of integers carries a maximum too: each rank has a place of its own, zero on all others.
  std::vector<std::int64_t> words(votes_end + maxima_.size() * ranks, 0);
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i]->normalise();
    std::ranges::copy(sums_[i]->raw(), words.begin() + static_cast<std::ptrdiff_t>(i * ExactSum::words));
  }
  for (std::size_t i = 0; i < votes_.size(); ++i) words[sums_end + i] = *votes_[i] != 0 ? 1 : 0;
  for (std::size_t i = 0; i < maxima_.size(); ++i)
    words[votes_end + i * ranks + rank] = std::bit_cast<std::int64_t>(*maxima_[i]);

  collectives_.all_reduce(words.data(), words.size(), Dtype::int64, comm::ReduceOp::sum).wait();

  for (std::size_t i = 0; i < sums_.size(); ++i)
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(i * ExactSum::words), ExactSum::words,
                sums_[i]->raw().begin());
  for (std::size_t i = 0; i < votes_.size(); ++i) *votes_[i] = words[sums_end + i];
  for (std::size_t i = 0; i < maxima_.size(); ++i) {
    *maxima_[i] = std::bit_cast<double>(words[votes_end + i * ranks]);
    for (std::size_t r = 1; r < ranks; ++r)
      *maxima_[i] = larger(*maxima_[i], std::bit_cast<double>(words[votes_end + i * ranks + r]));
  }
}

}  // namespace lockstep::learner
