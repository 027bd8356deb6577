/* Another thread that cancels a call some time after it began. */
#ifndef CANCEL_LATER_H
#define CANCEL_LATER_H

#include <pthread.h>
#include <time.h>

#include "check.h"

static cloze_cancel *flag;
static long wait_microseconds;

static void *cancel_later(void *unused) {
    struct timespec wait = {wait_microseconds / 1000000, wait_microseconds % 1000000 * 1000};
    nanosleep(&wait, NULL);
    CHECK(cloze_cancel_cancel(flag, NULL) == CLOZE_OK);
    return unused;
}

#endif
