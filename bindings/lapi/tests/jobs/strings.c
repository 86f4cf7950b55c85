/* Every code of appendix C, and every code of the system, has a text that fits its buffer; nothing else has. */
//= LAPI Guide, LAPI_Msg_string, LAPI_ERR_RET_PTR_NULL and LAPI_ERR_CODE_UNKNOWN
//= type=test
#define _GNU_SOURCE
#include "../programs/check.h"
#include <limits.h>
#include <locale.h>

int main(void)
{
    char text[LAPI_MAX_ERR_STRING + 1];
    int known = 0;
    for (int code = 400; code <= 511; code++) {
        memset(text, '#', sizeof text);
        int answer = LAPI_Msg_string(code, text);
        CHECK(text[LAPI_MAX_ERR_STRING] == '#' && memchr(text, 0, LAPI_MAX_ERR_STRING) && strlen(text) > 10);
        if (answer == LAPI_SUCCESS)
            printf("%d\n", code);
        else
            CHECK(answer == LAPI_ERR_CODE_UNKNOWN);
        known += answer == LAPI_SUCCESS;
    }
    OK(LAPI_Msg_string(LAPI_SUCCESS, text));
    OK(LAPI_Msg_string(2, text));
    CHECK(strstr(text, "No such file"));
    setlocale(LC_ALL, "");
    for (int code = 1; code < 400; code++) {
        int theirs = strerrordesc_np(code) != NULL;
        GIVES(theirs ? LAPI_SUCCESS : LAPI_ERR_CODE_UNKNOWN, LAPI_Msg_string(code, text));
    }
    GIVES(LAPI_ERR_CODE_UNKNOWN, LAPI_Msg_string(-1, text));
    GIVES(LAPI_ERR_CODE_UNKNOWN, LAPI_Msg_string(INT_MIN, text));
    GIVES(LAPI_ERR_CODE_UNKNOWN, LAPI_Msg_string(INT_MAX, text));
    CHECK(strstr(text, "is not a code of LAPI"));
    return known == 0;
}
