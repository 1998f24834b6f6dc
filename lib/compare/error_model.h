#pragma once
/// Error models: how far an honest result may be from the fp64 reference, element by element.
/// Formulas and notation: docs/oracle.md section 3. One model per .cpp, listed in error_models().
/// Next: compare.h applies the bound.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/request.h"
#include "opreplay/dtype.h"

namespace opreplay {

/// Dense row-major data; complex tensors come as their real view (last dim 2).
struct Array {
  std::vector<std::int64_t> sizes;
  std::vector<double> data;
  DType dtype = DType::f64;  ///< before widening: tells a bool mask from an additive one
};

/// What runs of the op with every intermediate result off by a random roundoff say of one output.
struct Staged {
  /// Root mean square change of each element, in units of the roundoff: s = u * gain.
  std::vector<double> gain;
  /// The same where intermediates are rounded to T: s_T = u_T * gain_narrow. Empty unless T is
  /// narrower than the accumulator.
  std::vector<double> gain_narrow;
  double fan_in = 0;  ///< Kf: mean number of input elements that an element depends on
};

/// What the reference side knows about one output.
struct Evidence {
  DType dtype = DType::f32;     ///< T, of the target's output (component type for complex)
  bool same_precision = false;  ///< the reference was computed in T, not in fp64
  /// Some operand is not a number of T, so that even a correctly rounded op rounds in its working
  /// format before it rounds to T.
  bool rounds_twice = false;
  Array reference;                ///< r, fp64
  std::size_t output = 0;         ///< which output of the op this is; returns come first
  bool complex_operands = false;  ///< a tensor argument is complex
  bool complex_result = false;    ///< the reference is a real view: two components per element
  /// Inputs of the call as fp64, after rounding to T, by argument path.
  std::map<std::string, Array> inputs;
  /// Non-tensor arguments that are numbers, bools (0/1) or number lists ("stride" -> {1, 1});
  /// defaults included, absent optionals left out.
  std::map<std::string, std::vector<double>> scalars;
  std::map<std::string, std::string> words;  ///< arguments that are text (`reduce` -> "amax")
  /// Attributes of the rule (`reduce: dim`).
  std::map<std::string, std::string> attributes;

  /// For models with needs.terms; as many elements as the reference. Per output element: S = sum of
  /// |terms|, sum of terms^2 (q = its root), and K, the number of terms (bias counted): what the op
  /// itself gives on |x|, x^2 and 1. A mean gives them divided by K; the model needs inputs then.
  std::vector<double> sum_abs, sum_squares, count;
  /// For models with needs.condition: cond_f = |r| + sum_i |x_i * df/dx_i|; and sum_i |x_i|. Of a
  /// complex result the larger of both components': complex arithmetic is accurate by norm.
  std::vector<double> condition, magnitude;
  /// At most this many distinct magnitudes in each operand of a product (0 = not counted).
  std::int64_t distinct_magnitudes = 0;
  /// For models with needs.staged.
  Staged staged;
};

/// What the worker must compute beside the reference itself.
struct Needs {
  bool terms = false;      ///< sum_abs, sum_squares, count
  bool condition = false;  ///< condition, magnitude
  bool inputs = false;     ///< inputs
  bool staged = false;     ///< staged
  bool wide = true;        ///< a run in fp64; without it the CPU's result in T is the reference
};

/// What a postcondition objects to.
struct Finding {
  struct Wrong {
    std::size_t index;
    double expected;  ///< a right value near by, for the reader's eye
  };
  std::vector<Wrong> wrong;
  bool whole = false;              ///< every element together is wrong (a mean), none by itself
  std::vector<std::string> notes;  ///< why
};

/// The bound of one output. |y - r| <= ulp_T(|r| + tau)/2 + tau.
struct Bound {
  bool exact = false;     ///< bitwise: `tau` unused
  bool metadata = false;  ///< values mean nothing: shape, dtype and device are all there is
  /// Many results are right, and this tells which; nothing else is compared then. It may refer to
  /// the evidence it was made from.
  std::function<Finding(std::span<const double> target)> postcondition;
  std::vector<double> tau;
  /// Accepted beyond tau with the note `note_wider` (weak range reduction of sin/cos,
  /// intermediates rounded to T); may be empty.
  std::vector<double> tau_wider;
  std::string note_wider;
  /// A reduction: where data or partial sums are not finite, the class of the CPU's result in T is
  /// accepted beside that of the rounded reference.
  bool reduction = false;
  /// Where the reference is not finite, numbers whose class is as right as its own; may be empty.
  std::vector<double> other_class;
  /// Largest partial result that some order may meet (prod); empty = as the sum of |terms| says.
  std::vector<double> partial_max;
  /// RMS channel (accumulate, N >= 64, unbiased data): the per-element scale of the error; the root
  /// mean square of max(0, err - half ulp)/scale must be <= rms_limit.
  std::vector<double> rms_scale;
  double rms_limit = 0;
  /// Bounds of the next lower formats, the lowest loss first; tried in order when tau fails.
  struct Downgrade {
    std::string format;
    std::vector<double> tau;
  };
  std::vector<Downgrade> downgrades;
};

/// The bound with every tau times `factor` >= 1; an exact one stays exact.
Bound widened(Bound bound, double factor);

struct ErrorModel {
  std::string_view name;
  Needs needs;
  Bound (*bound)(const Evidence&);
  bool complex = false;  ///< holds for complex operands too, component by component
};

/// The op rounds once, so that tau is 0: `kind: exact` in its rule (`exact_real`: unless an operand
/// is complex), and no alpha but 1 (which adds a product to the sum). Such an op needs no
/// condition.
bool is_correctly_rounded(const Evidence& evidence);

/// Every model, by name.
std::span<const ErrorModel> error_models();
/// The model called `name`, or null.
const ErrorModel* find_error_model(std::string_view name);

}  // namespace opreplay
