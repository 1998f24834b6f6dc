// What autocast does to a call. Right values: torch's documentation of autocast ("CPU ops that
// autocast to bfloat16 / float32 / promote to the widest input type", and the CUDA lists), and
// torch 2.13 in Python for strides (x.to(dtype).stride()).
#include "lib/model/autocast.h"

#include <catch2/catch.hpp>

#include "lib/base/case_parser.h"
#include "lib/spec/schema_table.h"
#include "opreplay/case.h"
#include "opreplay/error.h"

using namespace opreplay;

namespace {

std::string cast(const std::string& text, const AutocastRegion& region) {
  OpCall call = parse_case(text, shipped_schemas()).calls.at(0);
  if (!apply_autocast(region, shipped_autocast(), *shipped_schemas().find(call.op), call))
    return "parts";
  return to_string(call);
}

const AutocastRegion k_cpu{"cpu", DType::bf16, true};
const AutocastRegion k_cuda{"cuda", DType::f16, true};

}  // namespace

TEST_CASE("matmul and its kind run in the region's dtype") {
  CHECK(cast("aten.linear(f32[2,8], f32[6,8], f32[6])", k_cpu) ==
        "aten.linear(bf16[2,8], bf16[6,8], bf16[6])");
  CHECK(cast("aten.mm(f32[2,3], f32[3,4])", k_cuda) == "aten.mm(f16[2,3], f16[3,4])");
  CHECK(cast("aten.einsum(\"ij,jk->ik\", [f32[2,3], f32[3,4]])", k_cpu) ==
        "aten.einsum(\"ij,jk->ik\", [bf16[2,3], bf16[3,4]])");
}

TEST_CASE("what needs range runs in f32") {
  CHECK(cast("aten.mse_loss(bf16[4], bf16[4])", k_cpu) == "aten.mse_loss(f32[4], f32[4])");
  CHECK(cast("aten.exp(f16[4])", k_cuda) == "aten.exp(f32[4])");
  CHECK(cast("aten.exp(bf16[4])", k_cpu) == "aten.exp(bf16[4])");
}

TEST_CASE("CUDA's softmax and sum give f32 unless they are told what to give") {
  CHECK(cast("aten.softmax.int(f16[2,8], -1)", k_cuda) == "aten.softmax.int(f16[2,8], -1, f32)");
  CHECK(cast("aten.softmax.int(f16[2,8], -1, f64)", k_cuda) ==
        "aten.softmax.int(f16[2,8], -1, f64)");
  CHECK(cast("aten.sum.dim_IntList(f16[2,8], [1])", k_cuda) ==
        "aten.sum.dim_IntList(f16[2,8], [1], dtype=f32)");
  CHECK(cast("aten.softmax.int(bf16[2,8], -1)", k_cpu) == "aten.softmax.int(bf16[2,8], -1)");
}

TEST_CASE("cat and its kind take the widest type") {
  CHECK(cast("aten.cat([f32[2], bf16[3]])", k_cpu) == "aten.cat([f32[2], f32[3]])");
  CHECK(cast("aten.cat([bf16[2], bf16[3]])", k_cpu) == "aten.cat([bf16[2], bf16[3]])");
}

TEST_CASE("f64, integers and regions that are off are left alone") {
  CHECK(cast("aten.mm(f64[2,3], f64[3,4])", k_cpu) == "aten.mm(f64[2,3], f64[3,4])");
  CHECK(cast("aten.embedding(f32[9,4], i64[2])", k_cpu) == "aten.embedding(f32[9,4], i64[2])");
  CHECK(cast("aten.mm(f32[2,3], f32[3,4])", {"cpu", DType::bf16, false}) ==
        "aten.mm(f32[2,3], f32[3,4])");
}

TEST_CASE("a cast tensor is a new one, dense in the order of its dims in memory") {
  // torch: zeros(8,4).t().to(bfloat16).stride() == (1, 4); zeros(4,16)[:, ::2] -> (8, 1);
  // zeros(1,8).expand(4,8) -> (8, 1); zeros(2,3,4).permute(2,0,1) -> (1, 12, 4)
  CHECK(cast("aten.mm(f32[4,8;1,4], f32[8,4])", k_cpu) == "aten.mm(bf16[4,8;1,4], bf16[8,4])");
  CHECK(cast("aten.mm(f32[4,8;16,2+1], f32[8,4])", k_cpu) == "aten.mm(bf16[4,8], bf16[8,4])");
  CHECK(cast("aten.mm(f32[4,8;0,1], f32[8,4])", k_cpu) == "aten.mm(bf16[4,8], bf16[8,4])");
  CHECK(cast("aten.bmm(f32[4,2,3;1,12,4], f32[4,3,5])", k_cpu) ==
        "aten.bmm(bf16[4,2,3;1,12,4], bf16[4,3,5])");
  CHECK(cast("aten.mm(f32[4,4]&a, f32[4,4]&a)", k_cpu) == "aten.mm(bf16[4,4], bf16[4,4])");
}

TEST_CASE("composites whose parts are cast one by one are no single call") {
  CHECK(cast("aten.gru_cell(f32[2,8], f32[2,4], f32[12,8], f32[12,4])", k_cpu) == "parts");
  CHECK(cast("aten.gru_cell(f32[2,8], f32[2,4], f32[12,8], f32[12,4])", k_cuda) ==
        "aten.gru_cell(f16[2,8], f16[2,4], f16[12,8], f16[12,4])");
}

TEST_CASE("the table names operators that exist and refuses lines that say nothing") {
  CHECK_THROWS_AS(AutocastTable("cpu lower"), Error);
  CHECK_THROWS_AS(AutocastTable("cpu sometimes aten.mm"), Error);
  CHECK_THROWS_AS(AutocastTable("npu lower aten.mm"), Error);
}
