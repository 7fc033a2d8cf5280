// A look at a deck before the TOML parser's: the parser recurses once a bracket and once a dotted part, and
// would overflow the stack on thousands of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::config {

// A deck needs depth 2 (a [[list]] header) and two dotted parts; the rest is room for a good message.
inline constexpr int max_depth = 16;
inline constexpr int max_dotted_parts = 16;

// InputError "place:line: ..." naming the key when `toml` is nested or dotted deeper than that.
void check_nesting(std::string_view toml, const std::string& place);

// The header and key that line `line` (from 1) belongs to, as "[learner] shards", shortened; "" before the
// first.
std::string statement_at(std::string_view toml, std::size_t line);

// `text` as messages quote it: its first `limit` bytes, cut between characters, and "..." for the rest.
std::string shortened(std::string_view text, std::size_t limit = 60);

}  // namespace lockstep::config
