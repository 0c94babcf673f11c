// Small products A·W with packed weights, with a tile of rows × columns in registers.
//
// The columns of a product are grouped into blocks, so that what follows the product (an activation, a gate) runs while
// its result is still in the first-level cache. Every column is summed in the same order for any number of rows, so
// that a row in a batch equals the same row alone, bit for bit.
#pragma once

#include "operands.h"

namespace LT_TARGET {

constexpr int64_t tile_rows = 6;   // 6 rows × 2 vectors: 12 sums, as needed by two multiply-add units of latency 4
constexpr int64_t k_block = 256;  // a panel of 256 × 2 vectors is half of the first-level cache

// A block of columns: `panels` panels of `width` vectors each.
struct Block {
  int64_t unit, panels, width, offset;  // first unit, …, start in the packed data
};

template <class T> LT_INLINE int64_t padded(int64_t n) { return (n + lanes<T> - 1) / lanes<T> * lanes<T>; }

// Numbers `stride` apart; without data they are 0.
template <class T> struct Column {
  const T* data;
  int64_t stride;
};

// Weights W (heads·units, K), packed so that the panels of a block follow each other, K × width·lanes each.
//
// With several heads the panels of a block are the same units of each head; with one they are neighbours.
template <class T> struct Packed {
  T* data = nullptr;
  int64_t K = 0, units = 0, heads = 0;

  int64_t size() const { return heads * padded<T>(units) * K; }
  int64_t blocks() const {
    const int64_t vectors = padded<T>(units) / lanes<T>;
    if (heads > 1) return (vectors + 1) / 2;
    return vectors / 8 + (vectors % 8 / 2 ? 1 : 0) + vectors % 2;
  }
  Block block(int64_t index) const {
    const int64_t V = lanes<T>, vectors = padded<T>(units) / V;
    if (heads > 1) {
      const int64_t width = index * 2 + 1 < vectors ? 2 : 1;
      return {index * 2 * V, heads, width, index * 2 * V * heads * K};
    }
    const int64_t first = index * 8;
    if (first + 8 <= vectors) return {first * V, 4, 2, first * V * K};
    const int64_t start = vectors / 8 * 8, pairs = (vectors - start) / 2;
    if (first == start && pairs > 0) return {start * V, pairs, 2, start * V * K};
    return {(vectors - 1) * V, 1, 1, (vectors - 1) * V * K};
  }

  // After packing, convert the weights to operands, each panel in place.
  template <class Op> void convert() {
    if constexpr (Op::converts)
      for (int64_t b = 0; b < blocks(); ++b) {
        const Block at = block(b);
        const int64_t width = at.width * lanes<T>;
        for (int64_t p = 0; p < at.panels; ++p) Op::fold(data + at.offset + p * K * width, K, width);
      }
  }

  // column(head, k) returns the weights of a head's units for the k-th term; units after the last are 0.
  template <class F> void pack(F column) {
    for (int64_t b = 0; b < blocks(); ++b) {
      const Block at = block(b);
      T* out = data + at.offset;
      for (int64_t p = 0; p < at.panels; ++p) {
        const int64_t width = at.width * lanes<T>, head = heads > 1 ? p : 0, unit = at.unit + (heads > 1 ? 0 : p * width);
        const int64_t inside = units - unit < width ? units - unit : width;
        for (int64_t k = 0; k < K; ++k, out += width) {
          const Column<T> from = column(head, k);
          int64_t j = 0;
          if (from.data && from.stride == 1)
            for (; j < inside; ++j) out[j] = from.data[unit + j];
          else if (from.data)
            for (; j < inside; ++j) out[j] = from.data[(unit + j) * from.stride];
          for (; j < width; ++j) out[j] = 0;
        }
      }
    }
  }
};

// Position of the rows of the left factor: one after the other, or in planes of rows (one for each vector of columns).
template <class T> struct ByRow {
  static constexpr int64_t depth = 1;  // columns that are processed at once
  const T* data;
  int64_t stride;

  ByRow from(int64_t row, int64_t k) const { return {data + row * stride + k, stride}; }
  const T* at(int64_t row, int64_t) const { return data + row * stride; }
  template <class Op> void convert(int64_t row, int64_t K, T* to) const { Op::row(to, data + row * stride, K); }
};

template <class T> struct ByPlane {
  static constexpr int64_t depth = lanes<T>;
  const T* data;
  int64_t plane;

  ByPlane from(int64_t row, int64_t k) const { return {data + k / lanes<T> * plane + row * lanes<T>, plane}; }
  const T* at(int64_t row, int64_t k) const { return data + row * lanes<T> + k; }
  template <class Op> void convert(int64_t row, int64_t K, T* to) const {
    for (int64_t k = 0; k < K; k += lanes<T>) Op::row(to + Op::terms(k), from(row, k).data, lanes<T>);
  }
};

// A tile of MR rows and NP panels of NV vectors, over K terms. C is (panel, row, NV·lanes).
template <class Op, int MR, int NV, int NP, class Left, class T = typename Op::Number>
LT_INLINE void tile(int64_t K, Left A, const T* W, int64_t panel, T* C, int64_t plane, bool add) {
  constexpr int64_t V = lanes<T>;
  Vec<T> acc[MR][NP * NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < NP * NV; ++j) acc[i][j] = Vec<T>{};
  for (int64_t k = 0; k < K; k += Left::depth) {
#pragma GCC unroll 16
    for (int d = 0; d < Left::depth; ++d) {
      Vec<T> w[NP * NV];
#pragma GCC unroll 8
      for (int p = 0; p < NP; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < NV; ++v) w[p * NV + v] = load<T>(W + p * panel + (d * NV + v) * V);
#pragma GCC unroll 16
      for (int i = 0; i < MR; ++i) {
        const Vec<T> a = Op::spread(A.at(i, d));
#pragma GCC unroll 8
        for (int j = 0; j < NP * NV; ++j) acc[i][j] = Op::add(acc[i][j], a, w[j]);
      }
    }
    A = A.from(0, Left::depth);
    W += Left::depth * NV * V;
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int p = 0; p < NP; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < NV; ++v) {
        T* c = C + p * plane + (i * NV + v) * V;
        store<T>(c, add ? load<T>(c) + acc[i][p * NV + v] : acc[i][p * NV + v]);
      }
}

template <class Op, int NV, int NP, class Left, class T = typename Op::Number>
LT_INLINE void rows_of(int64_t rows, int64_t K, Left A, const T* W, int64_t panel, T* C, int64_t plane, bool add) {
  constexpr int64_t V = lanes<T>;
  int64_t i = 0;
  for (; i + tile_rows <= rows; i += tile_rows)
    tile<Op, tile_rows, NV, NP>(K, A.from(i, 0), W, panel, C + i * NV * V, plane, add);
  A = A.from(i, 0);
  C += i * NV * V;
  switch (rows - i) {
    case 5: tile<Op, 5, NV, NP>(K, A, W, panel, C, plane, add); break;
    case 4: tile<Op, 4, NV, NP>(K, A, W, panel, C, plane, add); break;
    case 3: tile<Op, 3, NV, NP>(K, A, W, panel, C, plane, add); break;
    case 2: tile<Op, 2, NV, NP>(K, A, W, panel, C, plane, add); break;
    case 1: tile<Op, 1, NV, NP>(K, A, W, panel, C, plane, add); break;
    default: break;
  }
}

// The panels of a block for the last one or two rows at once: with few rows, a single panel would wait for its sums.
template <class Op, int MR, int NV, class Left, class T = typename Op::Number>
LT_INLINE void few_rows(int64_t panels, int64_t K, Left A, const T* W, int64_t panel, T* C, int64_t plane, bool add) {
  int64_t p = 0;
  if (MR == 1)
    for (; p + 4 <= panels; p += 4) tile<Op, MR, NV, 4>(K, A, W + p * panel, panel, C + p * plane, plane, add);
  for (; p + 2 <= panels; p += 2) tile<Op, MR, NV, 2>(K, A, W + p * panel, panel, C + p * plane, plane, add);
  for (; p < panels; ++p) tile<Op, MR, NV, 1>(K, A, W + p * panel, panel, C + p * plane, plane, add);
}

// C (panels, rows, width·lanes) = A (rows, K)·W over one block, whose panels are `panel` apart.
template <class Op, int NV, class Left, class T = typename Op::Number>
static void block_product(const Block& block, int64_t rows, int64_t K, Left A, const T* W, int64_t panel, T* C) {
  constexpr int64_t V = lanes<T>;
  const int64_t plane = rows * NV * V;
  for (int64_t k = 0; k < K || k == 0; k += k_block) {
    const int64_t depth = K - k < k_block ? K - k : k_block;
    const int64_t rest = rows % tile_rows, few = rest == 1 || rest == 2 ? rest : 0, most = rows - few;
    const T* w = W + k * NV * V;
    const bool add = k > 0;
    const Left here = A.from(0, k), last = A.from(most, k);
    if (most > 0) {
      int64_t p = 0;
      if (NV == 1)
        for (; p + 2 <= block.panels; p += 2)
          rows_of<Op, NV, 2>(most, depth, here, w + p * panel, panel, C + p * plane, plane, add);
      for (; p < block.panels; ++p)
        rows_of<Op, NV, 1>(most, depth, here, w + p * panel, panel, C + p * plane, plane, add);
    }
    T* c = C + most * NV * V;
    if (few == 1) few_rows<Op, 1, NV>(block.panels, depth, last, w, panel, c, plane, add);
    if (few == 2) few_rows<Op, 2, NV>(block.panels, depth, last, w, panel, c, plane, add);
  }
}

template <class Op, class Left, class F, class T = typename Op::Number>
LT_INLINE void blocks_of(const Packed<T>& W, int64_t rows, int64_t K, Left A, T* C, F after) {
  for (int64_t b = 0; b < W.blocks(); ++b) {
    const Block block = W.block(b);
    const int64_t panel = W.K * block.width * lanes<T>;
    if (block.width == 2)
      block_product<Op, 2>(block, rows, K, A, W.data + block.offset, panel, C);
    else
      block_product<Op, 1>(block, rows, K, A, W.data + block.offset, panel, C);
    after(block, static_cast<const T*>(C));
  }
}

// Working memory of a product.
template <class T> struct Bench {
  T* block;    // (rows, 8 vectors) the result of a block
  T* operand;  // (rows, padded K) the left factor, if operands differ from the numbers
};

// Compute A (rows, K)·W, whose weights are converted, block by block, and pass each to after(block, C), where C is
// (panels, rows, width·lanes).
template <class Op, class Left, class F, class T = typename Op::Number>
LT_INLINE void product(const Packed<T>& W, int64_t rows, Left A, Bench<T> bench, F after) {
  if constexpr (Op::converts) {
    const int64_t stride = padded<T>(W.K);
    for (int64_t i = 0; i < rows; ++i) A.template convert<Op>(i, W.K, bench.operand + i * stride);
    blocks_of<Op>(W, rows, Op::terms(W.K), ByRow<T>{bench.operand, stride}, bench.block, after);
  } else {
    blocks_of<Op>(W, rows, W.K, A, bench.block, after);
  }
}

}  // namespace LT_TARGET
