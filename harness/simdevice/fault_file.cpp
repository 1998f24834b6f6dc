#include "harness/simdevice/fault_file.h"

#include <fstream>
#include <iterator>
#include <set>

#include "harness/simdevice/fault_parser.h"
#include "opreplay/error.h"

namespace opreplay::sim {
namespace {

constexpr std::int64_t k_version = 1;

void parse_order(YamlReader& reader, const YAML::Node& node, Arithmetic& how) {
  const std::string what =
      "an order: cpu, reversed, pairwise, fused, blocked:N or split_k:N with N >= 1";
  if (!node.IsScalar()) return reader.expected(node, what);
  const std::string& text = node.Scalar();
  const auto colon = text.find(':');
  const std::string word = text.substr(0, colon);
  if (colon == std::string::npos) {
    if (word == "cpu") return void(how.order = Order::cpu);
    if (word == "reversed") return void(how.order = Order::reversed);
    if (word == "pairwise") return void(how.order = Order::pairwise);
    if (word == "fused") return void(how.order = Order::fused);
  } else if (word == "blocked" || word == "split_k") {
    const auto parts = parse_number(text.substr(colon + 1));
    if (parts && *parts >= 1 && *parts <= 1e9) {
      how.order = word == "blocked" ? Order::blocked : Order::split_k;
      how.parts = static_cast<std::int64_t>(*parts);
      return;
    }
  }
  reader.expected(node, what);
}

void parse_declare(YamlReader& reader, const YAML::Node& node, Arithmetic& how) {
  reader.map(
      node, "a mapping of accumulate, ftz, order, intermediates",
      {{"order", [&](const YAML::Node& n) { parse_order(reader, n, how); }},
       {"accumulate",
        [&](const YAML::Node& n) {
          how.accumulate = reader
                               .word<Accumulator>(n, "accumulator",
                                                  {{"fp32", Accumulator::wide},
                                                   {"f32", Accumulator::wide},
                                                   {"f16", Accumulator::f16},
                                                   {"bf16", Accumulator::bf16}})
                               .value_or(how.accumulate);
        }},
       {"ftz",
        [&](const YAML::Node& n) {
          how.flush_denormals = reader.flag(n, "true or false").value_or(false);
        }},
       {"intermediates", [&](const YAML::Node& n) {
          how.narrow_intermediates =
              reader.word<bool>(n, "intermediates", {{"fp32", false}, {"T", true}}).value_or(false);
        }}});
}

void parse_expect(YamlReader& reader, const YAML::Node& node, Expectation& expect) {
  const auto text_into = [&reader](std::string& into) {
    return [&reader, &into](const YAML::Node& n) { into = reader.text(n, "a text").value_or(""); };
  };
  reader.map(node, "a mapping of status, reason, phase, variation, trigger, note",
             {{"status",
               [&](const YAML::Node& n) {
                 expect.status = n.IsScalar() ? parse_status(n.Scalar()) : std::nullopt;
                 if (!expect.status) reader.expected(n, "pass, substitute, blocked or pending");
               }},
              {"reason",
               [&](const YAML::Node& n) {
                 reader.items(n, [&](const YAML::Node& item) {
                   const auto reason = item.IsScalar() ? parse_reason(item.Scalar()) : std::nullopt;
                   if (reason) {
                     expect.reasons.push_back(*reason);
                   } else {
                     reader.expected(item, "a reason as docs/design.md lists them");
                   }
                 });
               }},
              {"phase", text_into(expect.phase)},
              {"variation", text_into(expect.variation)},
              {"trigger", text_into(expect.trigger)},
              {"note", text_into(expect.note)}});
}

void parse_op(YamlReader& reader, const YAML::Node& node, Fault& fault) {
  constexpr const char* k_allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.*?";
  reader.items(node, [&](const YAML::Node& item) {
    const bool well_formed = item.IsScalar() && !item.Scalar().empty() &&
                             item.Scalar().find_first_not_of(k_allowed) == std::string::npos &&
                             (item.Scalar().starts_with("aten.") || item.Scalar().starts_with("*"));
    if (well_formed) {
      fault.ops.push_back(item.Scalar());
    } else {
      reader.expected(item, "a pattern over operator names, as in \"aten.clamp*\"");
    }
  });
}

Fault parse_fault(YamlReader& reader, const YAML::Node& node) {
  Fault fault;
  fault.line = node.Mark().line + 1;
  const auto text_into = [&reader](std::string& into) {
    return [&reader, &into](const YAML::Node& n) { into = reader.text(n, "a text").value_or(""); };
  };
  reader.map(node, "a fault: a mapping of name, op, when, do, expect",
             {{"name", text_into(fault.name)},
              {"op", [&](const YAML::Node& n) { parse_op(reader, n, fault); }},
              {"when", [&](const YAML::Node& n) { fault.when = parse_when(reader, n); }},
              {"do", [&](const YAML::Node& n) { parse_effects(reader, n, fault); }},
              {"expect", [&](const YAML::Node& n) { parse_expect(reader, n, fault.expect); }},
              {"link", text_into(fault.link)},
              {"right", text_into(fault.right)},
              {"call", text_into(fault.call)}});
  if (!node.IsMap()) return fault;
  for (const char* required : {"name", "op", "do"})
    if (!node[required])
      reader.problem(node, "missing key '" + std::string(required) + "' of a fault");
  return fault;
}

void parse_fault_list(YamlReader& reader, const YAML::Node& node, std::vector<Fault>& faults) {
  if (!node.IsSequence()) return reader.expected(node, "a list of faults");
  std::set<std::string> names;
  for (const YAML::Node& item : node) {
    faults.push_back(parse_fault(reader, item));
    const std::string& name = faults.back().name;
    if (!name.empty() && !names.insert(name).second)
      reader.problem(item, "repeated fault name '" + name + "': each needs its own");
  }
}

}  // namespace

FaultFile parse_faults(const std::string& text, const std::string& name) {
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& e) {
    throw Error(ExitCode::invalid_input, name + ":" + std::to_string(e.mark.line + 1) + ":" +
                                             std::to_string(e.mark.column + 1) +
                                             ": not YAML: " + e.msg);
  }
  YamlReader reader(name);
  FaultFile file;
  reader.map(root, "a mapping of simdevice, declare, faults",
             {{"simdevice",
               [&](const YAML::Node& n) {
                 const auto version = reader.integer(n, "format version 1", 1);
                 if (version && *version != k_version) reader.expected(n, "format version 1");
               }},
              {"declare", [&](const YAML::Node& n) { parse_declare(reader, n, file.declare); }},
              {"faults", [&](const YAML::Node& n) { parse_fault_list(reader, n, file.faults); }}});
  if (root.IsMap() && !root["simdevice"])
    reader.problem(root, "missing key 'simdevice': start the file with \"simdevice: 1\"");
  reader.finish();
  return file;
}

FaultFile load_faults(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in && !in.eof())
    throw Error(ExitCode::invalid_input,
                file.string() + ": cannot be read: give a fault file as docs/faults.md describes");
  return parse_faults(text, file.string());
}

}  // namespace opreplay::sim
