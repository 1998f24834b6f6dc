#pragma once
/// What a fault file says: how the device adds up, and a list of faults (where, when, what).
/// Format: docs/faults.md; read by fault_file.h; conditions are decided in conditions.h, effects
/// take place in hook.h.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/simdevice/arithmetic.h"
#include "opreplay/dtype.h"
#include "opreplay/verdict.h"

namespace opreplay::sim {

/// ">1024", "==0", "%16!=0"; a bare number means equality.
struct Comparison {
  enum class Op : std::uint8_t { eq, ne, lt, le, gt, ge };
  Op op = Op::eq;
  double value = 0;
  std::int64_t modulus = 0;  ///< 0 = the number itself is compared
  bool holds(double number) const;
  bool operator==(const Comparison&) const = default;
};

enum class Has : std::uint8_t {
  nan,
  inf,
  neg_inf,
  neg_zero,
  denormal,
  negative,
  duplicate_index,
  out_of_range,
  ties,
  constant,
};

/// A property of one element, not of a tensor as a whole.
bool is_elementwise(Has has);

/// What one element (or, for the last four, a whole tensor) must be: any of `has`, and `value`.
struct ElementTest {
  std::vector<Has> has;
  std::optional<Comparison> value;
};

/// An argument as written in a fault file.
struct Literal {
  std::variant<std::monostate, bool, double, std::string, Comparison, std::vector<Literal>> data;
};

// Conditions. An empty `arg` means some tensor argument.
struct DTypeIs {
  std::string arg;
  std::vector<DType> any_of;
};
struct NumelIs {
  std::string arg;
  Comparison is;
};
struct RankIs {
  std::string arg;
  Comparison is;
};
struct SizeIs {
  std::string arg;
  std::int64_t dim;
  Comparison is;
};
enum class Trait : std::uint8_t { empty, contiguous, offset, stride0, channels_last };
struct TraitIs {
  std::string arg;
  Trait trait;
  bool expected;
};
struct MisalignedTo {
  std::string arg;
  std::int64_t bytes;
};
enum class Range : std::uint8_t { some, all, row };
struct ElementIs {
  std::string arg;
  ElementTest test;
  Range range;
};
struct OutSizeIs {
  std::int64_t dim;
  Comparison is;
};
struct ArgumentIs {
  std::string arg;
  Literal is;
};
struct PresentIs {
  std::string arg;
  bool expected;
};
struct CallIs {
  Comparison number;
};
struct AfterOp {
  std::string pattern;
};
struct GradIs {
  std::string arg;
  bool expected;
};
struct InPlaceIs {
  bool expected;
};
struct PhaseIs {
  bool backward;
};
struct Chance {
  double probability;
};
struct ReducedIs {
  Comparison length;
};
enum class Past : std::uint8_t { other_shape, other_dtype, other_scalar };
struct HistoryHas {
  Past past;
};

using Condition = std::variant<DTypeIs, NumelIs, RankIs, SizeIs, TraitIs, MisalignedTo, ElementIs,
                               OutSizeIs, ArgumentIs, PresentIs, CallIs, AfterOp, GradIs, InPlaceIs,
                               PhaseIs, Chance, ReducedIs, HistoryHas>;

/// A number, or one that depends on the dtype or the tensor.
struct FillValue {
  enum class Kind : std::uint8_t { number, max, min, first };
  Kind kind = Kind::number;
  double number = 0;
};
enum class ValueClass : std::uint8_t { nan, inf, neg_inf, neg_zero, denormal };
using ClassMap = std::vector<std::pair<ValueClass, FillValue>>;

// Effects that end or delay the call.
enum class ErrorClass : std::uint8_t {
  runtime,
  not_implemented,
  index,
  value,
  type,
  linalg,
  out_of_memory,
  accelerator,
};
struct NoKernel {};
struct Throw {
  ErrorClass error = ErrorClass::runtime;
  std::string text;
  int code = 0;       ///< of an AcceleratorError
  bool sync = false;  ///< raised at the next synchronise
};
struct Crash {
  int signal;
};
struct Hang {
  double seconds;
};
struct Exit {
  int code;
};
struct OutOfMemory {};
struct Poison {};
struct Slow {
  double milliseconds;
};
struct Leak {
  std::int64_t bytes;
};
struct AcceptInvalid {
  std::string shape_of;  ///< an argument, or empty: `shape` counts
  std::vector<std::int64_t> shape;
  FillValue fill;
};

// Effects on what is computed.
struct CpuFallback {};
struct SilentCpu {};
struct RoundInputs {
  int mantissa;
};
struct MapInput {
  ClassMap map;
};
struct AccumulateIn {
  DType dtype;
};
struct Saturate {};
struct AsDType {
  DType dtype;
};
struct DropTerm {};
struct OrderRandom {};
struct PickOther {};
struct Ignore {
  std::vector<std::string> stride, offset;  ///< tensor arguments
  std::vector<std::string> scalars;         ///< read as their defaults
};

// Effects on the result.
struct SetElement {
  enum class How : std::uint8_t { factor, value, neighbour };
  std::int64_t index;
  How how;
  double number = 0;
};
struct ScaleBy {
  double factor;
};
struct FillWith {
  FillValue value;
};
struct Tail {
  std::int64_t dim, from;
  FillValue value;
};
struct StaleRow {};
struct StaleResult {};
struct MapResult {
  ClassMap map;
};
struct Clip {
  std::optional<double> min, max;
};
struct RoundHalfUp {};
struct Swap {
  std::int64_t first, second;
};
struct DropRows {
  std::int64_t count;
};
struct Unwritten {
  double fraction;
};
struct DropWrite {
  std::string arg;  ///< or empty: output `index`
  std::int64_t index = 0;
};
struct ModifyInput {
  std::string arg;
};
struct OobWrite {
  std::int64_t bytes;
};
struct WrongDType {
  DType dtype;
};
struct WrongShape {
  std::vector<std::int64_t> sizes;
};
struct OnCpu {};
struct NoAlias {};

using Effect =
    std::variant<NoKernel, Throw, Crash, Hang, Exit, OutOfMemory, Poison, Slow, Leak, AcceptInvalid,
                 CpuFallback, SilentCpu, RoundInputs, MapInput, AccumulateIn, Saturate, AsDType,
                 DropTerm, OrderRandom, PickOther, Ignore, SetElement, ScaleBy, FillWith, Tail,
                 StaleRow, StaleResult, MapResult, Clip, RoundHalfUp, Swap, DropRows, Unwritten,
                 DropWrite, ModifyInput, OobWrite, WrongDType, WrongShape, OnCpu, NoAlias>;

/// What the tool must say of a fault; for `selftest`, the device does not look at it.
struct Expectation {
  std::optional<Status> status;
  std::vector<Reason> reasons;
  std::string phase, variation, trigger, note;
};

struct Fault {
  std::string name;
  std::vector<std::string> ops;  ///< globs over "aten.clamp.Tensor"
  std::vector<Condition> when;   ///< all must hold
  std::vector<Effect> effects;
  std::optional<ElementIs> where;  ///< only outputs whose own input element meets it
  std::int64_t output = 0;         ///< the result that effects on the result change
  Expectation expect;
  std::string link, right, call;
  int line = 0;
};

struct FaultFile {
  Arithmetic declare;
  std::vector<Fault> faults;
};

/// `*` and `?` as in a shell; everything else literally.
bool matches_glob(const std::string& pattern, const std::string& text);
/// Some pattern of the fault names `op` ("aten.clamp.Tensor").
bool matches(const Fault& fault, const std::string& op);

}  // namespace opreplay::sim
