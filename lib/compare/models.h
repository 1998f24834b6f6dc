#pragma once
/// The bound function of every error model; error_models.cpp lists them. Each is called with a
/// floating dtype only (but those of postconditions: random, chosen...), may leave NaN where a term
/// has no value, and states the bound of a reference that is better than T: error_models.cpp sees
/// to the rest.

#include "lib/compare/error_model.h"

namespace opreplay {

Bound exact_bound(const Evidence& evidence);
Bound elementwise_bound(const Evidence& evidence);
Bound sin_cos_bound(const Evidence& evidence);
Bound gelu_bound(const Evidence& evidence);
Bound accumulate_bound(const Evidence& evidence);
Bound softmax_bound(const Evidence& evidence);
Bound log_softmax_bound(const Evidence& evidence);
Bound normalize_bound(const Evidence& evidence);
Bound batch_eval_bound(const Evidence& evidence);
Bound rms_norm_bound(const Evidence& evidence);
Bound attention_bound(const Evidence& evidence);
Bound generic_bound(const Evidence& evidence);
Bound fft_bound(const Evidence& evidence);
Bound logsumexp_bound(const Evidence& evidence);
Bound moments_bound(const Evidence& evidence);
Bound product_bound(const Evidence& evidence);
Bound loss_bound(const Evidence& evidence);
Bound interpolate_bound(const Evidence& evidence);
Bound quantile_bound(const Evidence& evidence);
Bound scatter_reduce_bound(const Evidence& evidence);
Bound scatter_bound(const Evidence& evidence);
Bound chosen_bound(const Evidence& evidence);
Bound random_bound(const Evidence& evidence);
Bound structure_bound(const Evidence& evidence);

}  // namespace opreplay
