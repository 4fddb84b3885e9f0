/* Streams and events. A stream is as lazy as can be: it does what stands before an event, or all it has, when somebody
 * waits for that; a query makes it do one thing. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

tcuStreamCreate cuStreamCreate;
tcuStreamQuery cuStreamQuery;
tcuStreamSynchronize cuStreamSynchronize;
tcuStreamDestroy_v2 cuStreamDestroy_v2;
tcuEventCreate cuEventCreate;
tcuEventDestroy_v2 cuEventDestroy_v2;
tcuEventSynchronize cuEventSynchronize;
tcuEventQuery cuEventQuery;
tcuEventRecord cuEventRecord;

struct task {
    struct task *next;
    fake_work *work;
    int64_t number;
    max_align_t data[]; /* a copy of the caller's */
};

struct CUstream_st {
    struct CUstream_st *next;
    CUcontext context;
    struct task *first, **last;
    int64_t added, done; /* numbers of tasks, from 1 */
};

struct CUevent_st {
    struct CUevent_st *next;
    CUcontext context;
    CUstream stream; /* NULL: it was recorded in none, or that one is no more and did it all */
    int64_t number;  /* of the last task before it */
};

static CUstream streams;
static CUevent events;

/* --- work --------------------------------------------------------------------------------------------------------- */

static void step(CUstream stream)
{
    struct task *task = stream->first;
    stream->first = task->next;
    if (!stream->first)
        stream->last = &stream->first;
    CUresult result = task->work(task->data);
    if (result)
        fake_lose(result);
    stream->done = task->number;
    free(task);
}

static void work_until(CUstream stream, int64_t number)
{
    while (stream->first && stream->first->number <= number)
        step(stream);
}

void fake_stream_drain(CUstream stream)
{
    work_until(stream, stream->added);
}

void fake_streams_drain(CUcontext context)
{
    for (CUstream s = streams; s; s = s->next) {
        if (s->context == context)
            fake_stream_drain(s);
    }
}

CUresult fake_stream_add(CUstream stream, fake_work *work, const void *data, size_t bytes)
{
    struct task *task = malloc(sizeof *task + bytes);
    if (!task)
        abort();
    *task = (struct task){.work = work, .number = ++stream->added};
    memcpy(task->data, data, bytes);
    *stream->last = task;
    stream->last = &task->next;
    return CUDA_SUCCESS;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

static CUstream stream_make(CUcontext context)
{
    CUstream stream = calloc(1, sizeof *stream);
    if (!stream)
        abort();
    *stream = (struct CUstream_st){.next = streams, .context = context, .last = &stream->first};
    streams = stream;
    return stream;
}

CUresult fake_stream(CUcontext context, CUstream handle, CUstream *stream)
{
    if (!handle) {
        if (!context->own)
            context->own = stream_make(context);
        *stream = context->own;
        return CUDA_SUCCESS;
    }
    CUstream s = streams;
    while (s && s != handle)
        s = s->next;
    if (!s)
        return fake_wrong(CUDA_ERROR_INVALID_HANDLE, "a stream that is none");
    if (s->context != context)
        return fake_wrong(CUDA_ERROR_INVALID_HANDLE, "a stream of another context");
    *stream = s;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuStreamCreate", &context);
    if (!result && flags > CU_STREAM_NON_BLOCKING)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "flags %u of a stream", flags);
    if (!result) {
        *stream = stream_make(context);
        fake_count(FAKE_STREAMS, 1);
    }
    return fake_end(result);
}

CUresult cuStreamQuery(CUstream handle)
{
    CUcontext context;
    CUstream stream;
    CUresult result = fake_begin_in("cuStreamQuery", &context);
    if (!result)
        result = fake_stream(context, handle, &stream);
    if (!result && stream->first) {
        step(stream);
        result = CUDA_ERROR_NOT_READY;
    }
    return fake_end(result);
}

CUresult cuStreamSynchronize(CUstream handle)
{
    CUcontext context;
    CUstream stream;
    CUresult result = fake_begin_in("cuStreamSynchronize", &context);
    if (!result)
        result = fake_stream(context, handle, &stream);
    if (!result)
        fake_stream_drain(stream);
    return fake_end(result);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
    CUcontext context;
    CUstream stream, *link = &streams;
    CUresult result = fake_begin_in("cuStreamDestroy", &context);
    if (!result && !handle)
        result = fake_wrong(CUDA_ERROR_INVALID_HANDLE, "a stream that is none");
    if (!result)
        result = fake_stream(context, handle, &stream);
    if (result)
        return fake_end(result);
    fake_stream_drain(stream);
    for (CUevent e = events; e; e = e->next)
        e->stream = e->stream == stream ? NULL : e->stream;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    free(stream);
    fake_count(FAKE_STREAMS, -1);
    return fake_end(CUDA_SUCCESS);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* The link to it, so that it can be taken out. */
static CUresult event_find(CUcontext context, CUevent handle, CUevent **link)
{
    *link = &events;
    while (**link && **link != handle)
        *link = &(**link)->next;
    if (!**link)
        return fake_wrong(CUDA_ERROR_INVALID_HANDLE, "an event that is none");
    if ((**link)->context != context)
        return fake_wrong(CUDA_ERROR_INVALID_HANDLE, "an event of another context");
    return CUDA_SUCCESS;
}

static CUresult begin_event(const char *function, CUevent handle, CUcontext *context, CUevent **link)
{
    CUresult result = fake_begin_in(function, context);
    return result ? result : event_find(*context, handle, link);
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuEventCreate", &context);
    if (!result && flags > 7)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "flags %u of an event", flags);
    if (result)
        return fake_end(result);
    CUevent e = calloc(1, sizeof *e);
    if (!e)
        abort();
    e->context = context;
    e->next = events;
    *event = events = e;
    fake_count(FAKE_EVENTS, 1);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent handle)
{
    CUcontext context;
    CUevent *link;
    CUresult result = begin_event("cuEventDestroy", handle, &context, &link);
    if (!result) {
        *link = handle->next;
        free(handle);
        fake_count(FAKE_EVENTS, -1);
    }
    return fake_end(result);
}

CUresult cuEventRecord(CUevent handle, CUstream of)
{
    CUcontext context;
    CUevent *link;
    CUresult result = begin_event("cuEventRecord", handle, &context, &link);
    if (!result)
        result = fake_stream(context, of, &handle->stream);
    if (!result)
        handle->number = handle->stream->added;
    return fake_end(result);
}

CUresult cuEventSynchronize(CUevent handle)
{
    CUcontext context;
    CUevent *link;
    CUresult result = begin_event("cuEventSynchronize", handle, &context, &link);
    if (!result && handle->stream)
        work_until(handle->stream, handle->number);
    return fake_end(result);
}

CUresult cuEventQuery(CUevent handle)
{
    CUcontext context;
    CUevent *link;
    CUresult result = begin_event("cuEventQuery", handle, &context, &link);
    if (!result && handle->stream && handle->stream->done < handle->number) {
        step(handle->stream);
        result = CUDA_ERROR_NOT_READY;
    }
    return fake_end(result);
}
