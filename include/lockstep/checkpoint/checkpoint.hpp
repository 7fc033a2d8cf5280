// Checkpoints: one HDF5 file of full logical tensors, published whole or not at all, verified before use.
// The format and what is promised: docs/checkpoint.md.
#pragma once

#include "lockstep/checkpoint/contents.hpp"
#include "lockstep/checkpoint/file_name.hpp"
#include "lockstep/checkpoint/newest_valid.hpp"
#include "lockstep/checkpoint/reader.hpp"
#include "lockstep/checkpoint/run_lock.hpp"
#include "lockstep/checkpoint/writer.hpp"
