// Texts: torch 2.13.0+cpu unless a comment names another source.
#include "lib/judge/messages.h"

#include <catch2/catch.hpp>

#include "tests/unit/judge/outcomes.h"

using namespace opreplay;
using opreplay::testing::raised;

namespace {
Unsupported topic(ErrorClass error_class, const std::string& message) {
  return says_unsupported(raised(error_class, message), {});
}
}  // namespace

TEST_CASE("a missing inner operator is named, not the outer one") {
  CHECK(missing_kernel("Could not run 'aten::_thnn_fused_lstm_cell' with arguments from the "
                       "'PrivateUse1' backend. This could be") ==
        "aten::_thnn_fused_lstm_cell on PrivateUse1");
  CHECK(missing_kernel("some other text").empty());
}

TEST_CASE("a sparse or quantised key means the layout, not the operator") {
  const std::string sparse =
      "Could not run 'aten::sort.stable' with arguments from the 'SparseCPU' backend. This could "
      "be because the operator doesn't exist for this backend";
  CHECK_FALSE(says_no_kernel(raised(ErrorClass::not_implemented, sparse)));
  CHECK(topic(ErrorClass::not_implemented, sparse) == Unsupported::layout);
  const std::string quantised =
      "Could not run 'aten::_to_sparse' with arguments from the 'QuantizedCPU' backend.";
  CHECK(topic(ErrorClass::not_implemented, quantised) == Unsupported::layout);
}

TEST_CASE("no kernel: the other spellings") {
  CHECK(says_no_kernel(raised(
      ErrorClass::not_implemented,
      "convolution_overrideable not implemented. You are likely triggering this with tensor "
      "backend other than CPU/CUDA/MKLDNN, if this is intended, please use TORCH_LIBRARY_IMPL to "
      "override this function ")));
  CHECK(says_no_kernel(
      raised(ErrorClass::not_implemented,
             "There were no tensor arguments to this function (e.g., you passed an empty list of "
             "Tensors), but no fallback function is registered for schema aten::stack.")));
  // The MPS backend's text.
  CHECK(says_no_kernel(
      raised(ErrorClass::not_implemented,
             "The operator 'aten::lu_unpack' is not currently implemented for the MPS device.")));
  CHECK_FALSE(says_no_kernel(
      raised(ErrorClass::not_implemented, "\"linalg_svd_cpu\" not implemented for 'Half'")));
  CHECK_FALSE(says_no_kernel(raised(ErrorClass::other, "index out of range")));
}

TEST_CASE("what is unsupported: dtype before layout before shape") {
  CHECK(topic(ErrorClass::other, "Unsupported dtype Half") == Unsupported::dtype);
  // The MPS backend's text on copying in.
  CHECK(topic(ErrorClass::type,
              "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
              "float64.") == Unsupported::dtype);
  CHECK(topic(ErrorClass::other,
              "empty_strided not supported on quantized tensors yet see "
              "https://github.com/pytorch/pytorch/issues/74540") == Unsupported::layout);
  CHECK(topic(ErrorClass::other, "cumsum: not supported for tensors with more than 4 dims") ==
        Unsupported::shape);
  CHECK(topic(ErrorClass::other, "this is not supported") == Unsupported::no);
  CHECK(topic(ErrorClass::other,
              "Given groups=1, weight of size [1, 3, 2, 2], expected input[1, 2, 3, 3] to have 3 "
              "channels, but got 2 channels instead") == Unsupported::no);
}

TEST_CASE("the first line is the first that says something") {
  CHECK(first_line("") == "");
  CHECK(first_line(" \n\t\n  a b \r\nc") == "a b");
  CHECK(first_line("one") == "one");
}
