// Rank-aware logging over spdlog: rank 0 speaks to the terminal, warnings and errors of any rank carry its
// number. Everything goes to standard error; standard output belongs to a command's results.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <string>
#include <string_view>

namespace lockstep::log {

// Sets up the process's logger (Runtime does). Until then only warnings and errors are shown.
void start(int rank, int size);
// Adds `path` as a second sink (the run directory's log.txt), appended to, every line with its time; what was
// said before the first call is written first, a second call changes the file. Rank 0 only, a no-op
// elsewhere. Throws IoError when the file cannot be opened.
void to_file(const std::string& path);
void flush();

// `message` is one line, shown as it stands: braces and percent signs are literal, and it passes through
// one_line.
void info(std::string_view message);     // rank 0 only
void warning(std::string_view message);  // every rank, prefixed by its number when there are several
void error(std::string_view message);    // every rank

// `text` as one harmless line of UTF-8: a newline becomes \n, a tab \t, other control characters and bytes
// that are not UTF-8 become \x1b and the like. For names that come from outside, in messages and files.
std::string one_line(std::string_view text);

}  // namespace lockstep::log
