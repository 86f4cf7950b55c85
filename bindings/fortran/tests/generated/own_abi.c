/* Written by `cargo xtask codegen` from bindings/lapi/api. Edit that. */
#include <lapis.h>
#include <stddef.h>
#include <stdio.h>

#define SHOW(label, value) printf("%s %lld\n", label, (long long)(value))

int main(void)
{
    SHOW("kind lapis_team_t", sizeof(lapis_team_t));
    SHOW("kind lapis_request_t", sizeof(lapis_request_t));
    SHOW("kind lapis_type_t", sizeof(lapis_type_t));
    SHOW("kind lapis_op_t", sizeof(lapis_op_t));
    SHOW("constant LAPIS_ERR_TEAM", LAPIS_ERR_TEAM);
    SHOW("constant LAPIS_ERR_GROUP", LAPIS_ERR_GROUP);
    SHOW("constant LAPIS_ERR_TEAM_OVER", LAPIS_ERR_TEAM_OVER);
    SHOW("constant LAPIS_ERR_MISMATCH", LAPIS_ERR_MISMATCH);
    SHOW("constant LAPIS_ERR_ROOT", LAPIS_ERR_ROOT);
    SHOW("constant LAPIS_ERR_COUNT", LAPIS_ERR_COUNT);
    SHOW("constant LAPIS_ERR_TYPE", LAPIS_ERR_TYPE);
    SHOW("constant LAPIS_ERR_OP", LAPIS_ERR_OP);
    SHOW("constant LAPIS_ERR_BUFFER", LAPIS_ERR_BUFFER);
    SHOW("constant LAPIS_ERR_REQUEST", LAPIS_ERR_REQUEST);
    SHOW("constant LAPIS_ERR_BUSY", LAPIS_ERR_BUSY);
    SHOW("constant LAPIS_WORLD", LAPIS_WORLD);
    SHOW("constant LAPIS_NO_TEAM", (int)LAPIS_NO_TEAM);
    SHOW("constant LAPIS_NO_REQUEST", LAPIS_NO_REQUEST);
    SHOW("constant LAPIS_I8", LAPIS_I8);
    SHOW("constant LAPIS_I16", LAPIS_I16);
    SHOW("constant LAPIS_I32", LAPIS_I32);
    SHOW("constant LAPIS_I64", LAPIS_I64);
    SHOW("constant LAPIS_U8", LAPIS_U8);
    SHOW("constant LAPIS_U16", LAPIS_U16);
    SHOW("constant LAPIS_U32", LAPIS_U32);
    SHOW("constant LAPIS_U64", LAPIS_U64);
    SHOW("constant LAPIS_F32", LAPIS_F32);
    SHOW("constant LAPIS_F64", LAPIS_F64);
    SHOW("constant LAPIS_C32", LAPIS_C32);
    SHOW("constant LAPIS_C64", LAPIS_C64);
    SHOW("constant LAPIS_BOOL", LAPIS_BOOL);
    SHOW("constant LAPIS_I32_AT", LAPIS_I32_AT);
    SHOW("constant LAPIS_I64_AT", LAPIS_I64_AT);
    SHOW("constant LAPIS_F32_AT", LAPIS_F32_AT);
    SHOW("constant LAPIS_F64_AT", LAPIS_F64_AT);
    SHOW("constant LAPIS_BYTES_FLAG", LAPIS_BYTES_FLAG);
    SHOW("constant LAPIS_SUM", LAPIS_SUM);
    SHOW("constant LAPIS_PRODUCT", LAPIS_PRODUCT);
    SHOW("constant LAPIS_MIN", LAPIS_MIN);
    SHOW("constant LAPIS_MAX", LAPIS_MAX);
    SHOW("constant LAPIS_MIN_AT", LAPIS_MIN_AT);
    SHOW("constant LAPIS_MAX_AT", LAPIS_MAX_AT);
    SHOW("constant LAPIS_AND", LAPIS_AND);
    SHOW("constant LAPIS_OR", LAPIS_OR);
    SHOW("constant LAPIS_XOR", LAPIS_XOR);
    SHOW("constant LAPIS_BIT_AND", LAPIS_BIT_AND);
    SHOW("constant LAPIS_BIT_OR", LAPIS_BIT_OR);
    SHOW("constant LAPIS_BIT_XOR", LAPIS_BIT_XOR);
    SHOW("sizeof lapis_edge_t", sizeof(lapis_edge_t));
    SHOW("offsetof lapis_edge_t.rank", offsetof(lapis_edge_t, rank));
    SHOW("offsetof lapis_edge_t.reserved", offsetof(lapis_edge_t, reserved));
    SHOW("offsetof lapis_edge_t.start", offsetof(lapis_edge_t, start));
    SHOW("offsetof lapis_edge_t.count", offsetof(lapis_edge_t, count));
    return 0;
}
