// Small token models and sequences for tests.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "lockstep/data/batch.hpp"
#include "lockstep/nn/token_model.hpp"
#include "transitions.hpp"

namespace lockstep::losses {

// logits = h.weight e.weight[token] + h.bias: the network of the reference file's token groups.
class EmbeddingModel : public nn::TokenModel {
 public:
  EmbeddingModel(std::int64_t vocabulary, std::int64_t width) {
    const auto e = register_module("e", std::make_shared<torch::nn::Module>());
    const auto h = register_module("h", std::make_shared<torch::nn::Module>());
    embedding_ = e->register_parameter("weight", at::zeros({vocabulary, width}, at::kDouble));
    weight_ = h->register_parameter("weight", at::zeros({vocabulary, width}, at::kDouble));
    bias_ = h->register_parameter("bias", at::zeros({vocabulary}, at::kDouble));
  }
  at::Tensor logits(const at::Tensor& tokens) override {
    return at::linear(at::embedding(embedding_, tokens), weight_, bias_);
  }
  at::ScalarType dtype() const override { return embedding_.scalar_type(); }

 private:
  at::Tensor embedding_, weight_, bias_;
};

// Logits of its own for every token id: tokens name rows of the parameter `table` [n, vocabulary].
class TableModel : public nn::TokenModel {
 public:
  explicit TableModel(const at::Tensor& table) : table_(register_parameter("table", table.clone())) {}
  at::Tensor logits(const at::Tensor& tokens) override { return at::embedding(table_, tokens); }
  at::ScalarType dtype() const override { return table_.scalar_type(); }
  const at::Tensor& table() const { return table_; }

 private:
  at::Tensor table_;
};

// Sequences over a table, for tests by hand.
inline constexpr double none = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int64_t rows = 4, places = 3, vocabulary = 5;

inline std::shared_ptr<TableModel> table_model() {
  return std::make_shared<TableModel>(normals({rows * places, vocabulary}, 60));
}

// log p of each place's label, as the table has it.
inline at::Tensor log_probs(const TableModel& model, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const at::Tensor all = model.table().log_softmax(1).view({rows, places, vocabulary});
  return all.gather(2, batch.at(key::label).unsqueeze(2)).squeeze(2);
}

// Row b, place t reads the table's row b * places + t, its label is one further on each time.
inline Batch sequences(const at::Tensor& mask) {
  Batch batch;
  const at::Tensor places_of_table = at::arange(rows * places);
  batch.add(key::tokens, places_of_table.view({rows, places}));
  batch.add(key::label, places_of_table.remainder(vocabulary).view({rows, places}));
  batch.add(key::mask, mask);
  return batch;
}

inline at::Tensor everything() {
  return at::ones({rows, places}, at::kBool);
}

// The gradient of the objective by log pi of each place: since d log pi(label) / d logit(label) is
// 1 - p(label), the table's gradient there divided by it.
inline at::Tensor slope_by_log_prob(const TableModel& model, const Batch& batch) {
  const at::Tensor gradient = model.table().grad().view({rows, places, vocabulary});
  const at::Tensor at_label = gradient.gather(2, batch.at(key::label).unsqueeze(2)).squeeze(2);
  return at_label / (1 - log_probs(model, batch).exp());
}

inline void expect_all_close(const at::Tensor& ours, const at::Tensor& expected) {
  EXPECT_TRUE(at::allclose(ours, expected, 1e-12, 1e-12)) << ours << "\n" << expected;
}

}  // namespace lockstep::losses
