// The commands; each returns the process's exit code and throws typed errors.
#pragma once

#include "command_line.hpp"

namespace lockstep::app {

int run_train(const TrainCommand& command, int argc, char** argv);        // starts the runtime; collective
int run_evaluate(const EvaluateCommand& command, int argc, char** argv);  // starts the runtime; collective
int run_check(const CheckCommand& command);                               // no MPI
int run_keys(const KeysCommand& command);                                 // no MPI
int run_list(const ListCommand& command);                                 // no MPI

}  // namespace lockstep::app
