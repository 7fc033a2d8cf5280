// Decks and messages for the tests of config.
#pragma once

#include <string>
#include <vector>

#include "lockstep/config/deck.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::config::test {

// The shortest legal deck, and room for more lines of its last section, [environment].
inline const std::string plain = "[run]\nrounds = 10\n[environment]\nname = \"CartPole-v1\"\n";

inline Deck parse(const std::string& toml, const std::vector<std::string>& overrides = {},
                  std::vector<std::string>* notes = nullptr) {
  return parse_deck({"d", "d.toml", toml}, overrides, notes);
}

inline std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The message that a call is refused with; "" when it is not.
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

inline std::string parse_refusal(const std::string& toml, const std::vector<std::string>& overrides = {}) {
  return refusal([&] { parse(toml, overrides); });
}

}  // namespace lockstep::config::test
