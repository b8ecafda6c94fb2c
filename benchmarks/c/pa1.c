/* PA-I by hand: predict, count the mistake, update. Data of either float type, weights double, labels +1 or -1. */
#include <stdint.h>

static inline double step_size(double C, double loss, double norm2) {
    double tau = loss / norm2;
    return tau < C ? tau : C;
}

#define DENSE(NAME, T)                                                                                    \
    int64_t NAME(const T *restrict X, const double *restrict y, int64_t n, int64_t d, double C,           \
                 double *restrict w) {                                                                    \
        int64_t mistakes = 0;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                 \
            const T *restrict x = X + i * d;                                                              \
            double f = 0.0, norm2 = 0.0;                                                                  \
            for (int64_t j = 0; j < d; j++) f += w[j] * (double)x[j];                                     \
            mistakes += (f >= 0.0) != (y[i] > 0.0);                                                       \
            double loss = 1.0 - y[i] * f;                                                                 \
            if (loss <= 0.0) continue;                                                                    \
            for (int64_t j = 0; j < d; j++) norm2 += (double)x[j] * (double)x[j];                         \
            if (norm2 == 0.0) continue;                                                                   \
            double move = y[i] * step_size(C, loss, norm2);                                               \
            for (int64_t j = 0; j < d; j++) w[j] += move * (double)x[j];                                  \
        }                                                                                                 \
        return mistakes;                                                                                  \
    }

#define SPARSE(NAME, T)                                                                                   \
    int64_t NAME(const T *restrict data, const int32_t *restrict index, const int32_t *restrict start,    \
                 const double *restrict y, int64_t n, double C, double *restrict w) {                     \
        int64_t mistakes = 0;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                 \
            double f = 0.0, norm2 = 0.0;                                                                  \
            for (int32_t k = start[i]; k < start[i + 1]; k++) f += w[(uint32_t)index[k]] * (double)data[k]; \
            mistakes += (f >= 0.0) != (y[i] > 0.0);                                                       \
            double loss = 1.0 - y[i] * f;                                                                 \
            if (loss <= 0.0) continue;                                                                    \
            for (int32_t k = start[i]; k < start[i + 1]; k++) norm2 += (double)data[k] * (double)data[k]; \
            if (norm2 == 0.0) continue;                                                                   \
            double move = y[i] * step_size(C, loss, norm2);                                               \
            for (int32_t k = start[i]; k < start[i + 1]; k++) w[(uint32_t)index[k]] += move * (double)data[k]; \
        }                                                                                                 \
        return mistakes;                                                                                  \
    }

DENSE(dense_float32, float)
DENSE(dense_float64, double)
SPARSE(sparse_float32, float)
SPARSE(sparse_float64, double)
