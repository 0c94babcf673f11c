// Gradients of weights: sums of outer products, accumulated over some samples at a time while these are in the cache.
#pragma once

#include "gemm.h"

namespace LT_TARGET {

// The sums over samples k of upper[k]·lower[k]ᵀ, with a 1 after the last number of `lower`, whose sum is for the bias.
//
// `upper` is in planes (vectors, capacity, lanes), so that it can be the left factor of a product; `lower` is in tiles
// of six numbers (tiles, capacity, 6); the sums are in tiles of six times two vectors.
template <class T> struct Outer {
  T *upper = nullptr, *lower = nullptr, *sums = nullptr;
  int64_t vectors = 0, width = 0, capacity = 0;

  int64_t tiles() const { return (width + 1 + tile_rows - 1) / tile_rows; }
  int64_t upper_size() const { return vectors * capacity * lanes<T>; }
  int64_t lower_size() const { return tiles() * capacity * tile_rows; }
  int64_t sums_size() const { return tiles() * tile_rows * vectors * lanes<T>; }
  int64_t plane() const { return capacity * lanes<T>; }
  ByPlane<T> rows(int64_t from) const { return {upper + from * lanes<T>, plane()}; }

  // Write `count` numbers of a sample to its places from `f` on.
  void put(int64_t sample, int64_t f, const T* from, int64_t count) {
    const int64_t next = capacity * tile_rows, at = f % tile_rows;
    T* tile = lower + f / tile_rows * next + sample * tile_rows;
    int64_t done = 0;
    if (at) {
      for (; done < count && at + done < tile_rows; ++done) tile[at + done] = from[done];
      tile += next;
    }
    for (; done + tile_rows <= count; done += tile_rows, tile += next)
      std::memcpy(tile, from + done, tile_rows * sizeof(T));
    for (int64_t k = 0; done + k < count; ++k) tile[k] = from[done + k];
  }

  // Write the 1 of the bias, followed by 0.
  void end(int64_t sample) {
    T* tile = lower + ((tiles() - 1) * capacity + sample) * tile_rows;
    for (int64_t f = width - (tiles() - 1) * tile_rows, k = f; k < tile_rows; ++k) tile[k] = T(k == f);
  }

  // Write the negatives of a sample's numbers to the places of another, again followed by a 1.
  void negate(int64_t sample, int64_t other) {
    for (int64_t k = 0; k < tiles(); ++k)
      for (int64_t j = 0; j < tile_rows; ++j)
        lower[(k * capacity + other) * tile_rows + j] = -lower[(k * capacity + sample) * tile_rows + j];
    end(other);
  }

  template <class Op, int NV> void add(int64_t count, const T* up, T* out) {
    constexpr int64_t V = lanes<T>;
    const int64_t next = plane();
    for (int64_t tile = 0; tile < tiles(); ++tile, out += tile_rows * NV * V) {
      const T* low = lower + tile * capacity * tile_rows;
      Vec<T> acc[tile_rows][NV];
#pragma GCC unroll 8
      for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < NV; ++v) acc[i][v] = load<T>(out + (i * NV + v) * V);
      for (int64_t k = 0; k < count; ++k) {
        Vec<T> w[NV];
#pragma GCC unroll 2
        for (int v = 0; v < NV; ++v) w[v] = load<T>(up + v * next + k * V);
#pragma GCC unroll 8
        for (int i = 0; i < tile_rows; ++i) {
          const Vec<T> a = Op::spread(low + k * tile_rows + i);
#pragma GCC unroll 2
          for (int v = 0; v < NV; ++v) acc[i][v] = Op::add(acc[i][v], a, w[v]);
        }
      }
#pragma GCC unroll 8
      for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < NV; ++v) store<T>(out + (i * NV + v) * V, acc[i][v]);
    }
  }

  // Add the first `count` samples, which are overwritten if they are converted to operands in place.
  template <class Op> void add(int64_t count) {
    const int64_t V = lanes<T>;
    if constexpr (Op::converts) {
      for (int64_t v = 0; v < vectors; ++v) Op::fold(upper + v * plane(), count, V);
      for (int64_t tile = 0; tile < tiles(); ++tile) Op::fold(lower + tile * capacity * tile_rows, count, tile_rows);
      count = Op::terms(count);
    }
    int64_t v = 0;
    for (; v + 2 <= vectors; v += 2) add<Op, 2>(count, upper + v * plane(), sums + v * V * tiles() * tile_rows);
    if (v < vectors) add<Op, 1>(count, upper + v * plane(), sums + v * V * tiles() * tile_rows);
  }

  // Position in `sums` of the product of column j of `upper` and number f of `lower`.
  int64_t place(int64_t j, int64_t f) const {
    const int64_t V = lanes<T>, pair = j / (2 * V) * 2, across = (pair + 2 <= vectors ? 2 : 1) * V;
    return pair * V * tiles() * tile_rows + f * across + (j - pair * V);
  }
};

}  // namespace LT_TARGET
