/* Ends the handler with a fault unless the condition holds. */
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#endif
#ifndef __cplusplus
#undef static_assert
#define static_assert _Static_assert
#endif
