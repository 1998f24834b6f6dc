// The ledger row: literal lines written by hand, and a round trip over random records.
#include "lib/ledger/record.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "opreplay/error.h"

using namespace opreplay;

namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();

/// Plain text in any script; bytes that are no UTF-8 are a test of their own.
rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
                          "a", "Z", " ", "\"", "\\", "\n", "\x01", "é", "张", "\U0001F600", "0")),
                      [](const std::vector<std::string>& parts) {
                        std::string text;
                        for (const auto& part : parts) text += part;
                        return text;
                      });
}
std::string text() { return *rc::gen::resize(6, any_text()); }
std::vector<std::string> texts() {
  return *rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(any_text()));
}
bool flag() { return *rc::gen::arbitrary<bool>(); }
std::int64_t whole() { return *rc::gen::arbitrary<std::int64_t>(); }
int small() { return *rc::gen::arbitrary<int>(); }
double real() {
  return *rc::gen::oneOf(rc::gen::arbitrary<double>(),
                         rc::gen::element(k_inf, -k_inf, std::nan(""), 0.0, 5e-324, 1e308, 0.1));
}
template <class Enum>
Enum word(Enum last) {
  return static_cast<Enum>(*rc::gen::inRange(0, static_cast<int>(last) + 1));
}

std::optional<Raised> maybe_raised() {
  if (flag()) return std::nullopt;
  return Raised{word(ErrorClass::other), word(Stage::done), text()};
}

OutputComparison random_output() {
  OutputComparison o;
  o.name = text();
  o.shape_expected = text();
  o.shape_got = text();
  o.dtype_expected = text();
  o.dtype_got = text();
  o.device_expected = text();
  o.device_got = text();
  o.strides_differ = flag();
  o.unwritten = flag();
  o.compared = flag();
  o.model = text();
  o.elements = whole();
  o.classes = {whole(), whole(), whole(), whole()};
  o.bad = whole();
  o.max_abs = real();
  o.max_rel = real();
  o.max_ulp = real();
  o.worst_ratio = real();
  if (flag()) o.rms_ratio = real();
  o.zero_share = real();
  o.nan_share = real();
  o.within_downgrade = flag();
  o.downgrade = text();
  o.weak_evidence = flag();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    o.worst.push_back({*rc::gen::arbitrary<std::vector<std::int64_t>>(), real(), real(), real()});
  o.notes = texts();
  return o;
}

Record random_record() {
  Record r;
  r.case_text = text();
  r.case_id = text();
  r.call_id = text();
  r.op = text();
  r.workload = flag();
  r.family = text();
  r.count = whole();
  r.module = text();
  r.spec = text();
  r.device = text();
  r.environment = text();
  r.rules = text();
  r.repro = text();
  r.verdict = {word(Status::invalid), word(Reason::stale), word(Kind::environment), text(),
               texts()};
  r.owner = text();
  r.next_step = text();
  r.not_covered = text();
  r.time = text();
  Outcome& o = r.outcome;
  o.ending = word(Ending::lost);
  o.signal = small();
  o.exit_code = small();
  o.stage = word(Stage::done);
  o.output_tail = text();
  o.reference = maybe_raised();
  o.reference64 = maybe_raised();
  o.target = maybe_raised();
  o.evidence = text();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) o.outputs.push_back(random_output());
  o.witness = {flag(), flag(), flag(), flag()};
  o.outputs_expected = small();
  o.outputs_got = small();
  o.inputs_modified = texts();
  o.alias_differences = texts();
  o.out_of_bounds = texts();
  o.kernel = text();
  o.cpu_fallback = flag();
  o.fallback_evidence = text();
  o.notes = texts();
  o.input_hash = *rc::gen::arbitrary<std::uint64_t>();
  o.output_hash = *rc::gen::arbitrary<std::uint64_t>();
  o.reference_ms = real();
  o.target_ms = real();
  o.total_ms = real();
  o.host_peak_bytes = whole();
  return r;
}

/// nan equals nan.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool same(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
bool same(const std::optional<Raised>& a, const std::optional<Raised>& b) {
  if (!a || !b) return !a && !b;
  return a->error_class == b->error_class && a->stage == b->stage && a->message == b->message;
}
bool same(const WorstElement& a, const WorstElement& b) {
  return a.index == b.index && same(a.target, b.target) && same(a.reference, b.reference) &&
         same(a.bound, b.bound);
}
bool same(const OutputComparison& a, const OutputComparison& b) {
  bool worst = a.worst.size() == b.worst.size();
  for (std::size_t i = 0; worst && i < a.worst.size(); ++i) worst = same(a.worst[i], b.worst[i]);
  return worst && a.name == b.name && a.shape_expected == b.shape_expected &&
         a.shape_got == b.shape_got && a.dtype_expected == b.dtype_expected &&
         a.dtype_got == b.dtype_got && a.device_expected == b.device_expected &&
         a.device_got == b.device_got && a.strides_differ == b.strides_differ &&
         a.unwritten == b.unwritten && a.compared == b.compared && a.model == b.model &&
         a.elements == b.elements && a.classes.nan == b.classes.nan &&
         a.classes.inf == b.classes.inf && a.classes.allowed == b.classes.allowed &&
         a.classes.signed_zero == b.classes.signed_zero && a.bad == b.bad &&
         same(a.max_abs, b.max_abs) && same(a.max_rel, b.max_rel) && same(a.max_ulp, b.max_ulp) &&
         same(a.worst_ratio, b.worst_ratio) && same(a.rms_ratio, b.rms_ratio) &&
         same(a.zero_share, b.zero_share) && same(a.nan_share, b.nan_share) &&
         a.within_downgrade == b.within_downgrade && a.downgrade == b.downgrade &&
         a.weak_evidence == b.weak_evidence && a.notes == b.notes;
}
bool same(const Outcome& a, const Outcome& b) {
  bool outputs = a.outputs.size() == b.outputs.size();
  for (std::size_t i = 0; outputs && i < a.outputs.size(); ++i)
    outputs = same(a.outputs[i], b.outputs[i]);
  return outputs && a.ending == b.ending && a.signal == b.signal && a.exit_code == b.exit_code &&
         a.stage == b.stage && a.output_tail == b.output_tail && same(a.reference, b.reference) &&
         same(a.reference64, b.reference64) && same(a.target, b.target) &&
         a.evidence == b.evidence && a.witness.ran == b.witness.ran &&
         a.witness.class_ok == b.witness.class_ok && a.witness.value_ok == b.witness.value_ok &&
         a.witness.alike == b.witness.alike && a.outputs_expected == b.outputs_expected &&
         a.outputs_got == b.outputs_got && a.inputs_modified == b.inputs_modified &&
         a.alias_differences == b.alias_differences && a.out_of_bounds == b.out_of_bounds &&
         a.kernel == b.kernel && a.cpu_fallback == b.cpu_fallback &&
         a.fallback_evidence == b.fallback_evidence && a.notes == b.notes &&
         a.input_hash == b.input_hash && a.output_hash == b.output_hash &&
         same(a.reference_ms, b.reference_ms) && same(a.target_ms, b.target_ms) &&
         same(a.total_ms, b.total_ms) && a.host_peak_bytes == b.host_peak_bytes;
}
bool same(const Record& a, const Record& b) {
  return a.case_text == b.case_text && a.case_id == b.case_id && a.call_id == b.call_id &&
         a.op == b.op && a.workload == b.workload && a.family == b.family && a.count == b.count &&
         a.module == b.module && a.spec == b.spec && a.device == b.device &&
         a.environment == b.environment && a.rules == b.rules && a.repro == b.repro &&
         same(a.outcome, b.outcome) && a.verdict.status == b.verdict.status &&
         a.verdict.reason == b.verdict.reason && a.verdict.kind == b.verdict.kind &&
         a.verdict.detail == b.verdict.detail && a.verdict.notes == b.verdict.notes &&
         a.owner == b.owner && a.next_step == b.next_step && a.not_covered == b.not_covered &&
         a.time == b.time;
}

void check_refused(const std::string& line, const std::string& word_of_message) {
  INFO(line);
  try {
    record_from_json(line);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::invalid_input);
    CHECK_THAT(error.what(), Catch::Contains(word_of_message));
  }
}

}  // namespace

TEST_CASE("a record, to the letter: fixed key order, empty things left out") {
  Record r;
  r.case_text = "aten.relu(f32[2])";
  r.case_id = "00000000000000aa";
  r.op = "aten.relu";
  r.verdict = {Status::blocked, Reason::wrong_value, Kind::wrong_result, "2 of 2", {}};
  r.outcome.stage = Stage::done;
  r.outcome.input_hash = 0xfedcba9876543210;
  OutputComparison out;
  out.name = "out";
  out.worst_ratio = k_inf;
  out.worst.push_back({{1}, std::nan(""), 0.5, 0});
  r.outcome.outputs.push_back(out);
  CHECK(to_json_line(r) ==
        R"j({"v":1,"case":"aten.relu(f32[2])","case_id":"00000000000000aa","op":"aten.relu",)j"
        R"j("status":"blocked","reason":"wrong_value","kind":"wrong_result","detail":"2 of 2",)j"
        R"j("workload":true,"count":1,"outcome":{"ending":"answered","stage":"done",)j"
        R"j("outputs":[{"name":"out","worst_ratio":"inf",)j"
        R"j("worst":[{"index":[1],"target":"nan","reference":0.5}]}],)j"
        R"j("input_hash":"fedcba9876543210"}})j");
}

TEST_CASE("property: a record read back is the record") {
  REQUIRE(rc::check([] {
    const Record r = random_record();
    const std::string line = to_json_line(r);
    RC_ASSERT(line.find('\n') == std::string::npos);
    const Record back = record_from_json(line);
    RC_ASSERT(same(r, back));
    RC_ASSERT(to_json_line(back) == line);
  }));
}

TEST_CASE("bytes that are no UTF-8 do not lose the record") {
  Record r;
  r.outcome.output_tail = "a\xff\xfe z";
  CHECK(record_from_json(to_json_line(r)).outcome.output_tail == "a\xEF\xBF\xBD\xEF\xBF\xBD z");
}

TEST_CASE("a bad line names its key") {
  const std::string good = to_json_line(Record{});
  CHECK_NOTHROW(record_from_json(good));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const auto at = line.find(from);
    REQUIRE(at != std::string::npos);
    return line.replace(at, from.size(), to);
  };
  check_refused("", "not a JSON object");
  check_refused("[1]", "expected an object");
  check_refused(good.substr(0, good.size() - 1), "not a JSON object");
  check_refused(with("\"v\":1", "\"v\":2"), "version 2");
  check_refused(with("\"case_id\"", "\"caseid\""), "'case_id': missing");
  check_refused(with("\"status\":\"pending\"", "\"status\":\"fine\""), "unknown word 'fine'");
  check_refused(with("\"count\":1", "\"count\":\"1\""), "'count': expected an integer");
  check_refused(with("\"count\":1", "\"count\":18446744073709551615"), "below 2^63");
  check_refused(with("\"stage\":\"queued\"", "\"stage\":\"queued\",\"input_hash\":\"12\""),
                "'outcome.input_hash': expected 16 hex digits");
  check_refused(with("\"stage\":\"queued\"",
                     "\"stage\":\"queued\",\"outputs\":[{\"name\":\"a\"},{\"name\":3}]"),
                "'outcome.outputs[1].name': expected a string");
  check_refused(with("\"stage\":\"queued\"", "\"stage\":\"queued\",\"total_ms\":\"fast\""),
                "'outcome.total_ms': expected a number");
}

TEST_CASE("keys of a later version of the same format are passed over") {
  std::string line = to_json_line(Record{});
  line.insert(1, "\"new_key\":[1,2],");
  CHECK_NOTHROW(record_from_json(line));
}
