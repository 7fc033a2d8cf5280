// What a person sees while a run goes on: a line now and then, and a bar on a terminal. Rank 0 only.
#pragma once

#include <cstdint>

#include "history.hpp"

namespace lockstep::app {

class Progress {
 public:
  // `planned` rounds in all, those of earlier jobs included.
  Progress(bool speaks, std::int64_t planned);
  ~Progress();

  // After each round: logs a line every twentieth of the run, every half minute and at the end; redraws the
  // bar.
  void round_done(const History::Row& row);
  // Clears the bar, so that other output starts on a fresh line.
  void clear();
  // Environment steps a second since this job's first round ended (it warms up); 0 before.
  double steps_per_second() const noexcept { return steps_per_second_; }

 private:
  void measure(const History::Row& row, double now);
  void draw(const History::Row& row);

  bool speaks_;
  bool terminal_;
  bool drawn_ = false;
  std::int64_t planned_;
  double warm_time_ = 0, warm_steps_ = 0, warm_round_ = 0;
  double last_line_ = 0, last_drawn_ = 0;
  double steps_per_second_ = 0, seconds_left_ = -1;
};

}  // namespace lockstep::app
