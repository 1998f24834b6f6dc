#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "lib/base/case_parser.h"
#include "lib/spec/schema_table.h"
#include "opreplay/case.h"
#include "tests/unit/base/message.h"

using namespace opreplay;

namespace {

Case parsed(std::string_view text) { return parse_case(text, shipped_schemas()); }

/// What `text` becomes when read and printed.
std::string canonical(std::string_view text) { return to_string(parsed(text)); }

std::string message(std::string_view text) {
  return message_of([&] { parsed(text); });
}

}  // namespace

TEST_CASE("the examples of docs/spec-format.md") {
  // As the document has them, and what of each is left out of the canonical form.
  const auto [example, expected] = GENERATE(table<const char*, const char*>({
      {"aten.softmax.int(f16[2,4,16,16], -1) values.nan@first fwd",
       "aten.softmax.int(f16[2,4,16,16], -1) values.nan@first"},
      {"aten.softmax.int(f16[2,4,16,16], -1)", "aten.softmax.int(f16[2,4,16,16], -1)"},
      {"aten.linear(f32[2,8], f32[6,8;16,1], null)", "aten.linear(f32[2,8], f32[6,8;16,1])"},
      {"aten.bmm(f16[2,3,4;24,4,1+997], f16[2,4,5])",
       "aten.bmm(f16[2,3,4;24,4,1+997], f16[2,4,5])"},
      {"aten.add_.Tensor(f32[4]&a, f32[4]&a, alpha=2)",
       "aten.add_.Tensor(f32[4]&a, f32[4]&a, alpha=2)"},
      {"aten.cat([f32[2,3], f32[0,3]], 0)", "aten.cat([f32[2,3], f32[0,3]])"},
      {"aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first fwd",
       "aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first"},
  }));
  CHECK(canonical(example) == expected);
  CHECK(canonical(expected) == expected);
}

TEST_CASE("an example in every detail") {
  const Case c =
      parsed("aten.bmm(f16[2,3,4;24,4,1+997]&x, f16[2,4,5]&x) layout.offset:self,mat2 bwd");
  REQUIRE(c.calls.size() == 1);
  CHECK(c.calls[0].op == "aten.bmm");
  REQUIRE(c.calls[0].args.size() == 2);
  CHECK(c.calls[0].args[0].name == "self");
  CHECK(c.calls[0].args[1].name == "mat2");
  CHECK_FALSE(c.calls[0].args[0].keyword);
  const TensorDesc& self = c.calls[0].args[0].value.get<TensorArg>()->desc;
  CHECK(self == TensorDesc{DType::f16, {2, 3, 4}, {24, 4, 1}, 997, "a"});
  CHECK(c.variations == std::vector<Variation>{{"layout", "offset", "", {"self", "mat2"}}});
  CHECK(c.phase == Phase::backward);
  CHECK(c.seed == 0);
}

TEST_CASE("one spelling per case") {
  const auto [given, expected] = GENERATE(table<const char*, const char*>({
      // defaults dropped, `fwd` and seed 0 left out, named positional arguments put in order
      {"aten.linear(f32[2,8], f32[6,8], null)", "aten.linear(f32[2,8], f32[6,8])"},
      {"aten.add.Tensor(f32[2], f32[2], alpha=1)", "aten.add.Tensor(f32[2], f32[2])"},
      {"aten.relu(f32[2]) fwd seed=0", "aten.relu(f32[2])"},
      {"aten.softmax.int(dim=-1, self=f32[2])", "aten.softmax.int(f32[2], -1)"},
      {"aten.softmax.int(f32[2], -1, f16)", "aten.softmax.int(f32[2], -1, f16)"},
      // a gap before a given argument is filled with the default
      {"aten.sum.dim_IntList(f32[2,3], [1], dtype=f64)",
       "aten.sum.dim_IntList(f32[2,3], [1], dtype=f64)"},
      {"aten.conv2d(f32[1,1,4,4], f32[1,1,3,3], padding=1)",
       "aten.conv2d(f32[1,1,4,4], f32[1,1,3,3], null, [1, 1], [1, 1])"},
      {"aten.conv2d(f32[1,1,4,4], f32[1,1,3,3], null, 2, 0, 1, 1)",
       "aten.conv2d(f32[1,1,4,4], f32[1,1,3,3], null, [2, 2])"},
      // numbers: kind kept for Scalar, made float for float, kept for Tensor
      {"aten.add.Tensor(f32[2], 2, alpha=1.0)", "aten.add.Tensor(f32[2], 2, alpha=1.0)"},
      {"aten.layer_norm(f32[2,8], [8], null, null, 1)",
       "aten.layer_norm(f32[2,8], [8], null, null, 1.0)"},
      {"aten.layer_norm(f32[2,8], [8], null, null, 0.00001)", "aten.layer_norm(f32[2,8], [8])"},
      {"aten.fill_.Scalar(f32[2], 0.10000000000000001)", "aten.fill_.Scalar(f32[2], 0.1)"},
      {"aten.fill_.Scalar(f32[2], true)", "aten.fill_.Scalar(f32[2], true)"},
      {"aten.fill_.Scalar(f32[2], -0.0)", "aten.fill_.Scalar(f32[2], -0.0)"},
      {"aten.fill_.Scalar(f32[2], 1E5)", "aten.fill_.Scalar(f32[2], 1e+05)"},
      {"aten.fill_.Scalar(f32[2], -nan)", "aten.fill_.Scalar(f32[2], nan)"},
      {"aten.fill_.Scalar(f32[2], (1.50-0j))", "aten.fill_.Scalar(f32[2], (1.5-0j))"},
      // contiguous strides and lone labels left out, labels renamed
      {"aten.relu(f32[2,3;3,1]&x)", "aten.relu(f32[2,3])"},
      {"aten.bmm(f16[2,3,4;12,4,1+997], f16[2,4,5])", "aten.bmm(f16[2,3,4+997], f16[2,4,5])"},
      {"aten.relu(f32[1,3;7,1])", "aten.relu(f32[1,3;7,1])"},
      {"aten.relu(f32[0,3;3,1])", "aten.relu(f32[0,3])"},
      {"aten.addmm(f32[2]&z, f32[2,2]&q, f32[2,2]&z)",
       "aten.addmm(f32[2]&a, f32[2,2], f32[2,2]&a)"},
      // spaces, "::" and ".default"
      {"  aten::relu.default( f32[ 2 , 3 ] )  ", "aten.relu(f32[2,3])"},
      {"aten.cat([f32[2],f32[3]],0)", "aten.cat([f32[2], f32[3]])"},
      // words and strings
      {"aten.to.device(f32[2], cuda:0, f16)", "aten.to.device(f32[2], cuda:0, f16)"},
      {"aten.contiguous(f32[2], memory_format=contiguous_format)", "aten.contiguous(f32[2])"},
      {"aten.contiguous(f32[2], memory_format=channels_last)",
       "aten.contiguous(f32[2], memory_format=channels_last)"},
      {"aten.gelu(f32[2], approximate=\"tanh\")", "aten.gelu(f32[2], approximate=\"tanh\")"},
      // sequences share labels; the rest in fixed order
      {"aten.relu(f32[2]&b) -> aten.neg(f32[2]&b) grad=self data=12ab seed=7 bwd "
       "values.nan@first:self+layout.offset",
       "aten.relu(f32[2]&a) -> aten.neg(f32[2]&a) values.nan@first:self+layout.offset bwd seed=7 "
       "data=12ab grad=self"},
  }));
  CHECK(canonical(given) == expected);
  CHECK(canonical(expected) == expected);
}

TEST_CASE("mistakes are told with column and nearest word") {
  const auto [given, expected] = GENERATE(table<const char*, const char*>({
      {"aten.sofmax.int(f32[2], 0)",
       "case string, column 1: expected an operator that torch has, found \"aten.sofmax.int\"; "
       "nearest valid word: aten.softmax.int"},
      {"softmax.int(f32[2], 0)",
       "case string, column 1: expected an operator that torch has, found \"softmax.int\"; "
       "nearest valid word: aten.softmax.int"},
      {"aten.softmax(f32[2], 0)",
       "case string, column 1: expected an operator that torch has, found \"aten.softmax\"; "
       "nearest valid word: aten.softmax.int"},
      {"aten.relu(f31[2])",
       "case string, column 11: expected a dtype, found \"f31\"; nearest valid word: f32"},
      {"aten.relu(f32[2], 3)",
       "case string, column 19: aten.relu: more than its 1 positional arguments are given"},
      {"aten.softmax.int(f32[2], dmi=0)",
       "case string, column 26: aten.softmax.int: has no argument \"dmi\"; nearest valid word: "
       "dim"},
      {"aten.softmax.int(f32[2])",
       "case string, column 1: aten.softmax.int: argument 'dim' (int) is missing"},
      {"aten.softmax.int(f32[2], 0, dim=1)",
       "case string, column 29: aten.softmax.int: argument 'dim' is given twice"},
      {"aten.softmax.int(self=f32[2], 0)",
       "case string, column 31: aten.softmax.int: a positional argument follows a named one"},
      {"aten.softmax.int(f32[2], 1.0)",
       "case string, column 26: aten.softmax.int: argument 'dim': expected int, found \"1.0\""},
      {"aten.softmax.int(f32[2], 0, f23)",
       "case string, column 29: aten.softmax.int: argument 'dtype': expected ScalarType?, found "
       "\"f23\"; nearest valid word: f32"},
      {"aten.relu(f32[2]) bdw",
       "case string, column 19: expected '->', FAMILY.MEMBER, fwd, bwd, seed=, data= or grad=, "
       "found \"bdw\"; nearest valid word: bwd"},
      {"aten.relu(f32[2]) sed=1",
       "case string, column 19: expected '->', FAMILY.MEMBER, fwd, bwd, seed=, data= or grad=, "
       "found \"sed=1\"; nearest valid word: seed="},
      {"aten.relu(f32[2]) seed=x",
       "case string, column 24: expected a seed from 0 to 2^64-1, found \"x\""},
      {"aten.relu(f32[2]) fwd bwd", "case string, column 23: the phase is given twice"},
      {"aten.relu(f32[-2])",
       "case string, column 15: expected a size of at least 0, found \"-2])\""},
      {"aten.relu(f32[2;1,1])",
       "case string, column 16: expected 1 strides, one per size, found 2"},
      {"aten.relu(f32[2;-1])",
       "case string, column 17: expected a stride of at least 0, found \"-1])\""},
      {"aten.relu(f32[4294967296,4294967296])",
       "case string, column 11: the tensor needs more than 2^63 bytes"},
      {"aten.relu(f32[0,4294967296,4294967296])",
       "case string, column 11: the tensor needs more than 2^63 bytes"},
      {"aten.relu(f64[2;4611686018427387904])",
       "case string, column 11: the tensor needs more than 2^63 bytes"},
      {"aten.relu(f32[9223372036854775808])",
       "case string, column 15: expected a size of at least 0 below 2^63, found "
       "\"9223372036854775808])\""},
      {"aten.fill_.Scalar(f32[2], 9223372036854775808)",
       "case string, column 27: integer \"9223372036854775808\" does not fit 64 bits; write a "
       "float "
       "if one is meant"},
      {"aten.fill_.Scalar(f32[2], 1e999)",
       "case string, column 27: number \"1e999\" does not fit a 64-bit float"},
      {"aten.fill_.Scalar(f32[2], 1e)", "case string, column 27: expected a number, found \"1e\""},
      {"aten.gelu(f32[2], approximate=tanh)",
       "case string, column 19: aten.gelu: argument 'approximate': expected str, found \"tanh\"; "
       "write strings in double quotes"},
      {"aten.gelu(f32[2], approximate=\"\\x0a\\\"\\u\")",
       "case string, column 39: expected an escape such as \\n, \\\" or \\x1f after the backslash, "
       "found \"u\\\")\""},
      {"prim.Print(1)",
       "case string, column 1: prim.Print: takes any arguments ('...'); no case can be built for "
       "it"},
      {"aten.bernoulli_.float(f32[2], 0.5, generator=x)",
       "case string, column 36: aten.bernoulli_.float: argument 'generator': expected Generator?, "
       "found \"x\"; a case cannot hold a value of this type"},
      {"", "case string, column 1: expected an operator such as aten.add.Tensor, found the end"},
  }));
  CHECK(message(given) == expected);
}

TEST_CASE("values") {
  CHECK(to_string(parse_value("[1, [2.5, null], \"a\\tb\", f8e4m3fn[2]&s, channels_last]")) ==
        "[1, [2.5, null], \"a\\tb\", f8e4m3fn[2]&s, channels_last]");
  CHECK(parse_value("1").get<std::int64_t>());
  CHECK(parse_value("1.0").get<double>());
  CHECK(parse_value("[]").get<List>()->empty());
  CHECK(*parse_value("-inf").get<double>() == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(*parse_value("nan").get<double>()));
  CHECK(*parse_value("(-2-infj)").get<std::complex<double>>() ==
        std::complex<double>(-2, -std::numeric_limits<double>::infinity()));
  CHECK(*parse_value("\"\\x41\\101\\\\\"").get<std::string>() == "AA\\");
  CHECK(parse_value("cuda:0").get<Word>()->text == "cuda:0");
  // Shortest round trip. Source: Python's repr of the same doubles.
  CHECK(to_string(Value{0.1 + 0.2}) == "0.30000000000000004");
  CHECK(to_string(Value{5e-324}) == "5e-324");
  CHECK(to_string(Value{1.7976931348623157e308}) == "1.7976931348623157e+308");
  CHECK(to_string(Value{std::complex<double>(1, 2)}) == "(1+2j)");
  CHECK(to_string(Value{std::complex<double>(-0.0, NAN)}) == "(-0+nanj)");
  // Text that is no valid UTF-8 stays readable, valid text stays itself.
  CHECK(to_string(Value{std::string("\xc3\xa9\xff\x00", 4)}) == "\"\xc3\xa9\\xff\\x00\"");
}

TEST_CASE("tensors") {
  CHECK(to_string(parse_tensor("f32[]")) == "f32[]");
  CHECK(to_string(parse_tensor("bool[+3]")) == "bool[+3]");
  CHECK(parse_tensor("f32[2,3]").strides == std::vector<std::int64_t>{3, 1});
  CHECK(to_string(parse_tensor("f32[2,3+4]")) == "f32[2,3+4]");
  CHECK(to_string(parse_tensor("f32[2,3;0,1]&lbl")) == "f32[2,3;0,1]&lbl");
  CHECK(message_of([] { parse_tensor("f32[2] "); }) ==
        "tensor, column 7: expected the end of the tensor, found \" \"");
}

TEST_CASE("variations") {
  const Variation v = parse_variation("values.nan@one_per_row:self,tensors.1");
  CHECK(v == Variation{"values", "nan", "one_per_row", {"self", "tensors.1"}});
  CHECK(to_string(v) == "values.nan@one_per_row:self,tensors.1");
  CHECK(to_string(parse_variation("shape.empty_batch")) == "shape.empty_batch");
  CHECK(message_of([] { parse_variation("shape."); }) ==
        "variation, column 7: expected a member of the family, found the end");
}

TEST_CASE("ids are xxh3-64 of the canonical text") {
  // Source: xxh3_64_hexdigest of the Python package xxhash 4.1.0 on the canonical texts.
  const Case c = parsed("aten.add_.Tensor(f32[4]&q, f32[4]&q, alpha=2) fwd");
  CHECK(to_string(c) == "aten.add_.Tensor(f32[4]&a, f32[4]&a, alpha=2)");
  CHECK(id_text(call_id(c.calls[0])) == "0047012ef0f5f8f8");
  CHECK(id_text(case_id(c)) == "0047012ef0f5f8f8");
  CHECK(id_text(case_id(parsed("aten.relu(f32[2]) bwd"))) == "a4743a60cc7355af");
  CHECK(id_text(0x0123456789abcdefULL) == "0123456789abcdef");
  CHECK(id_text(15) == "000000000000000f");
}

TEST_CASE("labels beyond z") {
  std::vector<OpCall> calls(30);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    TensorArg tensor;
    tensor.desc = make_desc(DType::f32, {1});
    tensor.desc.storage = "s" + std::to_string(i);
    calls[i].args = {{"a", {tensor}, false}, {"b", {tensor}, false}};
  }
  canonical_storage(calls);
  CHECK(calls[0].args[0].value.get<TensorArg>()->desc.storage == "a");
  CHECK(calls[25].args[0].value.get<TensorArg>()->desc.storage == "z");
  CHECK(calls[26].args[0].value.get<TensorArg>()->desc.storage == "aa");
  CHECK(calls[27].args[1].value.get<TensorArg>()->desc.storage == "ab");
}
