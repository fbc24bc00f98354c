/* What the test programs share. */
#include <rvma_sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program unless the condition holds. */
#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "line %d: %s\nlast error: %s\n", __LINE__, #condition, RVMA_Error()); \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

/* The call failed with this status, and the sentence has these words. */
#define FAILS(call, expected, words)                                \
    do {                                                            \
        CHECK((call) == (expected));                                \
        CHECK(strstr(RVMA_Error(), (words)) != NULL);               \
    } while (0)
