#pragma once
/// The fields of a record in file order, each named once. An archive (reader or writer) visits
/// them: `archive(key, member)`, `archive.required(key, member)`, `archive.hex(key, member)`.
/// docs/reports.md explains the keys. Used by record.cpp only.

#include "lib/ledger/record.h"

namespace opreplay::ledger {

template <class Archive, class T>
void raised_fields(Archive& a, T& raised) {
  a.required("class", raised.error_class);
  a.required("stage", raised.stage);
  a("message", raised.message);
}

template <class Archive, class T>
void classes_fields(Archive& a, T& classes) {
  a("nan", classes.nan);
  a("inf", classes.inf);
  a("allowed", classes.allowed);
  a("signed_zero", classes.signed_zero);
}

template <class Archive, class T>
void element_fields(Archive& a, T& element) {
  a("index", element.index);
  a.required("target", element.target);
  a.required("reference", element.reference);
  a("bound", element.bound);
}

template <class Archive, class T>
void output_fields(Archive& a, T& output) {
  a.required("name", output.name);
  a("shape_expected", output.shape_expected);
  a("shape_got", output.shape_got);
  a("dtype_expected", output.dtype_expected);
  a("dtype_got", output.dtype_got);
  a("device_expected", output.device_expected);
  a("device_got", output.device_got);
  a("strides_differ", output.strides_differ);
  a("unwritten", output.unwritten);
  a("compared", output.compared);
  a("model", output.model);
  a("elements", output.elements);
  a("classes", output.classes);
  a("bad", output.bad);
  a("max_abs", output.max_abs);
  a("max_rel", output.max_rel);
  a("max_ulp", output.max_ulp);
  a("worst_ratio", output.worst_ratio);
  a("rms_ratio", output.rms_ratio);
  a("zero_share", output.zero_share);
  a("nan_share", output.nan_share);
  a("within_downgrade", output.within_downgrade);
  a("downgrade", output.downgrade);
  a("weak_evidence", output.weak_evidence);
  a("worst", output.worst);
  a("notes", output.notes);
}

template <class Archive, class T>
void witness_fields(Archive& a, T& witness) {
  a("ran", witness.ran);
  a("class_ok", witness.class_ok);
  a("value_ok", witness.value_ok);
  a("alike", witness.alike);
}

template <class Archive, class T>
void outcome_fields(Archive& a, T& outcome) {
  a.required("ending", outcome.ending);
  a("signal", outcome.signal);
  a("exit_code", outcome.exit_code);
  a.required("stage", outcome.stage);
  a("output_tail", outcome.output_tail);
  a("reference", outcome.reference);
  a("reference64", outcome.reference64);
  a("target", outcome.target);
  a("evidence", outcome.evidence);
  a("outputs", outcome.outputs);
  a("witness", outcome.witness);
  a("outputs_expected", outcome.outputs_expected);
  a("outputs_got", outcome.outputs_got);
  a("inputs_modified", outcome.inputs_modified);
  a("alias_differences", outcome.alias_differences);
  a("out_of_bounds", outcome.out_of_bounds);
  a("kernel", outcome.kernel);
  a("cpu_fallback", outcome.cpu_fallback);
  a("fallback_evidence", outcome.fallback_evidence);
  a("notes", outcome.notes);
  a.hex("input_hash", outcome.input_hash);
  a.hex("output_hash", outcome.output_hash);
  a("reference_ms", outcome.reference_ms);
  a("target_ms", outcome.target_ms);
  a("total_ms", outcome.total_ms);
  a("host_peak_bytes", outcome.host_peak_bytes);
}

template <class Archive, class T>
void record_fields(Archive& a, T& record) {
  a.required("case", record.case_text);
  a.required("case_id", record.case_id);
  a("call_id", record.call_id);
  a.required("op", record.op);
  a.required("status", record.verdict.status);
  a.required("reason", record.verdict.reason);
  a("kind", record.verdict.kind);
  a("detail", record.verdict.detail);
  a("notes", record.verdict.notes);
  a("known", record.known);
  a("workload", record.workload);
  a("family", record.family);
  a("count", record.count);
  a("module", record.module);
  a("spec", record.spec);
  a("device", record.device);
  a("environment", record.environment);
  a("rules", record.rules);
  a("repro", record.repro);
  a("owner", record.owner);
  a("next_step", record.next_step);
  a("not_covered", record.not_covered);
  a("time", record.time);
  a.required("outcome", record.outcome);
}

}  // namespace opreplay::ledger
