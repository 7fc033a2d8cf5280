// lockstep: parse the command line, run the command, turn what it says into the exit code.
#include <cstdio>
#include <variant>

#include "command_line.hpp"
#include "commands.hpp"
#include "lockstep/core/runtime.hpp"

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

int main(int argc, char** argv) {
  using namespace lockstep;
  return run_guarded([&] {
    const app::Command command = app::parse_command_line(argc, argv);
    return std::visit(
        Overloaded{
            [](const app::NoCommand& nothing) {
              // Under a launcher every rank parses the same line; one of them speaks.
              if (Launcher::detect().rank == 0)
                std::fputs(nothing.text.c_str(), nothing.code == 0 ? stdout : stderr);
              return nothing.code;
            },
            [&](const app::TrainCommand& train) { return app::run_train(train, argc, argv); },
            [&](const app::EvaluateCommand& evaluate) { return app::run_evaluate(evaluate, argc, argv); },
            [](const app::CheckCommand& check) { return app::run_check(check); },
            [](const app::KeysCommand& keys) { return app::run_keys(keys); },
            [](const app::ListCommand& list) { return app::run_list(list); },
        },
        command);
  });
}
