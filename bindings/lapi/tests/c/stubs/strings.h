/* A stand-in for compiling lapi.h without the system's headers. */
void bzero(void *, unsigned int);
