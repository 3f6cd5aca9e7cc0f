// SPDX-License-Identifier: Apache-2.0
// macros.h - the words of the Ascend C language that a host compiler does not know, and the questions which
// core executes. AIC and AIV run the same binary here: the questions are answered at run time.
#pragma once
#include "engine/core.h"

#define __global__
#define __aicore__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __inout_pipe__(...)
#define __in_pipe__(...)
#define __out_pipe__(...)
// On which cores a kernel runs, and how it is scheduled: the launch decides here.
#define __cube__
#define __vector__
#define __mix__(...)
#define __schedmode__(...)

#define GM_ADDR uint8_t*

// Parenthesised, so that both spellings work: `if ASCEND_IS_AIC {` and `if (ASCEND_IS_AIC) {`.
#define ASCEND_IS_AIC (::sals::sim::Core::current().kind() == ::sals::sim::CoreKind::AIC)
#define ASCEND_IS_AIV (::sals::sim::Core::current().kind() == ::sals::sim::CoreKind::AIV)
#define ASCEND_IS_NOT_AIC (!ASCEND_IS_AIC)
#define ASCEND_IS_NOT_AIV (!ASCEND_IS_AIV)
