// Which instruction sets this processor has.
#include <stdint.h>

enum { PORTABLE = 1, AVX2 = 2, AVXVNNI = 4, AVX512 = 8 };

// The levels that can run here, as bits. The argument is there for the sake of a common signature.
int64_t mr_levels(int64_t nothing);

#if defined(__x86_64__)
#include <cpuid.h>

static int has_avxvnni(void) {
    unsigned int a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4);
}

int64_t mr_levels(int64_t nothing) {
    (void) nothing;
    int32_t levels = PORTABLE;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return levels;
    }
    levels |= AVX2;
    if (has_avxvnni()) {
        levels |= AVXVNNI;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni")) {
        levels |= AVX512;
    }
    return levels;
}
#else
int64_t mr_levels(int64_t nothing) {
    (void) nothing;
    return PORTABLE;
}
#endif
