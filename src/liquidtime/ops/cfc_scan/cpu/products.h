// Separate products with bf16 operands, so that those of one target can be compared with those of another.
#pragma once

#include "../../native/outer.h"
#include "layout.h"

namespace LT_TARGET {
namespace {

// c (rows, units) = a (rows, K)·wᵀ, w (units, K).
int bf16_product(int64_t rows, int64_t K, int64_t units, const float* a, const float* w, float* c) {
  Packed<float> W;
  W.heads = 1, W.units = units, W.K = K;
  Bench<float> bench;
  auto lay_out = [&](Parts<float> parts) {
    W.data = parts.take(W.size());
    bench = {parts.take(rows * 8 * lanes<float>), parts.take(rows * padded<float>(K))};
    return parts.used;
  };
  const Room room(lay_out({nullptr}) * sizeof(float));
  if (!room.as<float>()) return 1;
  lay_out({room.as<float>()});
  W.pack([=](int64_t, int64_t k) { return Column<float>{w + k, K}; });
  W.convert<Bf16>();
  product<Bf16>(W, rows, ByRow<float>{a, K}, bench, [=](const Block& block, const float* C) {
    const int64_t width = block.width * lanes<float>;
    for (int64_t j = 0; j < block.panels * width && block.unit + j < units; ++j)
      for (int64_t i = 0; i < rows; ++i) c[i * units + block.unit + j] = C[(j / width * rows + i) * width + j % width];
  });
  return 0;
}

// g (units, width + 1) = sum over samples of upper (samples, units) times lower (samples, width) followed by a 1.
int bf16_outer(int64_t samples, int64_t units, int64_t width, const float* upper, const float* lower, float* g) {
  Outer<float> sums;
  sums.vectors = padded<float>(units) / lanes<float>, sums.width = width, sums.capacity = samples;
  auto lay_out = [&](Parts<float> parts) {
    sums.sums = parts.take(sums.sums_size());
    sums.upper = parts.take(sums.upper_size());
    sums.lower = parts.take(sums.lower_size());
    return parts.used;
  };
  const int64_t size = lay_out({nullptr});
  const Room room(size * sizeof(float));
  if (!room.as<float>()) return 1;
  zero(room.as<float>(), size);
  lay_out({room.as<float>()});
  for (int64_t k = 0; k < samples; ++k) {
    for (int64_t j = 0; j < units; ++j)
      sums.upper[j / lanes<float> * sums.plane() + k * lanes<float> + j % lanes<float>] = upper[k * units + j];
    sums.put(k, 0, lower + k * width, width);
    sums.end(k);
  }
  sums.add<Bf16>(samples);
  for (int64_t j = 0; j < units; ++j)
    for (int64_t f = 0; f <= width; ++f) g[j * (width + 1) + f] = sums.sums[sums.place(j, f)];
  return 0;
}

}  // namespace
}  // namespace LT_TARGET
