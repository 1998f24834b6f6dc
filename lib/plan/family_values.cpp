#include <array>
#include <limits>

#include "lib/plan/families.h"

// Special values in floating tensors: the class channel's food. NaN dropped by a max or a clamp,
// Inf turned into the largest finite number, a softmax row of NaN, division by zero.

namespace opreplay {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();
/// Standard deviation of the `large` member: sums of squares leave f16's range, f32's never.
constexpr double k_large = 100;

struct Special {
  std::string_view name;
  double value;
};
constexpr std::array k_specials = {Special{"nan", k_nan}, Special{"inf", k_inf},
                                   Special{"neg_inf", -k_inf}};

struct Spot {
  std::string_view place;
  Where where;
};
constexpr std::array k_spots = {Spot{"first", Where::first}, Spot{"middle", Where::middle},
                                Spot{"last", Where::last}, Spot{"all", Where::all}};

bool is_floating_tensor(const std::string&, const TensorArg& tensor) {
  return is_floating(tensor.desc.dtype);
}

std::vector<Variation> list(const FamilyInput& input) {
  bool any = false;
  for_each_tensor(input.call, [&](const std::string& path, const TensorArg& tensor) {
    any |= is_floating_tensor(path, tensor) && numel(tensor.desc).value_or(0) > 0;
  });
  if (!any) return {};
  std::vector<Variation> out;
  for (const Special& special : k_specials)
    for (const Spot& spot : k_spots)
      if (spot.where != Where::all || special.name == "nan")
        out.push_back({"values", std::string(special.name), std::string(spot.place), {}});
  out.push_back({"values", "zeros", "", {}});
  out.push_back({"values", "large", "", {}});
  return out;
}

Place place_of(const Variation& variation, double value) {
  for (const Spot& spot : k_spots)
    if (spot.place == variation.place) return {spot.where, {}, value};
  refuse_variation(variation, "expected @first, @middle, @last or @all");
}

OpCall apply(const FamilyInput& input, const Variation& variation) {
  OpCall call = input.call;
  const auto paths = selected_tensors(call, variation, is_floating_tensor);
  const auto change = [&](const std::function<void(Values&)>& edit) {
    // The recipe under a special value is whatever the tensor would get without it.
    for_each_tensor(call, [&](const std::string& path, TensorArg& tensor) {
      if (!tensor.values) tensor.values = resolve_values(input.rule, input.call, path, tensor);
    });
    change_tensors(call, paths, [&](TensorArg& tensor) { edit(*tensor.values); });
  };
  for (const Special& special : k_specials) {
    if (special.name != variation.member) continue;
    const Place place = place_of(variation, special.value);
    change([&](Values& values) { values.places.push_back(place); });
    return call;
  }
  const bool zeros = variation.member == "zeros";
  if (!zeros && variation.member != "large")
    refuse_variation(variation, "expected nan, inf, neg_inf, zeros or large");
  if (!variation.place.empty())
    refuse_variation(variation, variation.member + " changes every element and takes no place");
  change([zeros](Values& values) {
    values = zeros ? Values{.kind = Values::Kind::fill} : Values{.std = k_large};
  });
  return call;
}

std::vector<std::string_view> members() {
  auto names = names_of(k_specials);
  names.insert(names.end(), {"zeros", "large"});
  return names;
}

}  // namespace

Family values_family() {
  return {"values",
          "NaN, Inf and -Inf at the first, middle and last element, all NaN, zeros, large values: "
          "finds dropped NaN, saturated Inf, overflow, division by zero",
          members(), list, apply};
}

}  // namespace opreplay
