#pragma once
/// How the elements of an input tensor come about: a recipe that gives the same bytes on every
/// machine. Filled by lib/base/fill.h, written in op-specs, sent to the worker.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opreplay {

/// Distributions of a recipe. `labels` are distinct values 0, 1, 2... in element order,
/// `permutation` the same in seeded order, `signs` balanced +1/-1.
enum class Dist : std::uint8_t {
  normal,
  uniform,
  randint,
  bernoulli,
  permutation,
  labels,
  signs,
};

/// Elements that `Place` overwrites. `one_per_row` takes one seeded element of every last-dim row.
enum class Where : std::uint8_t { first, middle, last, all, one_per_row, index };

/// A value put over what the recipe gave, at some elements.
struct Place {
  Where where = Where::first;
  std::vector<std::int64_t> index;  ///< used by Where::index only
  double value = 0;
  bool operator==(const Place&) const = default;
};

/// The recipe: a distribution, a constant, literal data or a stored blob, then `places`.
struct Values {
  enum class Kind : std::uint8_t { dist, fill, data, file };

  Kind kind = Kind::dist;
  Dist dist = Dist::normal;
  double mean = 0, std = 1;            ///< normal
  double low = 0, high = 1;            ///< uniform [low, high), randint [low, high)
  double p = 0.5;                      ///< bernoulli
  std::optional<double> min, max;      ///< results are clamped into [min, max]
  double fill = 0;                     ///< Kind::fill
  std::vector<double> data;            ///< Kind::data, row-major
  std::vector<std::int64_t> int_data;  ///< Kind::data of integer tensors (exact above 2^53)
  std::string file, key;               ///< Kind::file
  std::vector<Place> places;
  bool operator==(const Values&) const = default;
};

}  // namespace opreplay
