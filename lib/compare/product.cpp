/// prod and cumprod: relative errors add up, whatever the order; partial products may leave the
/// range of numbers though the whole does not.
#include "lib/compare/model_support.h"
#include "lib/compare/models.h"

namespace opreplay {
namespace {

/// Tells each partial product: how many factors, the largest and the smallest it may be.
struct Partial {
  double factors = 0, largest = 1, smallest = 1;

  void multiply(double x) {
    const double magnitude = std::abs(x);
    ++factors;
    largest *= std::max(magnitude, 1.0);
    if (magnitude > 0) smallest *= std::min(magnitude, 1.0);
  }
};

}  // namespace

Bound product_bound(const Evidence& e) {
  const Array& x = need_input(e, {"self", "input"}, "product");
  const Roundoff at = roundoff(e.dtype);
  std::vector<Partial> products(e.reference.data.size());
  if (e.attributes.contains("running")) {
    const Rows rows = rows_along(need_like_output(e, "product").sizes, reduced_dim(e));
    for (std::size_t row = 0; row < rows.count(); ++row) {
      Partial product;
      for (std::size_t k = 0; k < rows.length; ++k) {
        const std::size_t i = rows.begin(row) + k * rows.inner;
        product.multiply(x.data[i]);
        products[i] = product;
      }
    }
  } else {
    const Groups groups = groups_over(x.sizes, reduced_dims(e));
    for (std::size_t i = 0; i < x.data.size(); ++i) products.at(groups.of[i]).multiply(x.data[i]);
  }
  Bound bound;
  bound.reduction = true;
  bound.note_wider = "partial products underflow";
  for (std::size_t i = 0; i < products.size(); ++i) {
    const double r = std::abs(e.reference.data[i]);
    const double tau = std::max(products[i].factors - 1, 0.0) * at.u * r + at.tiny;
    bound.tau.push_back(tau);
    bound.tau_wider.push_back(products[i].smallest < at.tiny ? r + tau : tau);
    bound.partial_max.push_back(products[i].largest);
  }
  return bound;
}

}  // namespace opreplay
