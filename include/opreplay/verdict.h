#pragma once
/// What an outcome means. Statuses, reasons and their order: docs/design.md "Verdicts".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opreplay {

/// `invalid` is no verdict: the reference rejects the case as well; such cases are counted apart.
enum class Status : std::uint8_t { pass, substitute, blocked, pending, invalid };

enum class Reason : std::uint8_t {
  none,  ///< pass and invalid
  // substitute
  cpu_fallback,
  precision_downgrade,
  workaround_verified,
  // blocked
  no_kernel,
  backend_not_loaded,
  unsupported_dtype,
  unsupported_layout,
  unsupported_shape,
  rejected_input,
  accepted_invalid,
  device_error,
  wrong_value,
  wrong_class,
  wrong_shape,
  wrong_dtype,
  wrong_device,
  wrong_alias,
  input_modified,
  out_of_bounds_write,
  unwritten_output,
  crash,
  hang,
  out_of_memory,
  device_lost,
  // pending
  not_run,
  not_reached,
  no_rule,
  reference_crash,
  reference_suspect,
  undefined_by_spec,
  evidence_weak,
  infrastructure,
  stale,
};

std::string_view to_string(Status status);
std::string_view to_string(Reason reason);
std::optional<Status> parse_status(std::string_view word);
std::optional<Reason> parse_reason(std::string_view word);
/// The only status a reason may come with.
Status status_of(Reason reason);
/// The worse of two statuses: blocked > pending > substitute > pass; invalid yields to any other.
Status worse(Status a, Status b);

/// The failure types an adapter team thinks in; empty for a pass.
enum class Kind : std::uint8_t {
  none,
  missing,
  input_unmet,
  wrong_result,
  combination,
  multi_process,
  environment,
};
std::string_view to_string(Kind kind);

struct Verdict {
  Status status = Status::pending;
  Reason reason = Reason::not_run;
  Kind kind = Kind::none;
  std::string detail;              ///< one line: what a reader needs first
  std::vector<std::string> notes;  ///< signed zero, strides differ, CPU inaccurate here...
};

}  // namespace opreplay
