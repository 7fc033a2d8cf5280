#include "multiply.hpp"

#include <ATen/ATen.h>

#include <cstdint>

// Weak: builds of LibTorch that keep their BLAS to themselves leave them null. Sizes are passed by address,
// and so may be read as 32 or as 64 bits.
extern "C" {
[[gnu::weak]] void sgemm_(const char* transpose_a, const char* transpose_b, const std::int64_t* m,
                          const std::int64_t* n, const std::int64_t* k, const float* alpha, const float* a,
                          const std::int64_t* row_a, const float* b, const std::int64_t* row_b,
                          const float* beta, float* c, const std::int64_t* row_c);
[[gnu::weak]] void dgemm_(const char* transpose_a, const char* transpose_b, const std::int64_t* m,
                          const std::int64_t* n, const std::int64_t* k, const double* alpha, const double* a,
                          const std::int64_t* row_a, const double* b, const std::int64_t* row_b,
                          const double* beta, double* c, const std::int64_t* row_c);
}

namespace lockstep::nn {
namespace {

struct Operand {
  const at::Tensor& matrix;
  Transpose transpose;
  std::int64_t inner() const { return matrix.size(transpose == Transpose::yes ? 0 : 1); }
  std::int64_t row() const { return matrix.size(1); }
  at::Tensor view() const { return transpose == Transpose::yes ? matrix.t() : matrix; }
};

// BLAS reads memory column by column, and so sees every matrix transposed: out^T = b^T a^T. A single column
// is the same memory either way; at::mm then leaves the order as it is.
template <class Scalar, class Gemm>
void run(Gemm gemm, const at::Tensor& out, Scalar beta, const Operand& a, const Operand& b) {
  const Scalar alpha = 1;
  const std::int64_t rows = out.size(0), columns = out.size(1), inner = a.inner();
  const std::int64_t row_a = a.row(), row_b = b.row();
  const auto* from_a = a.matrix.const_data_ptr<Scalar>();
  const auto* from_b = b.matrix.const_data_ptr<Scalar>();
  auto* to = out.data_ptr<Scalar>();
  const auto flag = [](const Operand& operand, Transpose plain) {
    return operand.transpose == plain ? "N" : "T";
  };
  if (columns == 1) {
    gemm(flag(a, Transpose::yes), flag(b, Transpose::yes), &rows, &columns, &inner, &alpha, from_a, &row_a,
         from_b, &row_b, &beta, to, &rows);
  } else {
    gemm(flag(b, Transpose::no), flag(a, Transpose::no), &columns, &rows, &inner, &alpha, from_b, &row_b,
         from_a, &row_a, &beta, to, &columns);
  }
}

}  // namespace

void multiply(const at::Tensor& out, Into into, const at::Tensor& a, Transpose transpose_a,
              const at::Tensor& b, Transpose transpose_b) {
  const Operand left{a, transpose_a}, right{b, transpose_b};
  const bool add = into == Into::add;
  if (out.numel() == 0) return;
  if (sgemm_ == nullptr || dgemm_ == nullptr) {
    at::Tensor result = out;
    at::addmm_out(result, result, left.view(), right.view(), add ? 1 : 0);
  } else if (out.scalar_type() == at::kFloat) {
    run<float>(sgemm_, out, add ? 1 : 0, left, right);
  } else {
    run<double>(dgemm_, out, add ? 1 : 0, left, right);
  }
}

}  // namespace lockstep::nn
