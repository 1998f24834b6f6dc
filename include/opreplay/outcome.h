#pragma once
/// What happened when one case ran: data only, no judgement. Written by the worker (or by the
/// supervisor when the worker died), read by judge, ledger and reports.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opreplay {

/// How far a case came. The worker notes each stage in the journal *before* it starts it, so that a
/// crash is pinned on the stage too.
enum class Stage : std::uint8_t {
  queued,       ///< the worker has not begun
  inputs,       ///< making the input bytes
  reference,    ///< CPU: in the tested dtype and in fp64
  copy_in,      ///< inputs to the target
  launch,       ///< the operator on the target
  synchronise,  ///< waiting for the target
  copy_back,    ///< results to the host
  compare,      ///< host only
  done,
};
std::string_view to_string(Stage stage);

/// Classes of an exception raised by torch or by a device behind it.
enum class ErrorClass : std::uint8_t {
  not_implemented,  ///< NotImplementedError: no kernel, or "not implemented for 'Half'"
  out_of_memory,
  accelerator,  ///< AcceleratorError: the device runtime's own error code
  index,
  linalg,
  type,
  value,
  internal,  ///< "INTERNAL ASSERT FAILED"
  other,     ///< plain c10::Error or std::exception
};
std::string_view to_string(ErrorClass error_class);

/// An exception, as text without a backtrace (at most 4 KiB).
struct Raised {
  ErrorClass error_class = ErrorClass::other;
  Stage stage = Stage::launch;
  std::string message;
};

/// How a class of elements differs: NaN, +Inf and -Inf positions.
struct ClassDifference {
  std::int64_t nan = 0, inf = 0;  ///< elements whose class differs (target against reference)
  std::int64_t allowed = 0;       ///< differences the rules allow (overflow within the bound)
  std::int64_t signed_zero = 0;   ///< -0 against +0: a note
};

/// One element, for the reader's eye.
struct WorstElement {
  std::vector<std::int64_t> index;
  double target = 0, reference = 0;
  double bound = 0;  ///< allowed |target - reference|
};

/// The result of comparing one output (or written argument) of the target with the reference.
struct OutputComparison {
  std::string name;  ///< "out", "out0", or the written argument's name
  /// Structure: expected and got, empty when equal.
  std::string shape_expected, shape_got;
  std::string dtype_expected, dtype_got;
  std::string device_expected, device_got;
  bool strides_differ = false;  ///< a note
  bool unwritten = false;       ///< the pre-filled pattern is still there

  bool compared = false;  ///< values were looked at (structure allowed it)
  std::string model;      ///< error model used
  std::int64_t elements = 0;
  ClassDifference classes;
  std::int64_t bad = 0;  ///< finite elements outside the bound
  double max_abs = 0, max_rel = 0, max_ulp = 0;
  double worst_ratio = 0;  ///< max error/bound over finite elements (inf if bound 0 exceeded)
  std::optional<double> rms_ratio;       ///< RMS channel, where it applies
  double zero_share = 0, nan_share = 0;  ///< of the target's elements
  bool within_downgrade = false;         ///< outside the bound, inside the next lower format's
  std::string downgrade;            ///< that format: "10-bit mantissa inputs", "bf16 inputs"...
  bool weak_evidence = false;       ///< the bound is too loose or the reference says nothing
  std::vector<WorstElement> worst;  ///< at most 5, worst first; class differences before values
  std::vector<std::string> notes;

  bool structure_ok() const {
    return shape_expected == shape_got && dtype_expected == dtype_got &&
           device_expected == device_got;
  }
};

/// The same channels applied to the CPU in the tested dtype, reduced to what judging needs.
struct Witness {
  bool ran = false;
  bool class_ok = true;
  bool value_ok = true;
  bool alike = true;  ///< where both are wrong, the CPU gives what the target gives
};

/// How the worker's process ended, when it did not answer.
enum class Ending : std::uint8_t {
  answered,
  crashed,  ///< killed by `signal`
  exited,   ///< called exit with `exit_code`
  hung,     ///< missed its deadline; killed
  lost,     ///< the launcher or the transport failed: infrastructure, not the device
};
std::string_view to_string(Ending ending);

/// Notes that judging acts on: a note of an Outcome or OutputComparison that *begins* so. What
/// follows is the reader's: "undefined by spec: argmax among ties".
inline constexpr std::string_view k_note_device_lost = "device lost";
inline constexpr std::string_view k_note_undefined = "undefined by spec";
inline constexpr std::string_view k_note_suspect = "reference suspect";

/// Everything known about one execution of one case.
struct Outcome {
  Ending ending = Ending::answered;
  int signal = 0, exit_code = 0;
  Stage stage = Stage::queued;  ///< last stage entered
  std::string output_tail;      ///< last lines the process wrote (at most 4 KiB)

  std::optional<Raised> reference;    ///< CPU in the tested dtype raised
  std::optional<Raised> reference64;  ///< fp64 run raised
  std::optional<Raised> target;       ///< the device raised
  std::string evidence;               ///< "fp64", "same precision", "exact", or why there is none

  std::vector<OutputComparison> outputs;
  Witness witness;
  int outputs_expected = 0, outputs_got = 0;
  std::vector<std::string> inputs_modified;    ///< arguments the target changed and the CPU did not
  std::vector<std::string> alias_differences;  ///< "out shares self on the CPU, not on the target"
  std::vector<std::string> out_of_bounds;      ///< arguments whose guard bytes changed

  std::string kernel;  ///< dispatch table: "kernel", "math kernel", "missing"...
  bool cpu_fallback = false;
  std::string fallback_evidence;  ///< "aten::_to_cpu inside aten::silu"
  std::vector<std::string> notes;

  std::uint64_t input_hash = 0, output_hash = 0;  ///< xxh3-64 of the bytes
  double reference_ms = 0, target_ms = 0, total_ms = 0;
  std::int64_t host_peak_bytes = 0;
};

}  // namespace opreplay
