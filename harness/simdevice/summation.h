#pragma once
/// Sums of many independent outputs at once, in the order an Arithmetic names.
/// Every output of a row is added in the same order, so the inner loops run over outputs and the
/// compiler may vectorise them without touching the order.

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "harness/simdevice/arithmetic.h"

namespace opreplay::sim {

/// Rounds `count` partial sums to the accumulator's format; nothing to do for a wide one.
template <class T>
void round_to(Accumulator format, T* values, std::int64_t count) {
  if (format == Accumulator::f16) {
    for (std::int64_t i = 0; i < count; ++i)
      values[i] = static_cast<T>(static_cast<float>(c10::Half(static_cast<float>(values[i]))));
  } else if (format == Accumulator::bf16) {
    for (std::int64_t i = 0; i < count; ++i)
      values[i] = static_cast<T>(static_cast<float>(c10::BFloat16(static_cast<float>(values[i]))));
  }
}

/// sums[j] = sum over k in [0, terms) of term k, for `width` outputs j.
/// `add_term(k, into)` adds the k-th term of each output to into[0..width).
template <class T, class AddTerm>
class Summation {
 public:
  Summation(const Arithmetic& how, std::int64_t width, AddTerm& add_term)
      : how_(how), width_(width), add_term_(add_term) {}

  void run(std::int64_t terms, T* sums) {
    if (how_.drop_term && terms > 0) --terms;
    std::fill_n(sums, width_, T{0});
    switch (how_.order) {
      case Order::cpu:
      case Order::fused:
        return add_range(0, terms, sums);
      case Order::reversed:
        for (std::int64_t k = terms; k-- > 0;) add_one(k, sums);
        return;
      case Order::pairwise:
        return add_halves(0, terms, sums);
      case Order::blocked:
        return add_blocks(terms, how_.parts, sums);
      case Order::split_k:
        return add_blocks(terms, (terms + how_.parts - 1) / how_.parts, sums);
      case Order::random:
        return add_shuffled(terms, sums);
    }
  }

 private:
  void add_one(std::int64_t k, T* into) {
    add_term_(k, into);
    round_to(how_.accumulate, into, width_);
  }

  void add_range(std::int64_t begin, std::int64_t end, T* into) {
    for (std::int64_t k = begin; k < end; ++k) add_one(k, into);
  }

  void add_partial(const std::vector<T>& partial, T* into) {
    for (std::int64_t j = 0; j < width_; ++j) into[j] += partial[static_cast<std::size_t>(j)];
    round_to(how_.accumulate, into, width_);
  }

  void add_blocks(std::int64_t terms, std::int64_t block, T* into) {
    std::vector<T> partial(static_cast<std::size_t>(width_));
    for (std::int64_t begin = 0; begin < terms; begin += block) {
      std::fill(partial.begin(), partial.end(), T{0});
      add_range(begin, std::min(begin + block, terms), partial.data());
      add_partial(partial, into);
    }
  }

  void add_halves(std::int64_t begin, std::int64_t end, T* into) {
    if (end - begin <= 2) return add_range(begin, end, into);
    const std::int64_t middle = begin + (end - begin) / 2;
    std::vector<T> right(static_cast<std::size_t>(width_), T{0});
    add_halves(begin, middle, into);
    add_halves(middle, end, right.data());
    add_partial(right, into);
  }

  void add_shuffled(std::int64_t terms, T* into) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(terms));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(how_.seed));
    for (const std::int64_t k : order) add_one(k, into);
  }

  const Arithmetic& how_;
  std::int64_t width_;
  AddTerm& add_term_;
};

template <class T, class AddTerm>
void sum_terms(const Arithmetic& how, std::int64_t terms, std::int64_t width, T* sums,
               AddTerm add_term) {
  Summation<T, AddTerm>(how, width, add_term).run(terms, sums);
}

}  // namespace opreplay::sim
