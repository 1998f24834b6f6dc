#include <catch2/catch.hpp>
#include <limits>

#include "lib/base/request.h"
#include "opreplay/error.h"

using namespace opreplay;

namespace {

ReplayRequest sample_request() {
  TensorArg self{.desc = make_desc(DType::f16, {2, 3})};
  self.values = Values{.mean = 0.25, .min = -1, .places = {{Where::index, {1, 2}, 7}}};
  self.requires_grad = true;
  OpCall call{"aten.add.Tensor",
              {{"self", {self}, false},
               {"other", {std::int64_t{3}}, false},
               {"alpha", {2.5}, true},
               {"list", {List{{None{}}, {true}, {Word{"f32"}}, {std::string("x")}}}, true}}};
  return {{call}, Phase::backward, 42, {"elementwise", {{"ulp", "4"}}}};
}

}  // namespace

TEST_CASE("a request survives the trip to the worker") {
  const ReplayRequest request = sample_request();
  CHECK(decode_request(encode(request)) == request);
}

TEST_CASE("an outcome keeps what a record shows, infinities included") {
  Outcome outcome;
  outcome.target = Raised{ErrorClass::accelerator, Stage::synchronise, "error 507035"};
  OutputComparison out;
  out.name = "out";
  out.worst_ratio = std::numeric_limits<double>::infinity();
  out.rms_ratio = 1.5;
  out.worst = {{{0, 7}, 1.0, 2.0, 0.5}};
  outcome.outputs = {out};
  const Outcome got = decode_outcome(encode(outcome));
  REQUIRE(got.target);
  CHECK(got.target->stage == Stage::synchronise);
  CHECK(got.target->message == "error 507035");
  REQUIRE(got.outputs.size() == 1);
  CHECK(got.outputs[0].worst_ratio == std::numeric_limits<double>::infinity());
  CHECK(got.outputs[0].rms_ratio == 1.5);
  CHECK(got.outputs[0].worst[0].index == std::vector<std::int64_t>{0, 7});
}

TEST_CASE(
    "every truncation and every flipped byte of a message is refused or decoded, never worse") {
  const auto bytes = encode(sample_request());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    CHECK_THROWS_AS(decode_request(std::span(bytes).first(cut)), Error);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto mutated = bytes;
    mutated[i] ^= std::byte{0xff};
    try {
      decode_request(mutated);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::internal);
    }
  }
}
