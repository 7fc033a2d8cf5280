// LibTorch's headers that our sources use, parsed once. Sources still include what they use.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
