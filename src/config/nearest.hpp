// The name that a mistyped one was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::config {

// Edits (insert, delete, replace, swap of neighbours) from one name to the other; case and '-' for '_' cost
// nothing. Damerau's distance, restricted: no part is edited twice.
std::size_t edit_distance(std::string_view a, std::string_view b);

// "; did you mean X?" for the nearest name, or "" when none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace lockstep::config
