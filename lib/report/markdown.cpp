// Markdown for people: verdict per op, findings with evidence, environment, what was not covered.

#include <fmt/format.h>

#include <algorithm>

#include "lib/judge/objects.h"
#include "lib/ledger/run_folder.h"
#include "lib/report/reporter.h"
#include "lib/report/text.h"

namespace opreplay {
namespace {

/// Text for a table cell or a paragraph: nothing in it is markup.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_{}[]<>#|").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// Text as code, also where it holds backticks. In a table the bar still needs its backslash.
std::string code(std::string_view text, bool in_table = false) {
  std::string content;
  std::size_t longest = 0, run = 0;
  for (const char c : printable(text)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|' && in_table) content += '\\';
    content += c;
  }
  if (content.empty()) return {};
  const std::string fence(longest + 1, '`');
  const char* pad = longest > 0 ? " " : "";
  return fence + pad + content + pad + fence;
}

std::string op_table(const RunReport& run) {
  ObjectRollUp objects(run.plan.scope);
  for (const Record& record : run.records) objects.add(judged(record));
  std::string text =
      "| op | status | reason | pass | substitute | blocked | pending | invalid | edge findings "
      "beside |\n|---|---|---|---|---|---|---|---|---|\n";
  const auto row = [&](const std::string& name, const ObjectVerdict& o) {
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name, to_string(o.status),
                    o.status == Status::pass ? "" : code(to_string(o.reason), true), o.pass,
                    o.substitute, o.blocked, o.pending, o.invalid, o.edge_findings);
  };
  for (const ObjectVerdict& op : objects.ops()) row(code(op.name, true), op);
  row("**all**", objects.model());
  return text;
}

std::string finding(const Record& record) {
  std::string text =
      fmt::format("### {}: {}\n\n", headline(record.verdict), code(record.case_text));
  if (!record.verdict.detail.empty()) text += plain(record.verdict.detail) + "\n\n";
  const auto block = [&](const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    // Indented code: no line of it can end the block.
    for (const std::string& line : lines) text += "    " + line + "\n";
    text += "\n";
  };
  std::vector<std::string> figures = figure_lines(record.outcome);
  for (std::string& line : worst_lines(record)) figures.push_back(std::move(line));
  block(figures);
  const auto item = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("- {}: {}\n", name, value);
  };
  for (const std::string& note : record.verdict.notes) item("note", plain(note));
  item("known", plain(record.known));
  item("kind", plain(to_string(record.verdict.kind)));
  item("module", plain(record.module));
  if (record.count > 1) item("calls in the model", std::to_string(record.count));
  item("owner", plain(record.owner));
  item("next step", plain(record.next_step));
  item("not covered", plain(record.not_covered));
  item("reproduce", code(record.repro));
  return text + "\n";
}

std::string findings(const RunReport& run) {
  std::string text;
  for (const Status status : {Status::blocked, Status::substitute, Status::pending})
    for (const Record& record : run.records)
      if (record.verdict.status == status && record.verdict.reason != Reason::not_run)
        text += finding(record);
  return text.empty() ? "None.\n\n" : text;
}

std::string environment(const Environment& e) {
  std::string text = "Id " + code(e.id()) + "\n\n| fact | value |\n|---|---|\n";
  for (const auto& [key, value] : e.facts)
    text += fmt::format("| {} | {} |\n", plain(key), plain(value));
  for (const auto& [key, value] : e.volatile_facts)
    text += fmt::format("| {} (not in the id) | {} |\n", plain(key), plain(value));
  return text;
}

std::string not_covered(const RunReport& run) {
  std::string text;
  for (const NotCovered& gap : run.plan.not_covered)
    text += fmt::format("- {} {}: {}\n", code(gap.op), plain(gap.family), plain(gap.why));
  for (const Record& record : run.records)
    if (record.verdict.reason == Reason::not_run)
      text += "- not run: " + code(record.case_text) + "\n";
  return text.empty() ? "Nothing that was planned was left out.\n" : text;
}

}  // namespace

std::string render_markdown(const RunReport& run, const FormatOptions&) {
  std::string text = "# opreplay report\n\n";
  text += "- device: " + code(run.plan.device) + "\n";
  if (!run.plan.command.empty()) text += "- command: " + code(run.plan.command) + "\n";
  text += "- environment: " + code(run.environment.id()) + "\n";
  text += "- rules: " + code(run.plan.rules) + "\n";
  text += "- result: " + code(closing_line(run.summary)) + "\n\n";
  text += "## Verdict per op\n\n" + op_table(run);
  text += "\n## Findings\n\n" + findings(run);
  text += "## Not covered\n\n" + not_covered(run);
  text += "\n## Environment\n\n" + environment(run.environment);
  return text;
}

}  // namespace opreplay
