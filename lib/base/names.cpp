#include <array>
#include <utility>

#include "opreplay/outcome.h"
#include "opreplay/verdict.h"

// The words of every enum that reaches a record, a report or a filter, in one place.

namespace opreplay {
namespace {

struct ReasonRow {
  std::string_view word;
  Status status;
};

constexpr std::array k_reasons = {
    ReasonRow{"none", Status::pass},
    ReasonRow{"cpu_fallback", Status::substitute},
    ReasonRow{"precision_downgrade", Status::substitute},
    ReasonRow{"workaround_verified", Status::substitute},
    ReasonRow{"no_kernel", Status::blocked},
    ReasonRow{"backend_not_loaded", Status::blocked},
    ReasonRow{"unsupported_dtype", Status::blocked},
    ReasonRow{"unsupported_layout", Status::blocked},
    ReasonRow{"unsupported_shape", Status::blocked},
    ReasonRow{"rejected_input", Status::blocked},
    ReasonRow{"accepted_invalid", Status::blocked},
    ReasonRow{"device_error", Status::blocked},
    ReasonRow{"wrong_value", Status::blocked},
    ReasonRow{"wrong_class", Status::blocked},
    ReasonRow{"wrong_shape", Status::blocked},
    ReasonRow{"wrong_dtype", Status::blocked},
    ReasonRow{"wrong_device", Status::blocked},
    ReasonRow{"wrong_alias", Status::blocked},
    ReasonRow{"input_modified", Status::blocked},
    ReasonRow{"out_of_bounds_write", Status::blocked},
    ReasonRow{"unwritten_output", Status::blocked},
    ReasonRow{"crash", Status::blocked},
    ReasonRow{"hang", Status::blocked},
    ReasonRow{"out_of_memory", Status::blocked},
    ReasonRow{"device_lost", Status::blocked},
    ReasonRow{"not_run", Status::pending},
    ReasonRow{"not_reached", Status::pending},
    ReasonRow{"no_rule", Status::pending},
    ReasonRow{"reference_crash", Status::pending},
    ReasonRow{"reference_suspect", Status::pending},
    ReasonRow{"undefined_by_spec", Status::pending},
    ReasonRow{"evidence_weak", Status::pending},
    ReasonRow{"infrastructure", Status::pending},
    ReasonRow{"stale", Status::pending},
};
static_assert(k_reasons.size() == static_cast<std::size_t>(Reason::stale) + 1);

constexpr std::array<std::string_view, 5> k_statuses = {"pass", "substitute", "blocked", "pending",
                                                        "invalid"};
constexpr std::array<std::string_view, 9> k_stages = {"queued",    "inputs",  "reference",
                                                      "copy_in",   "launch",  "synchronise",
                                                      "copy_back", "compare", "done"};
constexpr std::array<std::string_view, 9> k_error_classes = {
    "not_implemented", "out_of_memory", "accelerator", "index", "linalg", "type",
    "value",           "internal",      "other"};
constexpr std::array<std::string_view, 5> k_endings = {"answered", "crashed", "exited", "hung",
                                                       "lost"};
constexpr std::array<std::string_view, 7> k_kinds = {
    "", "missing", "input_unmet", "wrong_result", "combination", "multi_process", "environment"};

template <class Enum>
std::size_t index(Enum value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

std::string_view to_string(Status status) { return k_statuses[index(status)]; }
std::string_view to_string(Reason reason) { return k_reasons[index(reason)].word; }
std::string_view to_string(Kind kind) { return k_kinds[index(kind)]; }
std::string_view to_string(Stage stage) { return k_stages[index(stage)]; }
std::string_view to_string(ErrorClass error_class) { return k_error_classes[index(error_class)]; }
std::string_view to_string(Ending ending) { return k_endings[index(ending)]; }

Status status_of(Reason reason) { return k_reasons[index(reason)].status; }

std::optional<Status> parse_status(std::string_view word) {
  for (std::size_t i = 0; i < k_statuses.size(); ++i)
    if (k_statuses[i] == word) return static_cast<Status>(i);
  return std::nullopt;
}

std::optional<Reason> parse_reason(std::string_view word) {
  for (std::size_t i = 0; i < k_reasons.size(); ++i)
    if (k_reasons[i].word == word) return static_cast<Reason>(i);
  return std::nullopt;
}

Status worse(Status a, Status b) {
  const auto rank = [](Status s) {
    switch (s) {
      case Status::blocked:
        return 4;
      case Status::pending:
        return 3;
      case Status::substitute:
        return 2;
      case Status::pass:
        return 1;
      case Status::invalid:
        return 0;
    }
    return 0;
  };
  return rank(a) >= rank(b) ? a : b;
}

}  // namespace opreplay
