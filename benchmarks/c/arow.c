/* Diagonal AROW by hand: predict, count the mistake, update mean and variances. Labels +1 or -1. */
#include <stdint.h>

int64_t sparse(const double *restrict data, const int32_t *restrict index, const int32_t *restrict start,
               const double *restrict y, int64_t n, double r, double *restrict mu, double *restrict s) {
    int64_t mistakes = 0;
    for (int64_t i = 0; i < n; i++) {
        double f = 0.0, v = 0.0;
        for (int32_t k = start[i]; k < start[i + 1]; k++) {
            uint32_t j = (uint32_t)index[k];
            f += mu[j] * data[k];
            v += s[j] * data[k] * data[k];
        }
        mistakes += (f >= 0.0) != (y[i] > 0.0);
        double loss = 1.0 - y[i] * f;
        if (loss <= 0.0 || v <= 0.0) continue;
        double a = loss / (v + r) * y[i];
        for (int32_t k = start[i]; k < start[i + 1]; k++) {
            uint32_t j = (uint32_t)index[k];
            double x = data[k];
            mu[j] += a * s[j] * x;
            s[j] /= 1.0 + s[j] * x * x / r;
        }
    }
    return mistakes;
}
