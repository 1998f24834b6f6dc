#include "lib/judge/objects.h"

#include <algorithm>

namespace opreplay {
namespace {

/// Position behind the closing parenthesis of the last call; strings may hold parentheses.
std::size_t end_of_calls(std::string_view text) {
  std::size_t end = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      end = i + 1;
    }
  }
  return end;
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
  std::string_view rest = case_text.substr(end_of_calls(case_text));
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
  into(calls_, c.call_id);
  into(ops_, c.op);
  if (!c.module.empty()) into(modules_, c.module);
  count(model_, c, required);
}

std::vector<ObjectVerdict> ObjectRollUp::calls() const { return values_of(calls_); }
std::vector<ObjectVerdict> ObjectRollUp::ops() const { return values_of(ops_); }
std::vector<ObjectVerdict> ObjectRollUp::modules() const { return values_of(modules_); }

}  // namespace opreplay
