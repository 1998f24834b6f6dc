// The fault file: what docs/faults.md promises is read, and what is wrong is named with its place.

#include "harness/simdevice/fault_file.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <string>

#include "opreplay/error.h"

using namespace opreplay;
using namespace opreplay::sim;

namespace {

FaultFile parse(const std::string& text) { return parse_faults(text, "f.yaml"); }

/// One fault on aten.clamp with the given `when` and `do`.
Fault fault(const std::string& when, const std::string& effects) {
  return parse("simdevice: 1\nfaults:\n  - name: x\n    op: aten.clamp\n    when: " + when +
               "\n    do: " + effects + "\n")
      .faults.at(0);
}
Condition condition(const std::string& when) {
  const Fault parsed = fault("{" + when + "}", "{zeros: true}");
  REQUIRE(parsed.when.size() == 1);
  return parsed.when[0];
}
Effect effect(const std::string& effects) {
  const Fault parsed = fault("{}", effects);
  REQUIRE(parsed.effects.size() == 1);
  return parsed.effects[0];
}
std::string problems(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& e) {
    CHECK(e.code() == ExitCode::invalid_input);
    return e.what();
  }
  return "";
}
std::string effect_problem(const std::string& effects) {
  return problems("simdevice: 1\nfaults:\n  - name: x\n    op: aten.clamp\n    do: " + effects +
                  "\n");
}
std::string when_problem(const std::string& when) {
  return problems("simdevice: 1\nfaults:\n  - name: x\n    op: aten.clamp\n    when: {" + when +
                  "}\n    do: {zeros: true}\n");
}

}  // namespace

TEST_CASE("the example of docs/faults.md is read") {
  const FaultFile file = parse(R"(simdevice: 1
declare: {accumulate: fp32, ftz: false, order: split_k:8, intermediates: fp32}
faults:
  - name: clamp_drops_nan
    op: "aten.clamp*"
    when: {has: nan}
    do: {map: {nan: 0.0}}
    expect: {status: blocked, reason: [wrong_class]}
)");
  CHECK(file.declare.order == Order::split_k);
  CHECK(file.declare.parts == 8);
  CHECK_FALSE(file.declare.narrow_intermediates);
  REQUIRE(file.faults.size() == 1);
  const Fault& f = file.faults[0];
  CHECK(f.name == "clamp_drops_nan");
  CHECK(f.line == 4);
  CHECK(matches(f, "aten.clamp"));
  CHECK(matches(f, "aten.clamp_min.Tensor"));
  CHECK_FALSE(matches(f, "aten.add.Tensor"));
  REQUIRE(f.when.size() == 1);
  CHECK(std::get<ElementIs>(f.when[0]).test.has == std::vector<Has>{Has::nan});
  const auto& map = std::get<MapResult>(f.effects.at(0)).map;
  REQUIRE(map.size() == 1);
  CHECK(map[0].first == ValueClass::nan);
  CHECK(map[0].second.number == 0.0);
  CHECK(f.expect.status == Status::blocked);
  CHECK(f.expect.reasons == std::vector<Reason>{Reason::wrong_class});
}

TEST_CASE("every order of the declaration is read") {
  const auto order = [](const std::string& text) {
    return parse("simdevice: 1\ndeclare: {order: " + text + "}\n").declare;
  };
  CHECK(order("cpu").order == Order::cpu);
  CHECK(order("reversed").order == Order::reversed);
  CHECK(order("pairwise").order == Order::pairwise);
  CHECK(order("fused").order == Order::fused);
  CHECK(order("blocked:32").order == Order::blocked);
  CHECK(order("blocked:32").parts == 32);
  CHECK_THAT(problems("simdevice: 1\ndeclare: {order: blocked:0}\n"),
             Catch::Contains("f.yaml:2:18: expected an order"));
  CHECK(parse("simdevice: 1\ndeclare: {intermediates: T, ftz: true, accumulate: f16}\n").declare ==
        Arithmetic{Order::cpu, 1, Accumulator::f16, true, true, false, 0});
}

TEST_CASE("comparisons mean what they say") {
  const auto is = [](const std::string& text) {
    return std::get<NumelIs>(condition("numel: \"" + text + "\"")).is;
  };
  CHECK(is(">1024").holds(1025));
  CHECK_FALSE(is(">1024").holds(1024));
  CHECK(is(">=2").holds(2));
  CHECK(is("%16!=0").holds(17));
  CHECK_FALSE(is("%16!=0").holds(32));
  CHECK(is("%4==3").holds(7));
  CHECK(is("7").holds(7));
  CHECK(is("==0").holds(0));
  CHECK_FALSE(is("<30").holds(std::nan("")));
  CHECK(is("< -1").holds(-2));
  CHECK_THAT(when_problem("numel: \"=>3\""), Catch::Contains("expected a number or a comparison"));
  CHECK_THAT(when_problem("numel: \"%0==3\""), Catch::Contains("found '%0==3'"));
}

TEST_CASE("conditions of tensors name an argument or mean any") {
  CHECK(std::get<RankIs>(condition("rank: 3")).arg.empty());
  CHECK(std::get<RankIs>(condition("rank: {self: \">=3\"}")).arg == "self");
  const auto size = std::get<SizeIs>(condition("size: {-1: \">1024\"}"));
  CHECK(size.dim == -1);
  CHECK(size.arg.empty());
  CHECK(std::get<SizeIs>(condition("size: {mat2: {0: 0}}")).arg == "mat2");
  const auto contiguous = std::get<TraitIs>(condition("contiguous: {other: false}"));
  CHECK(contiguous.arg == "other");
  CHECK(contiguous.trait == Trait::contiguous);
  CHECK_FALSE(contiguous.expected);
  CHECK(std::get<TraitIs>(condition("offset: nonzero")).expected);
  CHECK(std::get<DTypeIs>(condition("dtype: [f16, bf16]")).any_of ==
        std::vector<DType>{DType::f16, DType::bf16});
  CHECK(std::get<MisalignedTo>(condition("misaligned: 64")).bytes == 64);
  const auto all = std::get<ElementIs>(condition("has: {self: nan, all: true}"));
  CHECK(all.arg == "self");
  CHECK(all.range == Range::all);
  CHECK(std::get<ElementIs>(condition("row: {has: neg_inf}")).range == Range::row);
  CHECK(std::get<ElementIs>(condition("value: \">30\"")).test.value->holds(31));
}

TEST_CASE("conditions of the call are read") {
  const auto mask = std::get<ArgumentIs>(condition("arg: {output_mask: [false, true, true]}"));
  const auto& list = std::get<std::vector<Literal>>(mask.is.data);
  REQUIRE(list.size() == 3);
  CHECK(std::get<bool>(list[1].data));
  CHECK(std::get<double>(std::get<ArgumentIs>(condition("arg: {beta: 0}")).is.data) == 0);
  CHECK(std::holds_alternative<std::monostate>(
      std::get<ArgumentIs>(condition("arg: {dtype: null}")).is.data));
  CHECK(std::get<std::string>(
            std::get<ArgumentIs>(condition("arg: {rounding_mode: trunc}")).is.data) == "trunc");
  CHECK(std::get<PresentIs>(condition("present: {arg: bias}")).arg == "bias");
  CHECK_FALSE(std::get<PresentIs>(condition("absent: {arg: bias}")).expected);
  CHECK(std::get<CallIs>(condition("call: \">=2\"")).number.holds(2));
  CHECK(std::get<AfterOp>(condition("after: aten.mm")).pattern == "aten.mm");
  CHECK(std::get<PhaseIs>(condition("phase: backward")).backward);
  CHECK(std::get<Chance>(condition("probability: 0.3")).probability == 0.3);
  CHECK(std::get<HistoryHas>(condition("history: other_scalar")).past == Past::other_scalar);
  CHECK(std::get<OutSizeIs>(condition("out_size: {0: \">1\"}")).dim == 0);
  CHECK(fault("{grad: {weight: true, input: false}}", "{zeros: true}").when.size() == 2);
  CHECK(fault("{}", "{zeros: true}").when.empty());
}

TEST_CASE("every effect of docs/faults.md is read") {
  CHECK(std::holds_alternative<NoKernel>(effect("no_kernel")));
  const auto raised = std::get<Throw>(
      effect("{throw: {class: AcceleratorError, code: 507035, text: boom, sync: true}}"));
  CHECK(raised.error == ErrorClass::accelerator);
  CHECK(raised.code == 507035);
  CHECK(raised.sync);
  CHECK(std::get<Crash>(effect("{crash: KILL}")).signal == SIGKILL);
  CHECK(std::get<Hang>(effect("{hang: 2.5}")).seconds == 2.5);
  CHECK(std::get<Exit>(effect("{exit: 3}")).code == 3);
  CHECK(std::holds_alternative<OutOfMemory>(effect("oom")));
  CHECK(std::holds_alternative<Poison>(effect("poison")));
  const auto element = std::get<SetElement>(effect("{element: {index: 7, factor: 1.01}}"));
  CHECK(element.index == 7);
  CHECK(element.number == 1.01);
  CHECK(std::get<SetElement>(effect("{element: {index: 1, neighbour: true}}")).how ==
        SetElement::How::neighbour);
  CHECK(std::get<ScaleBy>(effect("{scale: 2}")).factor == 2);
  CHECK(std::get<FillWith>(effect("{zeros: true}")).value.number == 0);
  CHECK(std::get<FillWith>(effect("{constant: first}")).value.kind == FillValue::Kind::first);
  CHECK(std::get<Tail>(effect("{tail: {dim: 0, from: 1024, value: 0}}")).from == 1024);
  CHECK(std::holds_alternative<StaleRow>(effect("{row: stale}")));
  const auto map =
      std::get<MapResult>(effect("{map: {inf: max, neg_inf: min, neg_zero: zero}}")).map;
  CHECK(map.size() == 3);
  CHECK(std::get<Clip>(effect("{clip: {max: 4}}")).max == 4);
  CHECK_FALSE(std::get<Clip>(effect("{clip: {max: 4}}")).min);
  CHECK(std::holds_alternative<RoundHalfUp>(effect("{round_half: up}")));
  CHECK(std::isinf(std::get<MapInput>(effect("{map_input: {nan: -inf}}")).map[0].second.number));
  CHECK(std::get<RoundInputs>(effect("{round: {mantissa: 10}}")).mantissa == 10);
  CHECK(std::get<AccumulateIn>(effect("{accumulate: bf16}")).dtype == DType::bf16);
  CHECK(fault("{}", "{accumulate: i8, saturate: true}").effects.size() == 2);
  CHECK(std::get<AsDType>(effect("{as_dtype: f32}")).dtype == DType::f32);
  const auto ignored = std::get<Ignore>(effect("{ignore: {stride: self, beta: true}}"));
  CHECK(ignored.stride == std::vector<std::string>{"self"});
  CHECK(ignored.scalars == std::vector<std::string>{"beta"});
  CHECK(std::get<DropWrite>(effect("{drop_write: noise}")).arg == "noise");
  CHECK(std::get<DropWrite>(effect("{drop_write: 1}")).index == 1);
  CHECK(std::get<Unwritten>(effect("{unwritten: 0.5}")).fraction == 0.5);
  CHECK(std::get<Swap>(effect("{swap: [0, 3]}")).second == 3);
  CHECK(std::get<OobWrite>(effect("{oob_write: 8}")).bytes == 8);
  CHECK(std::get<ModifyInput>(effect("{modify_input: self}")).arg == "self");
  CHECK(std::get<WrongDType>(effect("{wrong_dtype: f32}")).dtype == DType::f32);
  CHECK(std::get<WrongShape>(effect("{wrong_shape: [2, 0]}")).sizes ==
        std::vector<std::int64_t>{2, 0});
  CHECK(std::get<AcceptInvalid>(effect("{accept_invalid: {shape_of: index, fill: 1}}")).shape_of ==
        "index");
  CHECK(std::get<Slow>(effect("{slow: 20}")).milliseconds == 20);
  CHECK(std::get<Leak>(effect("{leak: 4096}")).bytes == 4096);
  CHECK(std::get<DropRows>(effect("{drop_rows: 1}")).count == 1);
  for (const char* word : {"cpu_fallback", "silent_cpu", "drop_term", "order_random", "pick_other",
                           "stale_result", "on_cpu", "no_alias"})
    CHECK(fault("{}", word).effects.size() == 1);
  CHECK(fault("{}", "{zeros: true, where: {value: \">30\"}, output: 1}").where->test.value);
}

TEST_CASE("all problems of a file are named at once, with their places") {
  const std::string text = problems(R"(simdevice: 1
declare: {oder: cpu}
faults:
  - name: a
    op: aten.relu
    when: {has: nam}
    do: {mapp: {nan: 0}}
  - name: a
    do: {crash: SEGV, hang: -1}
)");
  CHECK_THAT(text, Catch::Contains("f.yaml:2:11: unknown key 'oder'") &&
                       Catch::Contains("did you mean 'order'?") &&
                       Catch::Contains("f.yaml:6:17: unknown element class 'nam'") &&
                       Catch::Contains("did you mean 'nan'?") &&
                       Catch::Contains("f.yaml:7:10: unknown key 'mapp'") &&
                       Catch::Contains("f.yaml:8:5: missing key 'op' of a fault") &&
                       Catch::Contains("f.yaml:8:5: repeated fault name 'a'") &&
                       Catch::Contains("f.yaml:9:29: expected seconds >= 0, found '-1'"));
}

TEST_CASE("malformed files are refused") {
  CHECK_THAT(problems("simdevice: [1"), Catch::Contains("f.yaml:") && Catch::Contains("not YAML"));
  CHECK_THAT(problems("faults: []\n"), Catch::Contains("missing key 'simdevice'"));
  CHECK_THAT(problems("simdevice: 2\n"), Catch::Contains("expected format version 1, found '2'"));
  CHECK_THAT(problems("simdevice: 1\nfaults: 3\n"), Catch::Contains("expected a list of faults"));
  CHECK_THAT(problems("simdevice: 1\nsimdevice: 1\n"), Catch::Contains("repeated key"));
  CHECK_THAT(problems("just a text"), Catch::Contains("expected a mapping"));
  CHECK_THAT(effect_problem("{}"), Catch::Contains("expected at least one effect"));
  CHECK_THAT(effect_problem("explode"), Catch::Contains("unknown effect without a value"));
  CHECK_THAT(effect_problem("{no_kernel: true, zeros: true}"), Catch::Contains("give it alone"));
  CHECK_THAT(effect_problem("{zeros: true, constant: 1}"), Catch::Contains("same effect twice"));
  CHECK_THAT(effect_problem("{exit: 256}"), Catch::Contains("an exit code from 0 to 255"));
  CHECK_THAT(effect_problem("{throw: {class: RuntimeError}}"), Catch::Contains("'text' of throw"));
  CHECK_THAT(effect_problem("{element: {index: 1}}"), Catch::Contains("exactly one of factor"));
  CHECK_THAT(effect_problem("{accumulate: f64}"), Catch::Contains("one of f16, bf16"));
  CHECK_THAT(effect_problem("{accept_invalid: {fill: 1}}"), Catch::Contains("exactly one of"));
  CHECK_THAT(when_problem("dtype: float"), Catch::Contains("expected a dtype"));
  CHECK_THAT(when_problem("probability: 1.5"), Catch::Contains("from 0 to 1"));
  CHECK_THAT(problems("simdevice: 1\nfaults:\n  - {name: x, op: clamp, do: {zeros: true}}\n"),
             Catch::Contains("expected a pattern over operator names"));
  CHECK_THROWS_AS(load_faults("/nonexistent/f.yaml"), Error);
}

TEST_CASE("globs match as a shell's do") {
  CHECK(matches_glob("aten.clamp*", "aten.clamp"));
  CHECK(matches_glob("*", "aten.mm"));
  CHECK(matches_glob("aten.*_backward", "aten.gelu_backward"));
  CHECK(matches_glob("aten.?m", "aten.mm"));
  CHECK(matches_glob("*a*b*", "xaxaxb"));
  CHECK_FALSE(matches_glob("aten.mm", "aten.mm.out"));
  CHECK_FALSE(matches_glob("", "a"));
  CHECK_FALSE(matches_glob("*b", "ba"));
}

TEST_CASE("a list that contains itself is a problem, not a crash") {
  CHECK_THAT(when_problem("arg: {output_mask: &a [*a]}"), Catch::Contains("f.yaml:"));
}

TEST_CASE("any damage to a file is reported as an error of the file") {
  const std::string intact = R"(simdevice: 1
declare: {accumulate: fp32, order: split_k:8}
faults:
  - name: planted
    op: ["aten.clamp*", aten.mm]
    when: {has: {self: nan, all: true}, size: {0: ">3"}, arg: {mask: [1, null]}}
    do: [{map: {nan: 0.0}}, {ignore: {stride: self}}]
    expect: {status: blocked, reason: [wrong_class]}
)";
  REQUIRE(parse(intact).faults.size() == 1);
  REQUIRE(rc::check([&] {
    std::string text = intact;
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto length = *rc::gen::inRange<std::size_t>(0, 12);
    const auto inserted = *rc::gen::container<std::string>(rc::gen::element(
        '{', '}', '[', ']', ':', ',', '&', '*', '-', '"', '\n', ' ', 'a', '1', '.', '%', '>'));
    text.replace(at, length, inserted.substr(0, 8));
    try {
      parse(text);
    } catch (const Error& e) {
      RC_ASSERT(e.code() == ExitCode::invalid_input);
      RC_ASSERT(std::string(e.what()).starts_with("f.yaml:"));
    }
  }));
}
