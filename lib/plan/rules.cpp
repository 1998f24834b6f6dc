// RuleSet: rule files to Rule (format: docs/rules.md).

#include "lib/plan/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/compare/error_model.h"
#include "lib/plan/expression.h"
#include "lib/spec/values_reader.h"
#include "lib/spec/yaml_reader.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr std::int64_t k_max_file_bytes = std::int64_t{4} << 20;

bool is_op_pattern(std::string_view text) {
  if (text.ends_with('*')) text.remove_suffix(1);
  const auto dot = text.find('.');
  return dot != std::string_view::npos && dot > 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

class RuleReader {
 public:
  explicit RuleReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // The rules of a file with the node of each, one per op named.
  std::vector<std::pair<Rule, const YamlNode*>> read(const YamlNode& root) {
    std::vector<std::pair<Rule, const YamlNode*>> rules;
    MapReader map(root, "rule file", diagnostics_);
    if (const YamlNode* list = map.require("rules"))
      for (const YamlNode& item : read_list(*list, "rules", diagnostics_)) {
        const Rule rule = read_rule(item);
        for (const auto& [op, node] : ops_) {
          rules.emplace_back(rule, node);
          rules.back().first.op = op;
          rules.back().first.source = fmt::format("{}:{}", diagnostics_.file(), node->line);
        }
      }
    map.finish();
    return rules;
  }

 private:
  Rule read_rule(const YamlNode& node) {
    Rule rule;
    ops_.clear();
    MapReader map(node, "rule", diagnostics_);
    if (const YamlNode* op = map.require("op")) read_ops(*op);
    if (const YamlNode* oracle = map.find("oracle")) read_oracle(*oracle, rule.oracle);
    if (const YamlNode* domain = map.find("domain")) read_domains(*domain, rule);
    if (const YamlNode* names = map.find("parameters"))
      rule.parameters = read_texts(*names, "parameters", diagnostics_);
    if (const YamlNode* names = map.find("written"))
      rule.written = read_texts(*names, "written", diagnostics_);
    if (const YamlNode* shape = map.find("shape")) read_shape(*shape, rule);
    if (const YamlNode* equivalent = map.find("equivalent"))
      rule.equivalent = read_texts(*equivalent, "equivalent", diagnostics_);
    if (const YamlNode* gaps = map.find("not_covered"))
      for (const YamlNode& item : read_list(*gaps, "not_covered", diagnostics_))
        read_gap(item, rule);
    if (const YamlNode* source = map.find("source"))
      rule.citation = read_text(*source, "source", diagnostics_).value_or("");
    map.finish();
    return rule;
  }

  void read_ops(const YamlNode& node) {
    const auto add = [this](const YamlNode& item) {
      const auto text = read_text(item, "op", diagnostics_);
      if (!text) return;
      if (is_op_pattern(*text))
        ops_.emplace_back(*text, &item);
      else
        complain_expected(item, "op", "an overload such as aten.add.Tensor, or a prefix and '*'",
                          diagnostics_);
    };
    if (node.is_scalar()) return add(node);
    for (const YamlNode& item : read_list(node, "op", diagnostics_)) add(item);
  }

  void read_oracle(const YamlNode& node, OracleRule& oracle) {
    const YamlNode* model = &node;
    if (!node.is_scalar()) {
      MapReader map(node, "oracle", diagnostics_);
      model = map.require("model");
      for (std::size_t i = 0; i < node.keys.size(); ++i) {
        const YamlNode& key = node.keys[i];
        if (!key.is_scalar() || key.text == "model") continue;
        oracle.attributes[key.text] =
            read_text(node.values[i], "oracle." + key.text, diagnostics_).value_or("");
      }
    }
    if (!model) return;
    oracle.model = read_text(*model, "oracle", diagnostics_).value_or("");
    if (!model->is_scalar() || find_error_model(oracle.model)) return;
    std::vector<std::string_view> names;
    for (const ErrorModel& known : error_models()) names.push_back(known.name);
    complain(*model,
             fmt::format("oracle: expected one of {}, found {}{}", fmt::join(names, ", "),
                         describe(*model), nearest_hint(nearest_word(oracle.model, names))),
             diagnostics_);
  }

  void read_domains(const YamlNode& node, Rule& rule) {
    MapReader map(node, "domain", diagnostics_);  // any argument name is a key: never finished
    if (!map.is_map()) return;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      if (!node.keys[i].is_scalar()) continue;
      const std::string& argument = node.keys[i].text;
      rule.domain[argument] = read_domain(node.values[i], argument);
    }
  }

  Domain read_domain(const YamlNode& node, const std::string& argument) {
    Domain domain;
    ValuesContext context;
    context.expression = [&](const std::string& key, const YamlNode& number) {
      if (const auto problem = check_expression(number.text)) {
        const auto count = [&](char c) {
          return std::count(number.text.begin(), number.text.end(), c);
        };
        complain(number,
                 fmt::format("domain.{}.{}: {}{}", argument, key, *problem,
                             count('(') > count(')')
                                 ? "; in {...} an expression with a comma needs quotes"
                                 : ""),
                 diagnostics_);
      }
      domain.expressions[key] = number.text;
    };
    domain.base = read_values(node, "domain." + argument, context, diagnostics_);
    return domain;
  }

  void read_shape(const YamlNode& node, Rule& rule) {
    for (const YamlNode& item : read_list(node, "shape", diagnostics_)) {
      const auto text = read_text(item, "shape", diagnostics_);
      if (!text) continue;
      const auto equals = text->find("==");
      if (equals == std::string::npos) {
        complain_expected(item, "shape", "a relation such as prod(self) == prod(size)",
                          diagnostics_);
        continue;
      }
      for (const std::string& side : {text->substr(0, equals), text->substr(equals + 2)})
        if (const auto problem = check_expression(side))
          complain(item, "shape: " + *problem, diagnostics_);
      rule.shape.push_back(*text);
    }
  }

  void read_gap(const YamlNode& node, Rule& rule) {
    MapReader map(node, "not_covered", diagnostics_);
    const YamlNode* family = map.require("family");
    const YamlNode* why = map.require("why");
    map.finish();
    if (!family || !why) return;
    const auto family_text = read_text(*family, "not_covered.family", diagnostics_);
    const auto why_text = read_text(*why, "not_covered.why", diagnostics_);
    if (family_text && why_text) rule.not_covered.push_back(*family_text + ": " + *why_text);
  }

  Diagnostics& diagnostics_;
  std::vector<std::pair<std::string, const YamlNode*>> ops_;  // of the rule being read
};

// The rule's content as one text: fields apart by unit separators, so that no two rules meet.
std::string canonical(const Rule& rule) {
  std::string text = rule.op;
  const auto add = [&text](std::string_view field, std::string_view value) {
    text += fmt::format("\x1f{}\x1e{}", field, value);
  };
  add("model", rule.oracle.model);
  for (const auto& [key, value] : rule.oracle.attributes) add("attribute " + key, value);
  for (const auto& [argument, domain] : rule.domain) {
    const Values& v = domain.base;
    add("domain " + argument,
        fmt::format("{} {} {} {} {} {} {} {} {} {}", static_cast<int>(v.kind),
                    static_cast<int>(v.dist), v.mean, v.std, v.low, v.high, v.p, v.fill,
                    v.min ? float_text(*v.min) : "-", v.max ? float_text(*v.max) : "-"));
    for (const auto& [key, expression] : domain.expressions)
      add("expression " + argument + " " + key, expression);
  }
  for (const std::string& name : rule.parameters) add("parameter", name);
  for (const std::string& name : rule.written) add("written", name);
  for (const std::string& gap : rule.not_covered) add("not covered", gap);
  for (const std::string& relation : rule.shape) add("shape", relation);
  for (const std::string& spelling : rule.equivalent) add("equivalent", spelling);
  return text + "\n";
}

std::vector<std::filesystem::path> rule_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error))
    if (entries->path().extension() == ".yaml") files.push_back(entries->path());
  if (error)
    throw Error(ExitCode::invalid_input,
                fmt::format("{}: cannot read the rules: {}", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

RuleSet RuleSet::load(const std::vector<std::filesystem::path>& folders) {
  RuleSet set;
  std::vector<Diagnostic> problems;
  for (const auto& folder : folders) {
    std::map<std::string, std::string> seen;  // op -> file:line, of this folder
    for (const auto& file : rule_files(folder)) {
      Diagnostics diagnostics(file.string());
      const auto text = read_text_file(file.string(), k_max_file_bytes, diagnostics);
      const auto root = text ? parse_yaml(*text, diagnostics) : std::nullopt;
      if (root)
        for (auto& [rule, node] : RuleReader(diagnostics).read(*root)) {
          const auto [first, added] = seen.emplace(rule.op, rule.source);
          if (!added)
            complain(*node, fmt::format("op: {} has a rule at {} already", rule.op, first->second),
                     diagnostics);
          set.rules_[rule.op] = std::move(rule);
        }
      const auto found = diagnostics.take();
      problems.insert(problems.end(), found.begin(), found.end());
    }
  }
  throw_if_any(problems);
  std::string content;
  for (const auto& [op, rule] : set.rules_) content += canonical(rule);
  set.hash_ = hash64(content);
  return set;
}

const Rule* RuleSet::find(const std::string& op) const {
  const auto exact = rules_.find(op);
  if (exact != rules_.end()) return &exact->second;
  for (std::size_t length = op.size() + 1; length-- > 0;) {
    const auto glob = rules_.find(op.substr(0, length) + "*");
    if (glob != rules_.end()) return &glob->second;
  }
  return nullptr;
}

}  // namespace opreplay
