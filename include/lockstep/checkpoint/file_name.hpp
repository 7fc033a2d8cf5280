// Names of checkpoint files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::checkpoint {

// "round_0000000012.h5". Throws ContractError when the round does not fit ten digits.
std::string file_name(std::int64_t round);
// The round that a file's name says; nullopt for any other name.
std::optional<std::int64_t> round_of(std::string_view name) noexcept;

// Name of the pointer: a file of one line, the newest published checkpoint's name. A hint for people and
// scripts.
inline constexpr std::string_view pointer_name = "latest";

}  // namespace lockstep::checkpoint
