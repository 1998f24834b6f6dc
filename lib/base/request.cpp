#include "lib/base/request.h"

#include "lib/base/call_codec.h"

namespace opreplay {

template <MaybeConst<OracleRule> T>
auto members(T& t) {
  return std::tie(t.model, t.attributes);
}

template <MaybeConst<ReplayRequest> T>
auto members(T& t) {
  return std::tie(t.calls, t.phase, t.seed, t.oracle, t.tolerance);
}

template <MaybeConst<Raised> T>
auto members(T& t) {
  return std::tie(t.error_class, t.stage, t.message);
}

template <MaybeConst<ClassDifference> T>
auto members(T& t) {
  return std::tie(t.nan, t.inf, t.allowed, t.signed_zero);
}

template <MaybeConst<WorstElement> T>
auto members(T& t) {
  return std::tie(t.index, t.target, t.reference, t.bound);
}

template <MaybeConst<OutputComparison> T>
auto members(T& t) {
  return std::tie(t.name, t.shape_expected, t.shape_got, t.dtype_expected, t.dtype_got,
                  t.device_expected, t.device_got, t.strides_differ, t.unwritten, t.compared,
                  t.model, t.elements, t.classes, t.bad, t.max_abs, t.max_rel, t.max_ulp,
                  t.worst_ratio, t.rms_ratio, t.zero_share, t.nan_share, t.within_downgrade,
                  t.downgrade, t.weak_evidence, t.worst, t.notes);
}

template <MaybeConst<Witness> T>
auto members(T& t) {
  return std::tie(t.ran, t.class_ok, t.value_ok, t.alike);
}

template <MaybeConst<Outcome> T>
auto members(T& t) {
  return std::tie(t.ending, t.signal, t.exit_code, t.stage, t.output_tail, t.reference,
                  t.reference64, t.target, t.evidence, t.outputs, t.witness, t.outputs_expected,
                  t.outputs_got, t.inputs_modified, t.alias_differences, t.out_of_bounds, t.kernel,
                  t.cpu_fallback, t.fallback_evidence, t.notes, t.input_hash, t.output_hash,
                  t.reference_ms, t.target_ms, t.total_ms, t.host_peak_bytes);
}

std::vector<std::byte> encode(const ReplayRequest& request) { return encode_bytes(request); }
std::vector<std::byte> encode(const Outcome& outcome) { return encode_bytes(outcome); }

ReplayRequest decode_request(std::span<const std::byte> bytes) {
  return decode_bytes<ReplayRequest>(bytes);
}
Outcome decode_outcome(std::span<const std::byte> bytes) { return decode_bytes<Outcome>(bytes); }

}  // namespace opreplay
