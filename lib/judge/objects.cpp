#include "lib/judge/objects.h"

#include <algorithm>

namespace opreplay {
namespace {

/// Where the last call stands: its opening parenthesis, and behind its closing one. Strings may
/// hold parentheses.
struct LastCall {
  std::size_t open = 0, end = 0;
};
LastCall last_call(std::string_view text) {
  LastCall call;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      continue;
    } else if (c == '(' && depth++ == 0) {
      call.open = i;
    } else if (c == ')' && --depth == 0) {
      call.end = i + 1;
    }
  }
  return call;
}

void count(ObjectVerdict& object, const JudgedCase& c, bool required) {
  if (!required) {
    if (c.status == Status::pass || c.status == Status::invalid) return;
    if (object.edge_findings++ == 0) object.first_edge_finding = c.case_text;
    return;
  }
  switch (c.status) {
    case Status::invalid:
      ++object.invalid;
      return;
    case Status::pass:
      ++object.pass;
      break;
    case Status::substitute:
      ++object.substitute;
      break;
    case Status::blocked:
      ++object.blocked;
      break;
    case Status::pending:
      ++object.pending;
      break;
  }
  const bool first = object.required++ == 0;
  if (!first && worse(object.status, c.status) == object.status) return;
  object.status = c.status;
  object.reason = c.reason;
  object.worst_case = c.status == Status::pass ? std::string() : c.case_text;
}

std::vector<ObjectVerdict> values_of(const std::map<std::string, ObjectVerdict>& objects) {
  std::vector<ObjectVerdict> result;
  result.reserve(objects.size());
  for (const auto& [name, object] : objects) result.push_back(object);
  return result;
}

}  // namespace

std::vector<std::string> variations_of(std::string_view case_text) {
  std::vector<std::string> result;
  std::string_view rest = case_text.substr(last_call(case_text).end);
  const auto start = rest.find_first_not_of(' ');
  if (start == std::string_view::npos) return result;
  rest.remove_prefix(start);
  std::string_view words = rest.substr(0, rest.find(' '));
  // "fwd", "seed=3" and their like: no variation stands here.
  if (words.find('.') == std::string_view::npos || words.starts_with("data=")) return result;
  while (!words.empty()) {
    const std::string_view one = words.substr(0, words.find('+'));
    result.emplace_back(one.substr(0, one.find_first_of("@:")));
    words.remove_prefix(std::min(words.size(), one.size() + 1));
  }
  return result;
}

std::string op_of(std::string_view case_text) {
  const std::string_view before = case_text.substr(0, last_call(case_text).open);
  const auto space = before.find_last_of(' ');
  return std::string(space == std::string_view::npos ? before : before.substr(space + 1));
}

bool is_required(const JudgedCase& c, const Scope& scope) {
  if (c.workload) return true;
  const auto own = scope.per_op.find(c.op);
  const auto& entries = own == scope.per_op.end() ? scope.defaults : own->second;
  const auto variations = variations_of(c.case_text);
  return !variations.empty() &&
         std::all_of(variations.begin(), variations.end(), [&](const std::string& variation) {
           return std::any_of(entries.begin(), entries.end(), [&](const std::string& entry) {
             return variation == entry || variation.starts_with(entry + ".");
           });
         });
}

void ObjectRollUp::add(const JudgedCase& c) {
  const bool required = is_required(c, scope_);
  const auto into = [&](std::map<std::string, ObjectVerdict>& objects, const std::string& name) {
    ObjectVerdict& object = objects[name];
    object.name = name;
    count(object, c, required);
  };
  if (!c.call_id.empty()) into(calls_, c.call_id);
  into(ops_, c.op);
  if (!c.module.empty()) into(modules_, c.module);
  count(model_, c, required);
}

std::vector<ObjectVerdict> ObjectRollUp::calls() const { return values_of(calls_); }
std::vector<ObjectVerdict> ObjectRollUp::ops() const { return values_of(ops_); }
std::vector<ObjectVerdict> ObjectRollUp::modules() const { return values_of(modules_); }

}  // namespace opreplay
