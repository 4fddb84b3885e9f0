/* Makes one request, and checks the answer.
 *
 * libcurl calls the functions below while it works. A function that refuses what comes ends the transfer. */
#include "remote/exchange.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "remote/url.h"

#define HEADERS_MAX ((size_t)256 << 10) /* bytes of the headers of an answer */
#define TEXT_MAX ((size_t)64 << 10)     /* bytes that are kept of a body that is no data */
#define SPEED_MIN 1024L                 /* bytes a second; less for stall_seconds is a stalled connection */
#define BUFFER_BYTES (256L << 10)
#define PROMPT_MAX ((size_t)1 << 20) /* bytes of a body that is sent at once: the server is not asked first */
#define WAIT_MAX 3600

/* An exchange in progress. */
struct exchange {
    const struct bl_http_request *request;
    const struct bl_cancel *cancel;
    struct bl_answer *answer;
    struct bl_error *e;
    size_t header_bytes;
    size_t given;     /* bytes of the request's body */
    bool is_data;     /* the body goes to the sink */
    bool is_far;      /* an address was refused */
    bool is_reached;  /* a socket was opened */
    int code;         /* of the sink */
    int64_t data_max; /* bytes that the body may have; -1: limit */
};

/* Records why the exchange cannot go on, unless that is known. Returns 0, which ends the transfer. */
static size_t exchange_stop(struct exchange *x, enum bl_http_outcome outcome, const char *format, ...) BL_PRINTF(3, 4);

static size_t exchange_stop(struct exchange *x, enum bl_http_outcome outcome, const char *format, ...)
{
    if (x->answer->outcome != BL_ANSWERED)
        return 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(x->answer->reason, sizeof x->answer->reason, format, arguments);
    va_end(arguments);
    x->answer->outcome = outcome;
    return 0;
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

/* The argument of the function that opens sockets; libcurl calls it struct curl_sockaddr. */
struct curl_address {
    int family, type, protocol;
    unsigned size;
    struct sockaddr address; /* has more bytes */
};

/* Whether an address of IPv4, most significant byte first, is no public one. RFC 6890 lists them. */
static bool ipv4_is_private(const uint8_t at[4])
{
    return at[0] == 0 || at[0] == 10 || at[0] == 127 || at[0] >= 224 || (at[0] == 100 && (at[1] & 0xc0) == 64) ||
           (at[0] == 169 && at[1] == 254) || (at[0] == 172 && (at[1] & 0xf0) == 16) || (at[0] == 192 && at[1] == 168) ||
           (at[0] == 192 && at[1] == 0 && at[2] == 0) || (at[0] == 198 && (at[1] & 0xfe) == 18);
}

/* Whether an address fits the reach of a request, which is limited. at: 4 bytes of IPv4, or 16. */
static bool bytes_are_allowed(const uint8_t at[16], bool is_short, enum bl_reach reach)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
                         translated[12] = {0, 0x64, 0xff, 0x9b};
    /* Addresses of IPv4 within IPv6. */
    if (!is_short && (memcmp(at, mapped, 12) == 0 || memcmp(at, translated, 12) == 0)) {
        at += 12;
        is_short = true;
    }
    bool is_zero = !is_short; /* :: and ::1, and addresses of IPv4 in an old form */
    for (int i = 0; i < 12 && is_zero; i++)
        is_zero = at[i] == 0;
    bool is_loopback = is_short ? at[0] == 127 : is_zero && !at[12] && !at[13] && !at[14] && at[15] == 1;
    if (is_loopback || reach == BL_REACH_LOOPBACK)
        return is_loopback && reach != BL_REACH_PUBLIC;
    if (is_short)
        return !ipv4_is_private(at);
    /* Only 2000::/3 is public; 2002::/16 holds addresses of IPv4. */
    return !is_zero && (at[0] & 0xe0) == 0x20 && !(at[0] == 0x20 && at[1] == 2 && ipv4_is_private(at + 2));
}

/* Whether the address that libcurl will connect to fits. */
static bool address_is_allowed(const struct curl_address *target, enum bl_reach reach)
{
    uint8_t at[16] = {0};
    bool is_short = target->family == AF_INET;
    if (is_short && target->size >= sizeof(struct sockaddr_in))
        memcpy(at, &((const struct sockaddr_in *)(const void *)&target->address)->sin_addr, 4);
    else if (target->family == AF_INET6 && target->size >= sizeof(struct sockaddr_in6))
        memcpy(at, &((const struct sockaddr_in6 *)(const void *)&target->address)->sin6_addr, 16);
    else
        return false;
    return bytes_are_allowed(at, is_short, reach);
}

/* Whether a proxy that the environment names makes the connection. Its own address is often a private one, and it
 * resolves names itself. */
static bool request_has_proxy(const struct bl_http_request *r)
{
    static const char *const names[] = {"all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY", "http_proxy"};
    struct bl_site site;
    if (r->is_direct || bl_site_parse(&site, r->url))
        return false;
    /* The last one is for http:// alone, and the two before it for https://. */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = i < 2 || site.is_plain == (i == 4) ? getenv(names[i]) : NULL;
        if (value && *value)
            return true;
    }
    return false;
}

/* Whether the host of the URL, where it is an address or this machine's name, fits: all that can be compared where a
 * proxy makes the connection. */
static bool host_is_allowed(const char *url, enum bl_reach reach)
{
    struct bl_site site;
    char host[64];
    uint8_t at[16] = {0};
    struct in_addr number;
    if (bl_site_parse(&site, url) || bl_site_is_loopback(&site))
        return reach == BL_REACH_NEAR;
    if (site.host_size >= sizeof host)
        return true;
    memcpy(host, site.host, site.host_size);
    host[site.host_size] = '\0';
    if (inet_pton(AF_INET6, host, at) == 1)
        return bytes_are_allowed(at, false, reach);
    /* Also the forms of old, such as 2130706433. */
    if (inet_aton(host, &number) == 0)
        return true;
    memcpy(at, &number, 4);
    return bytes_are_allowed(at, true, reach);
}

/* Opens a socket for libcurl, or refuses the address. */
static int exchange_open_socket(void *context, int purpose, struct curl_address *target)
{
    struct exchange *x = context;
    (void)purpose;
    if (x->request->reach != BL_REACH_ANY && !address_is_allowed(target, x->request->reach)) {
        x->is_far = true;
        return BL_CURL_SOCKET_BAD;
    }
    x->is_reached = true;
    return socket(target->family, target->type | SOCK_CLOEXEC, target->protocol);
}

/* --- headers ------------------------------------------------------------------------------------------------------ */

/* Copies a value of printable ASCII; any other one, and one that is too long, is left out. */
static void value_copy(char *to, size_t size, const char *value, size_t value_size)
{
    for (size_t i = 0; i < value_size; i++) {
        if (value[i] < ' ' || value[i] > '~')
            return;
    }
    if (value_size < size) {
        memcpy(to, value, value_size);
        to[value_size] = '\0';
    }
}

/* Parses "bytes FIRST-LAST/TOTAL", where TOTAL may be "*", or "bytes * /TOTAL". */
static void answer_read_range(struct bl_answer *answer, const char *value, size_t size)
{
    const char *unit = "bytes ", *slash = memchr(value, '/', size), *dash = memchr(value, '-', size);
    int64_t first, last, total = -1;
    if (size < strlen(unit) || strncasecmp(value, unit, strlen(unit)) != 0 || !slash)
        return;
    const char *end = value + size;
    value += strlen(unit);
    if (!(end - slash == 2 && slash[1] == '*') &&
        !bl_text_to_int(slash + 1, (size_t)(end - slash) - 1, 0, INT64_MAX, &total))
        return;
    if (slash - value == 1 && *value == '*') {
        answer->total = total;
        return;
    }
    if (!dash || dash > slash || !bl_text_to_int(value, (size_t)(dash - value), 0, INT64_MAX - 1, &first) ||
        !bl_text_to_int(dash + 1, (size_t)(slash - dash) - 1, first, INT64_MAX - 1, &last) ||
        (total >= 0 && last >= total))
        return;
    answer->is_ranged = true;
    answer->first = first;
    answer->last = last;
    answer->total = total;
}

/* Keeps the URL of the next page: <URL>; rel="next". */
static void answer_read_link(struct bl_answer *answer, const char *value, size_t size)
{
    const char *close = memchr(value, '>', size);
    if (*value == '<' && close && memmem(close, size - (size_t)(close - value), "rel=\"next\"", 10)) {
        free(answer->next);
        answer->next = strndup(value + 1, (size_t)(close - value) - 1);
    }
}

/* Returns the seconds since 1970 of "Tue, 14 Nov 2023 22:13:20 GMT", or 0. */
static int64_t time_of_header(const char *value, size_t size)
{
    struct tm utc = {0};
    char text[64] = "";
    value_copy(text, sizeof text, value, size);
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S", &utc);
    return end && strcmp(end, " GMT") == 0 ? (int64_t)timegm(&utc) : 0;
}

/* Keeps what a header says. */
static void answer_read_header(struct bl_answer *answer, const char *name, size_t name_size, const char *value,
                               size_t size)
{
    const struct {
        const char *name;
        char *text;
        size_t size;
    } texts[] = {{"etag", answer->tag, sizeof answer->tag},
                 {"x-linked-etag", answer->linked_tag, sizeof answer->linked_tag},
                 {"x-amz-bucket-region", answer->region, sizeof answer->region}};
    const struct {
        const char *name;
        int64_t *number, max;
    } numbers[] = {{"content-length", &answer->length, INT64_MAX},
                   {"x-linked-size", &answer->linked_size, INT64_MAX},
                   {"retry-after", &answer->wait_seconds, WAIT_MAX}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strlen(texts[i].name) == name_size && strncasecmp(texts[i].name, name, name_size) == 0)
            value_copy(texts[i].text, texts[i].size, value, size);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strlen(numbers[i].name) == name_size && strncasecmp(numbers[i].name, name, name_size) == 0)
            (void)bl_text_to_int(value, size, 0, numbers[i].max, numbers[i].number);
    }
    bool is_modified = name_size == 13 && strncasecmp(name, "last-modified", 13) == 0;
    if (is_modified)
        answer->modified = time_of_header(value, size);
    if (is_modified && !*answer->tag)
        value_copy(answer->tag, sizeof answer->tag, value, size);
    else if (name_size == 13 && strncasecmp(name, "content-range", 13) == 0)
        answer_read_range(answer, value, size);
    else if (name_size == 4 && strncasecmp(name, "date", 4) == 0)
        answer->date = time_of_header(value, size);
    else if (name_size == 4 && strncasecmp(name, "link", 4) == 0 && size)
        answer_read_link(answer, value, size);
}

/* Empties what headers say, at the beginning of an answer. */
static void answer_begin(struct bl_answer *answer, int status)
{
    free(answer->next);
    answer->next = NULL;
    answer->status = status;
    answer->length = answer->total = answer->linked_size = answer->wait_seconds = -1;
    answer->date = answer->modified = 0;
    answer->is_ranged = false;
    *answer->tag = *answer->region = *answer->linked_tag = '\0';
}

/* Compares the headers of an answer with what was requested, before its body. Returns whether to go on. */
static bool exchange_check_answer(struct exchange *x)
{
    const struct bl_http_request *r = x->request;
    struct bl_answer *a = x->answer;
    bl_tag_trim(a->tag);
    bl_tag_trim(a->linked_tag);
    /* "rclone serve s3" answers 200 with a range. */
    if (a->status == 200 && r->end && a->is_ranged)
        a->status = 206;
    if (a->status == 200)
        a->total = a->length;
    if (a->status != 200 && a->status != 206)
        return true;
    if (r->tag && *a->tag && strcmp(r->tag, a->tag) != 0)
        return exchange_stop(x, BL_CHANGED, "its tag was %s, and is %s", r->tag, a->tag);
    /* With the same ETag it is the same object, and the answer is wrong. */
    if (r->size >= 0 && a->total >= 0 && a->total != r->size)
        return exchange_stop(x, r->tag && *a->tag ? BL_BROKEN : BL_CHANGED, "it had %lld bytes, and has %lld",
                             (long long)r->size, (long long)a->total);
    x->is_data = true;
    x->data_max = r->size;
    if (!r->end)
        return a->status == 200 || exchange_stop(x, BL_BROKEN, "a part was sent, and the whole was requested");
    x->data_max = r->end - r->begin;
    bool is_whole = !r->begin && r->end == r->size;
    if (a->status == 200 && !is_whole)
        return exchange_stop(x, BL_REFUSED, "the server sends whole objects when a part is requested");
    if (a->status == 206 && (!a->is_ranged || a->first != r->begin || a->last != r->end - 1))
        return exchange_stop(x, BL_BROKEN, "another part was sent than was requested");
    if (a->length >= 0 && a->length != x->data_max)
        return exchange_stop(x, BL_BROKEN, "the answer states a false length");
    return true;
}

/* Gets each line of the headers, also those of answers before the last one. */
static size_t exchange_take_header(const char *line, size_t one, size_t size, void *context)
{
    struct exchange *x = context;
    size_t all = one * size, left = all;
    x->header_bytes += all;
    if (x->header_bytes > HEADERS_MAX)
        return exchange_stop(x, BL_BROKEN, "the headers do not end");
    if (all > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
        const char *space = memchr(line, ' ', all);
        int64_t status = 0;
        if (!space || line + all - space < 4 || !bl_text_to_int(space + 1, 3, 100, 599, &status))
            return exchange_stop(x, BL_BROKEN, "the answer is not HTTP");
        answer_begin(x->answer, (int)status);
        return all;
    }
    while (left && strchr("\r\n", line[left - 1]))
        left--;
    if (!left)
        return x->answer->status < 200 || exchange_check_answer(x) ? all : 0;
    const char *colon = memchr(line, ':', left);
    if (colon) {
        const char *value = colon + 1;
        size_t value_size = left - (size_t)(value - line);
        bl_text_trim(&value, &value_size, " \t");
        answer_read_header(x->answer, line, (size_t)(colon - line), value, value_size);
    }
    return all;
}

/* --- body --------------------------------------------------------------------------------------------------------- */

/* Gets the bytes of the body. */
static size_t exchange_take_body(const char *data, size_t one, size_t size, void *context)
{
    struct exchange *x = context;
    struct bl_answer *a = x->answer;
    size_t all = one * size;
    a->fetched += (int64_t)all;
    if (!x->is_data) {
        size_t room = TEXT_MAX - a->text.size;
        bl_buffer_append(&a->text, data, all < room ? all : room);
        return all <= room ? all : 0;
    }
    int64_t max = x->data_max >= 0 ? x->data_max : x->request->limit;
    if ((int64_t)all > max - a->received)
        return exchange_stop(x, BL_BROKEN, "more bytes came than were requested");
    x->code = x->request->sink ? x->request->sink(x->request->context, data, all, x->e) : BL_OK;
    if (x->code)
        return 0;
    a->received += (int64_t)all;
    return all;
}

/* Gives the next bytes of the request's body. */
static size_t exchange_give_body(char *to, size_t one, size_t size, void *context)
{
    struct exchange *x = context;
    const struct bl_http_body *body = x->request->body;
    size_t left = body->size - x->given, all = one * size < left ? one * size : left;
    memcpy(to, (const char *)body->data + x->given, all);
    x->given += all;
    x->answer->sent += (int64_t)all;
    return all;
}

/* Moves to another place of the request's body: libcurl repeats a request that a kept connection did not answer. */
static int exchange_seek_body(void *context, int64_t offset, int origin)
{
    struct exchange *x = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > x->request->body->size)
        return 1;
    x->given = (size_t)offset;
    x->answer->is_resent = true;
    return 0;
}

/* Is called often, and once a second when nothing comes. */
static int exchange_check_cancel(void *context, int64_t total, int64_t now, int64_t up_total, int64_t up_now)
{
    const struct exchange *x = context;
    (void)total, (void)now, (void)up_total, (void)up_now;
    const atomic_bool *is_ending = x->request->is_ending;
    return (is_ending && atomic_load(is_ending)) || (x->cancel && bl_cancelled(x->cancel));
}

/* --- request ------------------------------------------------------------------------------------------------------ */

/* Sets the method of a request, and what its body needs. */
static int exchange_set_method(const struct bl_curl *curl, void *handle, struct exchange *x)
{
    const struct bl_http_request *r = x->request;
    bool is_get = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
    int result = BL_CURLE_OK;
    if (r->body) {
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_UPLOAD, 1L);
        if (!result)
            result = curl->curl_easy_setopt(handle, BL_CURLOPT_INFILESIZE_LARGE, (int64_t)r->body->size);
        if (!result)
            result = curl->curl_easy_setopt(handle, BL_CURLOPT_READFUNCTION, exchange_give_body);
        if (!result)
            result = curl->curl_easy_setopt(handle, BL_CURLOPT_READDATA, x);
        if (!result)
            result = curl->curl_easy_setopt(handle, BL_CURLOPT_SEEKFUNCTION, exchange_seek_body);
        if (!result)
            result = curl->curl_easy_setopt(handle, BL_CURLOPT_SEEKDATA, x);
    }
    return result || is_get ? result : curl->curl_easy_setopt(handle, BL_CURLOPT_CUSTOMREQUEST, r->method);
}

/* Sets the options of a request. */
static int exchange_set_options(const struct bl_curl *curl, void *handle, struct exchange *x, struct bl_curl_list *list,
                                char *reason)
{
    const struct bl_http_request *r = x->request;
    const struct {
        int option;
        long value;
    } numbers[] = {{BL_CURLOPT_NOSIGNAL, 1},
                   {BL_CURLOPT_NOPROGRESS, 0},
                   {BL_CURLOPT_PATH_AS_IS, 1},
                   {BL_CURLOPT_TCP_KEEPALIVE, 1},
                   {BL_CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
                   {BL_CURLOPT_HTTP_VERSION, BL_CURL_HTTP_1_1},
                   {BL_CURLOPT_PROTOCOLS, BL_CURL_HTTP_OR_HTTPS},
                   {BL_CURLOPT_CONNECTTIMEOUT_MS, r->connect_seconds * 1000L},
                   {BL_CURLOPT_LOW_SPEED_LIMIT, SPEED_MIN},
                   {BL_CURLOPT_LOW_SPEED_TIME, r->stall_seconds},
                   {BL_CURLOPT_NOBODY, strcmp(r->method, "HEAD") == 0}};
    const struct {
        int option;
        const void *value;
    } pointers[] = {{BL_CURLOPT_URL, r->url},      {BL_CURLOPT_ERRORBUFFER, reason}, {BL_CURLOPT_USERAGENT, "bload"},
                    {BL_CURLOPT_HTTPHEADER, list}, {BL_CURLOPT_HEADERDATA, x},       {BL_CURLOPT_WRITEDATA, x},
                    {BL_CURLOPT_XFERINFODATA, x},  {BL_CURLOPT_OPENSOCKETDATA, x}};
    int result = BL_CURLE_OK;
    curl->curl_easy_reset(handle);
    /* Version 7.88 refuses it after a name was not resolved, and then has the size of before. */
    (void)curl->curl_easy_setopt(handle, BL_CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !result; i++)
        result = curl->curl_easy_setopt(handle, numbers[i].option, numbers[i].value);
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers && !result; i++)
        result = curl->curl_easy_setopt(handle, pointers[i].option, pointers[i].value);
    if (!result)
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_HEADERFUNCTION, exchange_take_header);
    if (!result)
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_WRITEFUNCTION, exchange_take_body);
    if (!result)
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_XFERINFOFUNCTION, exchange_check_cancel);
    bool is_proxied = r->reach != BL_REACH_ANY && request_has_proxy(r);
    if (!result && r->reach != BL_REACH_ANY && !is_proxied)
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_OPENSOCKETFUNCTION, exchange_open_socket);
    /* A server must not choose, by a name in no_proxy, that this machine connects. */
    if (!result && is_proxied)
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_NOPROXY, "");
    if (!result)
        result = exchange_set_method(curl, handle, x);
    if (!result && r->is_direct)
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_NOPROXY, "*");
    if (!result && r->certificates)
        result = curl->curl_easy_setopt(handle, BL_CURLOPT_CAINFO, r->certificates);
    return result;
}

/* Makes libcurl's list of the headers. NULL: memory ran out. */
static struct bl_curl_list *request_make_list(const struct bl_curl *curl, const struct bl_http_request *r)
{
    struct bl_buffer range = {0};
    struct bl_curl_list *list = curl->curl_slist_append(NULL, "Accept-Encoding: identity"), *more = list;
    if (more && r->end) {
        bl_buffer_printf(&range, "Range: bytes=%lld-%lld", (long long)r->begin, (long long)r->end - 1);
        more = range.failed ? NULL : curl->curl_slist_append(list, range.data);
    }
    if (more && r->body && r->body->size <= PROMPT_MAX)
        more = curl->curl_slist_append(list, "Expect:");
    for (size_t at = 0; more && r->headers && at < r->headers->size; at += strlen(r->headers->data + at) + 1)
        more = curl->curl_slist_append(list, r->headers->data + at);
    bl_buffer_free(&range);
    if (!more)
        curl->curl_slist_free_all(list);
    return more ? list : NULL;
}

/* Sets the outcome by what libcurl says, unless a function above has set it. */
static void exchange_judge(const struct bl_curl *curl, struct exchange *x, int result, const char *reason)
{
    const char *why = *reason ? reason : curl->curl_easy_strerror(result);
    bool is_whole = x->data_max < 0 || x->answer->received == x->data_max;
    if (result == BL_CURLE_OK && x->is_data && !is_whole && strcmp(x->request->method, "HEAD") != 0)
        (void)exchange_stop(x, BL_BROKEN, "the answer ended early");
    if (result == BL_CURLE_OK || (result == BL_CURLE_WRITE_ERROR && x->answer->text.size >= TEXT_MAX))
        return;
    if (x->is_far && !x->is_reached && x->request->reach != BL_REACH_LOOPBACK)
        (void)exchange_stop(x, BL_REFUSED, "a redirect leads to an address that is not public");
    switch (result) {
    case BL_CURLE_ABORTED_BY_CALLBACK:
        (void)exchange_stop(x, BL_STOPPED, "stopped");
        return;
    case BL_CURLE_COULDNT_RESOLVE_HOST:
    case BL_CURLE_COULDNT_RESOLVE_PROXY:
    case BL_CURLE_COULDNT_CONNECT:
        (void)exchange_stop(x, BL_UNREACHED, "%s", why);
        return;
    case BL_CURLE_OPERATION_TIMEDOUT:
        (void)exchange_stop(x, x->answer->status ? BL_BROKEN : BL_UNREACHED, "the connection stalled");
        return;
    case BL_CURLE_UNSUPPORTED_PROTOCOL: /* no HTTP */
    case BL_CURLE_PARTIAL_FILE:
    case BL_CURLE_GOT_NOTHING:
    case BL_CURLE_SEND_ERROR:
    case BL_CURLE_RECV_ERROR:
    case BL_CURLE_SSL_CONNECT_ERROR:
    case BL_CURLE_WEIRD_SERVER_REPLY:
        (void)exchange_stop(x, BL_BROKEN, "%s", why);
        return;
    case BL_CURLE_PEER_FAILED_VERIFICATION:
        (void)exchange_stop(x, BL_FAILED,
                            "the server's certificate is not trusted (%s); SSL_CERT_FILE names the file "
                            "with the certificate of your own authority",
                            why);
        return;
    default:
        (void)exchange_stop(x, BL_FAILED, "%s", why);
    }
}

int bl_exchange(const struct bl_curl *curl, void *handle, const struct bl_http_request *request,
                const struct bl_cancel *cancel, struct bl_answer *answer, struct bl_error *e)
{
    struct exchange x = {.request = request, .cancel = cancel, .answer = answer, .e = e, .data_max = -1};
    char reason[BL_CURL_ERROR_SIZE] = "";
    char *location = NULL;
    *answer = (struct bl_answer){0};
    answer_begin(answer, 0);
    struct bl_curl_list *list = request_make_list(curl, request);
    if (!list)
        return bl_error_memory(e);
    int result = exchange_set_options(curl, handle, &x, list, reason);
    x.is_far =
        request->reach != BL_REACH_ANY && request_has_proxy(request) && !host_is_allowed(request->url, request->reach);
    if (result == BL_CURLE_OK)
        result = x.is_far ? BL_CURLE_COULDNT_CONNECT : curl->curl_easy_perform(handle);
    int code = x.code;
    if (!code)
        exchange_judge(curl, &x, result, reason);
    if (!code && answer->status >= 300 && answer->status < 400 &&
        curl->curl_easy_getinfo(handle, BL_CURLINFO_REDIRECT_URL, &location) == BL_CURLE_OK && location) {
        answer->location = strdup(location);
        code = answer->location ? BL_OK : bl_error_memory(e);
    }
    if (!code)
        code = bl_buffer_check(&answer->text, e);
    curl->curl_slist_free_all(list);
    return code;
}

int bl_exchange_append(void *context, const void *data, size_t size, struct bl_error *e)
{
    bl_buffer_append(context, data, size);
    return bl_buffer_check(context, e);
}

void bl_answer_free(struct bl_answer *answer)
{
    free(answer->location);
    free(answer->next);
    bl_buffer_free(&answer->text);
    *answer = (struct bl_answer){0};
}
