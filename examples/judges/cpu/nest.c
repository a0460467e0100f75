/* A convolution by the loops in LOOPS. `nest FILE` writes its outputs into a file, `nest FILE REPEATS` also says how
   many nanoseconds each repeat took. Sizes are given by -D; all numbers are small and whole, so floats are exact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST(a, b) ((a) < (b) ? (a) : (b))

static float input[C][IY][IX], weight[K][C][R][S], output[K][Y][X];

static void fill(float *numbers, long count, unsigned seed) {
  for (long i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = (float)((int)(seed >> 29) - 4);
  }
}

static void nest(void) {
#include LOOPS
}

static long nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(int argc, char **argv) {
  int repeats = argc > 2 ? atoi(argv[2]) : 0;
  fill(&input[0][0][0], sizeof input / sizeof(float), 1);
  fill(&weight[0][0][0][0], sizeof weight / sizeof(float), 2);
  nest();
  FILE *file = fopen(argv[1], "wb");
  if (!file || fwrite(output, sizeof output, 1, file) != 1 || fclose(file)) return 1;
  for (int i = 0; i < repeats; i++) {
    memset(output, 0, sizeof output);
    long begin = nanoseconds();
    nest();
    printf("%ld\n", nanoseconds() - begin);
  }
  return 0;
}
