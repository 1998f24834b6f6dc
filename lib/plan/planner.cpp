#include "lib/plan/planner.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "lib/plan/family.h"
#include "lib/plan/filter.h"
#include "lib/plan/spec_options.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// Families to vary, in their order. Throws on an unknown word.
std::vector<const Family*> chosen_families(const std::vector<std::string>& words) {
  std::vector<const Family*> out;
  for (const std::string& word : words) {
    if (word == "none") continue;
    if (word == "all") {
      for (const Family& family : families()) out.push_back(&family);
    } else {
      out.push_back(&find_family(word));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Why a rule keeps a family away from its op; empty if it does not.
std::string exclusion(const Rule* rule, std::string_view family) {
  if (!rule) return {};
  for (const std::string& entry : rule->not_covered) {
    const auto colon = entry.find(':');
    if (entry.substr(0, colon) != family) continue;
    return colon == std::string::npos ? "excluded by its rule" : entry.substr(colon + 2);
  }
  return {};
}

/// The string alone gives other bytes than the spec does.
bool needs_spec(const OpCall& call) {
  bool needs = false;
  for_each_tensor(call, [&](const std::string&, const TensorArg& tensor) {
    needs |= tensor.values.has_value() || tensor.requires_grad || tensor.on_cpu;
  });
  return needs;
}

PlannedCase planned(const OpSpec& spec, const SpecCall& call, std::uint64_t seed) {
  PlannedCase out;
  out.c.calls = {call.call};
  out.c.seed = seed;
  out.count = call.count;
  if (!call.at.empty()) out.module = call.at.front().module;
  out.spec = spec.file.string();
  out.scope = spec.scope;
  out.known = spec.known;
  out.tolerance = spec.tolerance;
  out.needs_spec = needs_spec(call.call) || spec.tolerance.has_value();
  return out;
}

/// Cases to run, each once: a call that several specs list counts as often as they say together.
class CaseQueue {
 public:
  void add(PlannedCase c) {
    const auto [first, last] = by_text_.equal_range(c.text);
    // Equal strings may stand for other bytes: what a spec says of the values is not in them.
    const auto same =
        std::find_if(first, last, [&](const auto& entry) { return cases_[entry.second].c == c.c; });
    if (same != last) {
      cases_[same->second].count += c.count;
      return;
    }
    by_text_.emplace(c.text, cases_.size());
    cases_.push_back(std::move(c));
  }
  std::vector<PlannedCase> take() { return std::move(cases_); }

 private:
  std::vector<PlannedCase> cases_;
  std::unordered_multimap<std::string, std::size_t> by_text_;
};

/// Takes one case of each queue in turn, so that a short budget already covers all families.
void interleave(std::vector<std::vector<PlannedCase>> queues, std::vector<PlannedCase>& out) {
  for (std::size_t i = 0, left = 1; left > 0; ++i) {
    left = 0;
    for (auto& queue : queues) {
      if (i >= queue.size()) continue;
      out.push_back(std::move(queue[i]));
      ++left;
    }
  }
}

}  // namespace

Plan make_plan(const std::vector<OpSpec>& specs, const RuleSet& rules, const PlanOptions& options) {
  check_spec_options(specs);
  const auto chosen = chosen_families(options.vary);
  // What a person asks for by name is not edited by what a spec says of the default.
  const bool by_default =
      std::find(options.vary.begin(), options.vary.end(), "all") != options.vary.end();
  const Filter filter(options.filter);
  Plan plan;
  CaseQueue workload;
  std::map<const Family*, CaseQueue> varied;
  const auto keep = [&](PlannedCase c, CaseQueue& to) {
    c.text = to_string(c.c);
    if (filter.matches(c.text, id_text(case_id(c.c)))) to.add(std::move(c));
  };
  const auto leave_out = [&](const OpSpec& spec, std::string_view what, std::string why) {
    NotCovered gap{spec.op, std::string(what), std::move(why)};
    if (std::find(plan.not_covered.begin(), plan.not_covered.end(), gap) == plan.not_covered.end())
      plan.not_covered.push_back(std::move(gap));
  };

  for (const OpSpec& spec : specs) {
    const Schema schema = parse_schema(spec.schema);
    const Rule* rule = rules.find(spec.op);
    const auto wanted = by_default ? edited(chosen, spec) : chosen;
    for (const Family* family : chosen)
      if (std::find(wanted.begin(), wanted.end(), family) == wanted.end())
        leave_out(spec, family->name, "left out by the spec's `vary`");
    std::vector<const Family*> vary;
    for (const Family* family : wanted) {
      const std::string why = exclusion(rule, family->name);
      if (why.empty())
        vary.push_back(family);
      else
        leave_out(spec, family->name, why);
    }
    for (const SpecCall& call : spec.calls) {
      keep(planned(spec, call, options.seed), workload);
      if (call.replay_backward) leave_out(spec, "backward", "no backward replay in this version");
      for (const Family* family : vary) {
        for (const Variation& variation : family->list({call.call, schema, rule})) {
          PlannedCase c = planned(spec, call, options.seed);
          c.workload = false;
          c.family = family->name;
          c.c.variations = {variation};
          keep(std::move(c), varied[family]);
        }
      }
    }
  }
  plan.cases = workload.take();
  std::vector<std::vector<PlannedCase>> queues;
  for (auto& [family, queue] : varied) queues.push_back(queue.take());
  interleave(std::move(queues), plan.cases);
  return plan;
}

PlannedCase plan_case(Case c) {
  PlannedCase out;
  out.text = to_string(c);
  out.workload = c.variations.empty();
  if (!c.variations.empty()) out.family = c.variations.front().family;
  // Who types an edge case asks about it: it counts.
  for (const Variation& variation : c.variations)
    out.scope.push_back(variation.family + "." + variation.member);
  out.c = std::move(c);
  return out;
}

ReplayRequest resolve(const Case& c, const RuleSet& rules, const SchemaSource& schemas) {
  if (c.calls.empty()) throw Error(ExitCode::invalid_input, "a case without a call");
  if (!c.data.empty())
    throw Error(ExitCode::invalid_input,
                "data=" + c.data + ": no spec or run folder at hand that holds this data");
  if (c.phase == Phase::backward)
    throw Error(ExitCode::invalid_input, to_string(c) +
                                             ": backward replay is not in this version; leave out "
                                             "bwd to run the call forward");
  ReplayRequest request;
  request.calls = c.calls;
  request.phase = c.phase;
  request.seed = c.seed;

  OpCall& judged = request.calls.back();
  const Schema* schema = schemas.find(judged.op);
  if (!schema)
    throw Error(ExitCode::invalid_input,
                "unknown operator " + judged.op + ": nearest is " + schemas.nearest(judged.op));
  const Rule* rule = rules.find(judged.op);
  for (const Variation& variation : c.variations)
    judged = find_family(variation.family).apply({judged, *schema, rule}, variation);
  if (rule) request.oracle = rule->oracle;

  for (OpCall& call : request.calls) {
    const Rule* own = rules.find(call.op);
    for_each_tensor(call, [&](const std::string& path, TensorArg& tensor) {
      if (!tensor.values) tensor.values = resolve_values(own, call, path, tensor);
    });
  }
  return request;
}

namespace {

/// Bytes of all input storages together; nothing if a tensor is impossible or the sum overflows.
std::optional<std::int64_t> input_bytes(const ReplayRequest& request) {
  std::map<std::string, std::int64_t> shared;
  std::int64_t total = 0;
  bool possible = true;
  for (const OpCall& call : request.calls) {
    for_each_tensor(call, [&](const std::string&, const TensorArg& tensor) {
      const auto elements = storage_elements(tensor.desc);
      std::int64_t bytes = 0;
      if (!elements ||
          __builtin_mul_overflow(*elements, static_cast<std::int64_t>(size_of(tensor.desc.dtype)),
                                 &bytes)) {
        possible = false;
        return;
      }
      // Tensors that share a storage need it once, as large as the largest of them asks.
      std::int64_t more = bytes;
      if (!tensor.desc.storage.empty()) {
        std::int64_t& known = shared[tensor.desc.storage];
        more = std::max(bytes - known, std::int64_t{0});
        known += more;
      }
      if (__builtin_add_overflow(total, more, &total)) possible = false;
    });
  }
  return possible ? std::optional(total) : std::nullopt;
}

}  // namespace

std::string over_limit(const ReplayRequest& request, std::int64_t max_bytes) {
  const auto bytes = input_bytes(request);
  if (bytes && *bytes <= max_bytes) return {};
  const std::string need =
      bytes ? std::to_string(*bytes) + " bytes" : "more bytes than can be counted";
  return "the inputs need " + need + ", the limit is " + std::to_string(max_bytes) +
         " (raise it with --max-bytes)";
}

}  // namespace opreplay
