/// Scaled dot product attention: errors of the scores, of their exponentials, of the weighted sum.
#include <limits>
#include <optional>

#include "lib/compare/model_support.h"
#include "lib/compare/models.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// Sizes of one call: queries [batch..., L, E], keys [batch..., S, E], values [batch..., S, Ev].
struct Shape {
  std::size_t batch = 1, queries = 1, keys = 1, depth = 1, width = 1;
};

std::size_t from_end(const Array& x, std::size_t dim) {
  return dim <= x.sizes.size() ? static_cast<std::size_t>(x.sizes[x.sizes.size() - dim]) : 1;
}

/// Which matrix of `x` a batch index of the output reads: broadcast dims repeat, and with grouped
/// queries several heads (dim -3) share one.
class Batches {
 public:
  Batches(const Array& x, const Array& like, bool grouped) {
    std::size_t stride = 1;
    for (std::size_t dim = 3; dim <= like.sizes.size(); ++dim) {
      const std::size_t size = from_end(x, dim), full = from_end(like, dim);
      const std::size_t shared = grouped && dim == 3 && size != 0 ? full / size : 1;
      dims_.push_back({full, size == 1 ? 0 : stride, shared});
      stride *= size;
    }
  }

  std::size_t at(std::size_t batch) const {
    std::size_t out = 0;
    for (const Dim& dim : dims_) {
      out += batch % dim.size / dim.shared * dim.stride;
      batch /= dim.size;
    }
    return out;
  }

 private:
  struct Dim {
    std::size_t size, stride, shared;
  };
  std::vector<Dim> dims_;  ///< innermost first
};

/// What is added to the scores of one row.
class Mask {
 public:
  Mask(const Evidence& e, const Array& query)
      : mask_(find_input(e, {"attn_mask", "attn_bias"})),
        causal_(scalar(e, "is_causal").value_or(0) != 0) {
    if (mask_) batches_.emplace(*mask_, query, false);
  }

  double at(std::size_t batch, std::size_t query, std::size_t key) const {
    constexpr double k_excluded = -std::numeric_limits<double>::infinity();
    if (causal_ && key > query) return k_excluded;
    if (!mask_) return 0;
    const std::size_t rows = from_end(*mask_, 2), columns = from_end(*mask_, 1);
    const std::size_t i =
        (batches_->at(batch) * rows + (rows == 1 ? 0 : query)) * columns + (columns == 1 ? 0 : key);
    const double value = mask_->data[i];
    if (mask_->dtype == DType::boolean) return value != 0 ? 0 : k_excluded;
    return value;
  }

 private:
  const Array* mask_;
  bool causal_;
  std::optional<Batches> batches_;
};

class Attention {
 public:
  explicit Attention(const Evidence& e)
      : e_(e),
        query_(need_input(e, {"query"}, "attention")),
        key_(need_input(e, {"key"}, "attention")),
        value_(need_input(e, {"value"}, "attention")),
        mask_(e, query_),
        at_(roundoff(e.dtype)),
        deviations_(deviations(e.reference.data.size())) {
    shape_ = {1, from_end(query_, 2), from_end(key_, 2), from_end(query_, 1), from_end(value_, 1)};
    for (std::size_t dim = 3; dim <= query_.sizes.size(); ++dim)
      shape_.batch *= from_end(query_, dim);
    scale_ = scalar(e, "scale").value_or(1 / std::sqrt(static_cast<double>(shape_.depth)));
    probability_.resize(shape_.keys);
    score_error_.resize(shape_.keys);
    score_.resize(shape_.keys);
  }

  std::vector<double> tau() {
    const bool grouped = scalar(e_, "enable_gqa").value_or(0) != 0;
    const Batches keys(key_, query_, grouped), values(value_, query_, grouped);
    const std::size_t rows = shape_.batch * shape_.queries, outputs = e_.reference.data.size();
    const bool log_sum = outputs == rows && shape_.width != 1;  // of the fused operators
    if (!log_sum && outputs != rows * shape_.width)
      throw Error(ExitCode::invalid_input, "oracle model 'attention': expected an output of " +
                                               std::to_string(rows * shape_.width) +
                                               " elements, found " + std::to_string(outputs) +
                                               "; correct the rule of this operator");
    std::vector<double> out(outputs);
    for (std::size_t b = 0; b < shape_.batch; ++b)
      for (std::size_t q = 0; q < shape_.queries; ++q) {
        read_row(b, q, key_.data.data() + keys.at(b) * shape_.keys * shape_.depth);
        const std::size_t row = b * shape_.queries + q;
        if (log_sum)
          out[row] = error_sum_ + at_.u * (std::abs(e_.reference.data[row]) + sum_error() + 9);
        else
          bound_row(row, value_.data.data() + values.at(b) * shape_.keys * shape_.width, out);
      }
    return out;
  }

 private:
  double sum_error() const { return deviations_ * walk(static_cast<double>(shape_.keys)); }

  /// Scores, probabilities and the error of each exponential of one query.
  void read_row(std::size_t batch, std::size_t query, const double* keys) {
    const double* q = query_.data.data() + (batch * shape_.queries + query) * shape_.depth;
    const double walked = deviations_ * walk(static_cast<double>(shape_.depth));
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < shape_.keys; ++j) {
      double sum = 0, squares = 0;
      for (std::size_t d = 0; d < shape_.depth; ++d) {
        const double term = q[d] * keys[j * shape_.depth + d];
        sum += term;
        squares += term * term;
      }
      const double s = sum * scale_, root = std::sqrt(squares) * std::abs(scale_);
      score_[j] = s + mask_.at(batch, query, j);
      // Adding a mask rounds once more, in units of the sum.
      const double size = std::max(std::abs(s), std::abs(score_[j]));
      score_error_[j] = at_.u * (walked * (std::abs(s) + root) + 2 * size);
      largest = std::max(largest, score_[j]);
    }
    double total = 0;
    for (std::size_t j = 0; j < shape_.keys; ++j) {
      probability_[j] = std::exp(score_[j] - largest);
      total += probability_[j];
    }
    error_sum_ = 0;
    for (std::size_t j = 0; j < shape_.keys; ++j) {
      probability_[j] /= total;
      // A key that is masked out weighs nothing, whatever its error.
      if (!(probability_[j] > 0)) {
        probability_[j] = score_error_[j] = 0;
        continue;
      }
      score_error_[j] += at_.u * (largest - score_[j] + 9);
      error_sum_ += probability_[j] * score_error_[j];
    }
  }

  void bound_row(std::size_t row, const double* values, std::vector<double>& out) const {
    for (std::size_t d = 0; d < shape_.width; ++d) {
      double linear = 0, squares = 0, error_squares = 0;
      for (std::size_t j = 0; j < shape_.keys; ++j) {
        if (probability_[j] == 0) continue;
        const double term = probability_[j] * std::abs(values[j * shape_.width + d]);
        const double error = term * score_error_[j];
        linear += error;
        squares += term * term;
        error_squares += error * error;
      }
      const std::size_t i = row * shape_.width + d;
      const double o = std::abs(e_.reference.data[i]), root = std::sqrt(squares);
      const double random = deviations_ * std::sqrt(error_squares) + o * error_sum_;
      out[i] = at_.u * sum_error() * (o + root) + std::min(linear, random);
      // Fused kernels in half precision round the probabilities to T.
      if (at_.narrow) out[i] += at_.u_t * (o + deviations_ / std::sqrt(3.0) * root);
    }
  }

  const Evidence& e_;
  const Array &query_, &key_, &value_;
  Mask mask_;
  Roundoff at_;
  double deviations_, scale_ = 1, error_sum_ = 0;
  Shape shape_;
  std::vector<double> score_, score_error_, probability_;
};

}  // namespace

Bound attention_bound(const Evidence& e) {
  Bound bound;
  bound.reduction = true;
  bound.tau = Attention(e).tau();
  return bound;
}

}  // namespace opreplay
