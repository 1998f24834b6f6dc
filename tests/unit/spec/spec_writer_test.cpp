#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "lib/base/case_parser.h"
#include "lib/base/schema.h"
#include "opreplay/error.h"
#include "opreplay/spec.h"
#include "tests/support/temporary_folder.h"

namespace opreplay {
namespace {

using namespace testing;

const std::filesystem::path k_data = std::filesystem::path(OPREPLAY_TEST_DATA) / "specs";

TEST_CASE("canonical files are written back byte for byte") {
  for (const char* name : {"aten.softmax.int.yaml", "aten.cat.yaml"}) {
    const auto specs = load_specs(k_data / name);
    REQUIRE(specs.size() == 1);
    CHECK(to_yaml(specs[0]) == read_file(k_data / name));
    CHECK(file_name(specs[0]) == name);
  }
}

// Texts with everything that could go wrong between quotes.
rc::Gen<std::string> any_text() {
  return rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::inRange<char>(1, 127), rc::gen::element('"', '\\', ':', '#', '\n', '\t', ' ', '{',
                                                       ']', ',', '-', '%', '\'', '\x1b')));
}

rc::Gen<double> any_number() {
  return rc::gen::oneOf(rc::gen::element(0.0, -0.0, 1.0, 0.1, 1e-300, 1.7976931348623157e308,
                                         9007199254740993.0, -HUGE_VAL, HUGE_VAL),
                        rc::gen::map(rc::gen::inRange(-1000, 1000),
                                     [](int n) { return static_cast<double>(n) / 7; }));
}

rc::Gen<std::int64_t> number_in(std::int64_t low, std::int64_t high) {
  return rc::gen::inRange<std::int64_t>(low, high);
}

Values any_values(const TensorDesc& desc) {
  Values values;
  values.kind = *rc::gen::element(Values::Kind::dist, Values::Kind::fill, Values::Kind::data);
  const auto elements = static_cast<std::size_t>(*numel(desc));
  if (values.kind == Values::Kind::fill) {
    values.fill = *any_number();
  } else if (values.kind == Values::Kind::data) {
    if (is_integral(desc.dtype))
      values.int_data = *rc::gen::container<std::vector<std::int64_t>>(
          elements, rc::gen::arbitrary<std::int64_t>());
    else
      values.data = *rc::gen::container<std::vector<double>>(
          elements * (is_complex(desc.dtype) ? 2 : 1), any_number());
  } else {
    values.dist = *rc::gen::element(Dist::normal, Dist::uniform, Dist::randint, Dist::bernoulli,
                                    Dist::permutation, Dist::labels, Dist::signs);
    if (values.dist == Dist::normal) {
      values.mean = static_cast<double>(*rc::gen::inRange(-9, 9)) / 10;
      values.std = static_cast<double>(*rc::gen::inRange(0, 9)) / 10;
    }
    if (values.dist == Dist::uniform || values.dist == Dist::randint) {
      values.low = *rc::gen::inRange(-9, 9);
      values.high = values.low + *rc::gen::inRange(1, 1'000'000);
    }
    if (values.dist == Dist::bernoulli) values.p = *rc::gen::element(0.0, 0.25, 1.0);
    if (*rc::gen::arbitrary<bool>()) values.min = -3.1;
    if (*rc::gen::arbitrary<bool>()) values.max = 1e10;
  }
  if (*rc::gen::arbitrary<bool>())
    values.places.push_back({*rc::gen::element(Where::first, Where::middle, Where::last, Where::all,
                                               Where::one_per_row),
                             {},
                             *any_number()});
  if (elements > 0 && *rc::gen::arbitrary<bool>()) {
    Place place{Where::index, {}, *any_number()};
    for (const std::int64_t size : desc.sizes) place.index.push_back(*number_in(0, size));
    values.places.push_back(place);
  }
  return values;
}

TensorArg any_tensor() {
  TensorArg tensor;
  const auto dtypes = all_dtypes();
  const DType dtype = dtypes[*rc::gen::inRange<std::size_t>(0, dtypes.size())];
  tensor.desc = make_desc(
      dtype, *rc::gen::resize(3, rc::gen::container<std::vector<std::int64_t>>(number_in(0, 4))));
  if (*rc::gen::arbitrary<bool>())
    for (std::int64_t& stride : tensor.desc.strides) stride = *number_in(0, 20);
  tensor.desc.offset = *number_in(0, 3);
  if (*rc::gen::arbitrary<bool>()) tensor.desc.storage = *rc::gen::element<std::string>("a", "b");
  if (*rc::gen::arbitrary<bool>()) tensor.values = any_values(tensor.desc);
  if (*rc::gen::arbitrary<bool>())
    for (const std::int64_t size : tensor.desc.sizes) {
      // One name per size keeps ties sound.
      const std::string name = "d" + std::to_string(size);
      tensor.dims.push_back(
          *rc::gen::element(name, "<=" + name, std::to_string(size), name + "%1", name + "*q"));
    }
  tensor.requires_grad = *rc::gen::arbitrary<bool>();
  tensor.parameter = *rc::gen::arbitrary<bool>();
  tensor.storage_unknown = *rc::gen::arbitrary<bool>();
  tensor.on_cpu = *rc::gen::arbitrary<bool>();
  return tensor;
}

Value any_tensor_or_number() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return Value{*rc::gen::arbitrary<std::int64_t>()};
    case 1:
      return Value{*any_number()};
    default:
      return Value{any_tensor()};
  }
}

// One argument of every kind that a schema has a name for.
constexpr const char* k_schema =
    "lib::everything(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, int e, float f, bool g, "
    "Scalar h, str i, int[2] j, float[] k, complex n, bool[3] o, *, ScalarType? l=None, "
    "Device? m=None, str[]? p=None) -> Tensor";

List any_list(int most, const std::function<Value()>& item) {
  List list;
  for (int i = *rc::gen::inRange(0, most + 1); i > 0; --i) list.push_back(item());
  return list;
}

OpCall any_call() {
  OpCall call;
  const auto add = [&call](const char* name, Value value) {
    call.args.push_back({name, std::move(value), false});
  };
  const auto none_or = [](const std::function<Value()>& item) {
    return *rc::gen::arbitrary<bool>() ? Value{None{}} : item();
  };
  const auto integer = [] { return Value{*rc::gen::arbitrary<std::int64_t>()}; };
  const auto text = [] { return Value{*any_text()}; };
  add("a", any_tensor_or_number());
  add("b", none_or([] { return Value{any_tensor()}; }));
  add("c", Value{any_list(3, any_tensor_or_number)});
  add("d", Value{any_list(3, [&] { return none_or([] { return Value{any_tensor()}; }); })});
  add("e", integer());
  add("f", Value{*any_number()});
  add("g", Value{*rc::gen::arbitrary<bool>()});
  add("h", *rc::gen::element(Value{true}, Value{std::int64_t{1}}, Value{1.0}, Value{-HUGE_VAL},
                             Value{std::complex<double>(1, -2.5)}));
  add("i", text());
  add("j", Value{List{integer(), integer()}});
  add("k", Value{any_list(3, [] { return Value{*any_number()}; })});
  add("l", none_or([] { return Value{Word{*rc::gen::element<std::string>("f32", "bool")}}; }));
  add("m", none_or([] { return Value{Word{*rc::gen::element<std::string>("cpu", "npu:1")}}; }));
  add("n", Value{std::complex<double>(*any_number(), 0.5)});
  add("o", Value{List{Value{true}, Value{false}, Value{*rc::gen::arbitrary<bool>()}}});
  add("p", none_or([&] { return Value{any_list(3, text)}; }));
  bind(call, parse_schema(k_schema));
  return call;
}

OpSpec any_spec() {
  OpSpec spec;
  spec.op = "lib.everything";
  spec.schema = std::string(k_schema).substr(5);
  const auto text = [] { return *any_text(); };
  spec.source = {text(), text(), text(), *rc::gen::element<std::string>("", "static", "live")};
  if (*rc::gen::arbitrary<bool>()) spec.scope = {"shape.empty", "values.nan@first"};
  if (*rc::gen::arbitrary<bool>()) spec.vary = {"+mode", "-layout", "dtype"};
  if (*rc::gen::arbitrary<bool>()) spec.tags = {"custom_op", "rng"};
  if (*rc::gen::arbitrary<bool>()) spec.tolerance = Tolerance{1.5, "x" + text()};
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    spec.known.push_back(
        {"d" + text(), text(), "wrong_value", "y" + text(), text(), text(), text()});
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    SpecCall call;
    call.call = any_call();
    call.count = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 40);
    for (int k = *rc::gen::inRange(0, 3); k > 0; --k) call.at.push_back({text(), text()});
    call.backward = *rc::gen::arbitrary<bool>();
    call.forward = !call.backward || *rc::gen::arbitrary<bool>();
    call.replay_backward = *rc::gen::arbitrary<bool>();
    for (int k = *rc::gen::inRange(0, 3); k > 0; --k) call.results.push_back(any_tensor().desc);
    spec.calls.push_back(std::move(call));
  }
  return spec;
}

TEST_CASE("any spec survives writing and reading") {
  const TemporaryFolder folder;
  REQUIRE(rc::check("load(write(s)) == s, and writing is idempotent", [&folder] {
    const OpSpec spec = any_spec();
    write_specs({spec}, folder.path());
    const auto loaded = load_specs(folder.path() / file_name(spec));
    RC_ASSERT(loaded.size() == 1U);
    RC_ASSERT(loaded[0] == spec);
    RC_ASSERT(to_yaml(loaded[0]) == to_yaml(spec));
  }));
}

TEST_CASE("NaN is written and read back") {
  OpSpec spec = load_specs(k_data / "aten.cat.yaml")[0];
  const std::string text = to_yaml(spec);
  CHECK_THAT(text, Catch::Contains("[0, -0.0, .nan, .inf, -.inf, 0.1]"));
  const TemporaryFolder folder;
  CHECK(to_yaml(load_specs(folder.write("s.yaml", text))[0]) == text);
}

TEST_CASE("only whole files appear, and a failure names the path") {
  const TemporaryFolder folder;
  const auto specs = load_specs(k_data / "aten.cat.yaml");
  write_specs(specs, folder.path() / "new/deep");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "new/deep"))
    names.push_back(entry.path().filename().string());
  CHECK(names == std::vector<std::string>{"aten.cat.yaml"});

  // A file where the folder should be; a folder where the file should be.
  folder.write("taken", "x");
  std::filesystem::create_directories(folder.path() / "aten.cat.yaml/x");
  for (const auto& place : {folder.path() / "taken", folder.path()}) {
    INFO(place);
    try {
      write_specs(specs, place);
      FAIL("written");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::output_failed);
      CHECK_THAT(error.what(), Catch::Contains("cannot write " + place.string()));
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    CHECK(entry.path().extension() != ".partial");
}

}  // namespace
}  // namespace opreplay
