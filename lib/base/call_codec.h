#pragma once
/// Binary form of calls and their values; see codec.h. Shared by requests and graphs.

#include "lib/base/codec.h"
#include "opreplay/call.h"

namespace opreplay {

template <MaybeConst<Place> T>
auto members(T& t) {
  return std::tie(t.where, t.index, t.value);
}

template <MaybeConst<Values> T>
auto members(T& t) {
  return std::tie(t.kind, t.dist, t.mean, t.std, t.low, t.high, t.p, t.min, t.max, t.fill, t.data,
                  t.int_data, t.file, t.key, t.places);
}

template <MaybeConst<TensorDesc> T>
auto members(T& t) {
  return std::tie(t.dtype, t.sizes, t.strides, t.offset, t.storage);
}

template <MaybeConst<TensorArg> T>
auto members(T& t) {
  return std::tie(t.desc, t.values, t.dims, t.requires_grad, t.parameter, t.storage_unknown,
                  t.on_cpu);
}

template <MaybeConst<Word> T>
auto members(T& t) {
  return std::tie(t.text);
}

template <MaybeConst<Ref> T>
auto members(T& t) {
  return std::tie(t.index);
}

template <MaybeConst<Value> T>
auto members(T& t) {
  return std::tie(t.data);
}

template <MaybeConst<Arg> T>
auto members(T& t) {
  return std::tie(t.name, t.value, t.keyword);
}

template <MaybeConst<OpCall> T>
auto members(T& t) {
  return std::tie(t.op, t.args);
}

}  // namespace opreplay
