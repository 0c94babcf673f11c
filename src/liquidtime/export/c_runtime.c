/* arithmetic without a C library: exp, tanh and log here, floor and sqrt by the compiler or the library */
//@ always
static inline int LT_UNUSED lt_finite(double v) /* by its bits, which no option of a compiler can assume away */
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ((bits >> 52) & 0x7FFU) != 0x7FFU;
}
static inline int LT_UNUSED lt_finite_f(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ((bits >> 23) & 0xFFU) != 0xFFU;
}
static inline int LT_UNUSED lt_nan_f(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (bits & 0x7FFFFFFFU) > 0x7F800000U;
}
static inline float LT_UNUSED lt_maxf(float a, float b) { return a > b ? a : b; }
static inline float LT_UNUSED lt_minf(float a, float b) { return a < b ? a : b; }
static inline float LT_UNUSED lt_absf(float a) { return a < 0.0f ? -a : a; }
static inline double LT_UNUSED lt_max(double a, double b) { return a > b ? a : b; }
static inline double LT_UNUSED lt_min(double a, double b) { return a < b ? a : b; }
static inline double LT_UNUSED lt_abs(double a) { return a < 0.0 ? -a : a; }
//@ exp
static float LT_UNUSED lt_expf(float x) /* 2^n * e^r, |r| <= ln(2) / 2 */
{
    float n, r, p;
    uint32_t bits;
    if (x > 88.0f) x = 88.0f;
    if (x < -87.0f) return 0.0f;
    n = (float)(int)(x * 1.44269504f + (x < 0.0f ? -0.5f : 0.5f));
    r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    p = 1.9841270e-4f;
    p = p * r + 1.3888889e-3f;
    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666667e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    bits = (uint32_t)((int32_t)n + 127) << 23;
    memcpy(&n, &bits, sizeof n);
    return p * n;
}
static inline float LT_UNUSED lt_sigmoidf(float x)
{
    const float e = lt_expf(x < 0.0f ? x : -x);
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
static float LT_UNUSED lt_tanhf(float x)
{
    const float a = lt_absf(x);
    if (a < 0.35f) { /* the Taylor series, where 1 - 2 / (e^2a + 1) would cancel */
        const float s = x * x;
        float p = -8.8632355e-3f;
        p = p * s + 2.1869489e-2f;
        p = p * s - 5.3968254e-2f;
        p = p * s + 1.3333333e-1f;
        p = p * s - 3.3333333e-1f;
        return x + x * s * p;
    }
    {
        const float y = 1.0f - 2.0f / (lt_expf(2.0f * lt_minf(a, 20.0f)) + 1.0f);
        return x < 0.0f ? -y : y;
    }
}
//@ log
static double LT_UNUSED lt_log(double x) /* of x > 0: n * ln(2) + 2 * atanh((m - 1) / (m + 1)), m from 0.7 to 1.4 */
{
    uint64_t bits;
    int n;
    double m, s, z, p;
    memcpy(&bits, &x, sizeof bits);
    n = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        n += 1;
    }
    s = (m - 1.0) / (m + 1.0);
    z = s * s;
    p = 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    return (double)n * 0.693147180559945309 + 2.0 * s + 2.0 * s * z * p;
}
//@ softplus exp log
static inline float LT_UNUSED lt_softplusf(float x)
{
    return lt_maxf(x, 0.0f) + (float)lt_log(1.0 + (double)lt_expf(-lt_absf(x)));
}
//@ erf exp
static float LT_UNUSED lt_erff(float x) /* Abramowitz and Stegun 7.1.26, to 1.5e-7 */
{
    const float a = lt_absf(x), t = 1.0f / (1.0f + 0.3275911f * a);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    p = 1.0f - p * t * lt_expf(-a * a);
    return x < 0.0f ? -p : p;
}
//@ sin
static float LT_UNUSED lt_sinf(float x) /* of moderate x: the nearest multiple of pi is taken off, then the series */
{
    const int k = (int)(x * 0.318309886f + (x < 0.0f ? -0.5f : 0.5f));
    const float r = (x - (float)k * 3.140625f) - (float)k * 9.67653590e-4f, s = r * r;
    float p = -2.50521084e-8f;
    p = p * s + 2.75573192e-6f;
    p = p * s - 1.98412698e-4f;
    p = p * s + 8.33333333e-3f;
    p = p * s - 1.66666667e-1f;
    p = r + r * s * p;
    return k % 2 == 0 ? p : -p;
}
static float LT_UNUSED lt_cosf(float x) { return lt_sinf(x + 1.57079633f); }
//@ softmax exp
static void LT_UNUSED lt_softmax(const float *x, float *y, int n)
{
    float top = x[0], total = 0.0f;
    for (int i = 1; i < n; i++) top = lt_maxf(top, x[i]);
    for (int i = 0; i < n; i++) total += (y[i] = lt_expf(x[i] - top));
    for (int i = 0; i < n; i++) y[i] /= total;
}
//@ linear
static void LT_UNUSED lt_linear(const float *w, const float *x, float *y, int n, int m) /* y += w x */
{
    for (int i = 0; i < n; i++) {
        const float *row = w + (size_t)i * (size_t)m;
        float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
        int k = 0;
        for (; k + 4 <= m; k += 4) {
            a += row[k] * x[k];
            b += row[k + 1] * x[k + 1];
            c += row[k + 2] * x[k + 2];
            d += row[k + 3] * x[k + 3];
        }
        for (; k < m; k++) a += row[k] * x[k];
        y[i] += (a + b) + (c + d);
    }
}
//@ linear_q
static void LT_UNUSED lt_linear_q(const int8_t *w, const float *scale, const float *x, float *y, int n, int m)
{
    for (int i = 0; i < n; i++) { /* y += w x, the weights of a row times its scale */
        const int8_t *row = w + (size_t)i * (size_t)m;
        float a = 0.0f, b = 0.0f;
        int k = 0;
        for (; k + 2 <= m; k += 2) {
            a += (float)row[k] * x[k];
            b += (float)row[k + 1] * x[k + 1];
        }
        for (; k < m; k++) a += (float)row[k] * x[k];
        y[i] += scale[i] * (a + b);
    }
}
//@ piece
static int LT_UNUSED lt_piece(float v, const float *low, const float *width, int n, float *f) /* the piece that v lies in */
{
    int k = 0;
    while (k + 1 < n && v >= low[k + 1]) k++;
    *f = lt_minf(lt_maxf((v - low[k]) / width[k], 0.0f), 1.0f);
    return k;
}
//@ interpolate piece
static void LT_UNUSED lt_interpolate(const float *seen, const uint32_t *first, const float *low, const float *width,
                                     const float *rows, float *y, int columns, int units)
{
    for (int q = 0; q < columns; q++) {
        float f;
        const int p = (int)first[q], k = lt_piece(seen[q], low + p, width + p, (int)first[q + 1] - p, &f);
        const float *a = rows + (size_t)(p + q + k) * (size_t)units, *b = a + units;
        for (int u = 0; u < units; u++) y[u] += a[u] + f * (b[u] - a[u]);
    }
}
//@ interpolate_q piece
static void LT_UNUSED lt_interpolate_q(const float *seen, const uint32_t *first, const float *low, const float *width,
                                       const int8_t *rows, const float *scale, float *y, int columns, int units)
{
    for (int q = 0; q < columns; q++) {
        float f;
        const int p = (int)first[q], k = lt_piece(seen[q], low + p, width + p, (int)first[q + 1] - p, &f);
        const int8_t *a = rows + (size_t)(p + q + k) * (size_t)units, *b = a + units;
        const float s = scale[q];
        for (int u = 0; u < units; u++) y[u] += s * ((float)a[u] + f * (float)(b[u] - a[u]));
    }
}
