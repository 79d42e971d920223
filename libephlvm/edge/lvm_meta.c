// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_meta.c - the committed metadata of a VG, straight from the metadata areas of its PVs.
 * Owns the on-disk form of such an area. Must not write to a device, and must not take anything for
 * committed that is not whole, checked and the same everywhere. LVM is not asked: that costs 0.3 s
 * and its lock.
 */
#include "edge/lvm_meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "edge/lvm_pv.h"
#include "util/cleanup.h"

/*
 * An area begins with a header of one sector: a checksum over the rest of it (4 bytes), a magic of
 * 16, the version (4), the header's own place on the device (8), the size of the area (8), then
 * locations of 24 bytes: offset in the area (8), size (8), checksum (4), flags (4). The first is
 * what is committed; the second what is about to be. Behind the header lies a ring: a text that
 * reaches the end of the area goes on behind the header.
 */
#define HEADER 512
#define MAGIC " LVM2 x[5A%r0N*>"
#define LOCATION 40
#define FLAG_IGNORED 1

/* O_DIRECT wants whole blocks of the largest drive. */
#define BLOCK ((uint64_t)4096)
/* A VG of ours has an area of 64 MiB, and the text at most half of that. */
#define TEXT_MAX ((uint64_t)128 << 20)
#define TRIES 5
#define PAUSE_MS 10

struct location {
	uint64_t offset, bytes;
	uint32_t crc;
	bool ignored;
};

bool eph_lvm_meta_same(const struct eph_lvm_meta *a, const struct eph_lvm_meta *b)
{
	return a->seqno == b->seqno && strcmp(a->sha256, b->sha256) == 0;
}

/* --- the text --- */

enum token {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_STRING,
	TOKEN_BAD,
	/* else the character itself: = { } [ ] , */
};

struct scan {
	const char *p, *end;
	const char *token; /* of a word or a string, without its quotes */
	size_t bytes;
};

static void skip_blanks(struct scan *s)
{
	while (s->p < s->end) {
		if (*s->p == '#') {
			while (s->p < s->end && *s->p != '\n')
				s->p++;
		} else if (strchr(" \t\n", *s->p) && *s->p) {
			s->p++;
		} else {
			return;
		}
	}
}

static int scan_string(struct scan *s)
{
	s->token = ++s->p;
	while (s->p < s->end && *s->p != '"') {
		if (*s->p == '\\')
			s->p++;
		s->p++;
	}
	if (s->p >= s->end)
		return TOKEN_BAD;
	s->bytes = (size_t)(s->p++ - s->token);
	return TOKEN_STRING;
}

static bool is_word_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '+' || c == '-';
}

static int scan_next(struct scan *s)
{
	skip_blanks(s);
	if (s->p >= s->end)
		return TOKEN_END;
	if (*s->p == '"')
		return scan_string(s);
	if (*s->p && strchr("={}[],", *s->p))
		return (unsigned char)*s->p++;
	s->token = s->p;
	while (s->p < s->end && is_word_letter(*s->p))
		s->p++;
	s->bytes = (size_t)(s->p - s->token);
	return s->bytes > 0 ? TOKEN_WORD : TOKEN_BAD;
}

static bool token_is(const struct scan *s, const char *text)
{
	return s->bytes == strlen(text) && memcmp(s->token, text, s->bytes) == 0;
}

static int token_number(const struct scan *s, uint64_t *ret_value)
{
	char digits[24];

	if (s->bytes >= sizeof(digits))
		return -EBADMSG;
	memcpy(digits, s->token, s->bytes);
	digits[s->bytes] = '\0';
	return eph_u64_parse(digits, ret_value) < 0 ? -EBADMSG : 0;
}

/* What is found on the way; each once. */
struct found {
	const char *vg_uuid;
	uint64_t seqno;
	unsigned int sections, ids, seqnos, depth;
};

/* The value of @key, behind the "=". */
static int scan_value(struct scan *s, const struct scan *key, struct found *found)
{
	int token = scan_next(s);

	if (found->depth == 1 && token_is(key, "id")) {
		found->ids++;
		return token == TOKEN_STRING && token_is(s, found->vg_uuid) ? 0 : -EBADMSG;
	}
	if (found->depth == 1 && token_is(key, "seqno")) {
		found->seqnos++;
		return token == TOKEN_WORD ? token_number(s, &found->seqno) : -EBADMSG;
	}
	if (token != '[')
		return token == TOKEN_STRING || token == TOKEN_WORD ? 0 : -EBADMSG;
	do
		token = scan_next(s);
	while (token == TOKEN_STRING || token == TOKEN_WORD || token == ',');
	return token == ']' ? 0 : -EBADMSG;
}

/* A word, and what it names: a section or a value. */
static int scan_entry(struct scan *s, struct found *found)
{
	struct scan key = *s;

	switch (scan_next(s)) {
	case '=':
		return scan_value(s, &key, found);
	case '{':
		found->sections += found->depth++ == 0;
		return 0;
	default:
		return -EBADMSG;
	}
}

int eph_lvm_meta_parse(const char *text, size_t bytes, const char *vg_uuid, uint64_t *ret_seqno)
{
	struct scan s = { .p = text, .end = text + bytes };
	struct found found = { .vg_uuid = vg_uuid };
	int token, r = 0;

	while (r == 0 && (token = scan_next(&s)) != TOKEN_END) {
		if (token == TOKEN_WORD)
			r = scan_entry(&s, &found);
		else if (token == '}' && found.depth > 0)
			found.depth--;
		else
			r = -EBADMSG;
	}
	if (r < 0 || found.depth != 0 || found.sections != 1 || found.ids != 1 || found.seqnos != 1)
		return -EBADMSG;
	*ret_seqno = found.seqno;
	return 0;
}

/* --- the area --- */

/* @bytes at @offset into @dst, through whole blocks. 0, -errno, -ENODATA where the device ends before. */
static int read_range(int fd, uint64_t offset, char *dst, uint64_t bytes)
{
	uint64_t first = offset / BLOCK * BLOCK, want = offset - first + bytes, have = 0;
	uint64_t whole = (want + BLOCK - 1) / BLOCK * BLOCK;
	_cleanup_free_ char *area = aligned_alloc(BLOCK, whole);

	if (!area)
		return -ENOMEM;
	while (have < want) {
		ssize_t n = pread(fd, area + have, whole - have, (off_t)(first + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		have += (uint64_t)n;
	}
	memcpy(dst, area + (offset - first), bytes);
	return 0;
}

static int read_header(int fd, const struct eph_lvm_area *area, struct location *ret_location)
{
	unsigned char header[HEADER];
	int r;

	if (area->bytes <= HEADER || area->offset > INT64_MAX / 2 || area->bytes > INT64_MAX / 2)
		return -EBADMSG;
	r = read_range(fd, area->offset, (char *)header, sizeof(header));
	if (r < 0)
		return r;
	/* A header half written is one to read again. */
	if (eph_lvm_crc(EPH_LVM_CRC_INIT, header + 4, HEADER - 4) != eph_lvm_number(header, 4))
		return -EAGAIN;
	if (memcmp(header + 4, MAGIC, 16) != 0 || eph_lvm_number(header + 20, 4) != 1 ||
	    eph_lvm_number(header + 24, 8) != area->offset ||
	    eph_lvm_number(header + 32, 8) != area->bytes)
		return -EBADMSG;
	*ret_location = (struct location){
		.offset = eph_lvm_number(header + LOCATION, 8),
		.bytes = eph_lvm_number(header + LOCATION + 8, 8),
		.crc = (uint32_t)eph_lvm_number(header + LOCATION + 16, 4),
		.ignored = eph_lvm_number(header + LOCATION + 20, 4) & FLAG_IGNORED,
	};
	return 0;
}

/* The text at @location, put together where it goes around the end of the area. */
static int read_text(int fd, const struct eph_lvm_area *area, const struct location *location,
		     char **ret_text)
{
	_cleanup_free_ char *text = NULL;
	uint64_t first = location->bytes;
	int r;

	if (location->offset < HEADER || location->offset >= area->bytes || first == 0 ||
	    first > TEXT_MAX || first > area->bytes - HEADER)
		return -EBADMSG;
	if (first > area->bytes - location->offset)
		first = area->bytes - location->offset;
	text = malloc(location->bytes);
	if (!text)
		return -ENOMEM;
	r = read_range(fd, area->offset + location->offset, text, first);
	if (r == 0 && first < location->bytes)
		r = read_range(fd, area->offset + HEADER, text + first, location->bytes - first);
	if (r < 0)
		return r;
	/* The place may have been written anew since the header was read. */
	if (eph_lvm_crc(EPH_LVM_CRC_INIT, text, location->bytes) != location->crc)
		return -EAGAIN;
	if (text[location->bytes - 1] != '\0')
		return -EBADMSG;
	*ret_text = eph_steal(text);
	return 0;
}

static int read_area(int fd, const struct eph_lvm_area *area, const char *vg_uuid, bool *ret_used,
		     struct eph_lvm_meta *ret_meta)
{
	_cleanup_free_ char *text = NULL;
	struct location location;
	int r;

	r = read_header(fd, area, &location);
	if (r < 0)
		return r;
	*ret_used = !location.ignored;
	if (location.ignored)
		return 0;
	r = read_text(fd, area, &location, &text);
	if (r == 0)
		r = eph_lvm_meta_parse(text, location.bytes - 1, vg_uuid, &ret_meta->seqno);
	return r < 0 ? r : eph_sha256(text, location.bytes, ret_meta->sha256);
}

/* --- the VG --- */

/* One PV; what it says must agree with what those before it said. */
static int read_pv(int fd, const struct eph_vg *vg, const struct eph_pv *pv, size_t *n_used,
		   struct eph_lvm_meta *meta)
{
	struct eph_lvm_area areas[EPH_LVM_AREAS];
	char uuid[EPH_LVM_UUID_TEXT];
	size_t n = 0;
	int r;

	r = eph_lvm_areas_read(fd, uuid, areas, &n);
	if (r < 0)
		return r;
	if (!eph_streq(uuid, pv->uuid))
		return -ENODATA;
	for (size_t i = 0; i < n; i++) {
		struct eph_lvm_meta here;
		bool used;

		r = read_area(fd, &areas[i], vg->uuid, &used, &here);
		if (r < 0)
			return r;
		if (!used)
			continue;
		/* LVM writes one after the other. */
		if (*n_used > 0 && !eph_lvm_meta_same(meta, &here))
			return -EAGAIN;
		*meta = here;
		(*n_used)++;
	}
	return 0;
}

static int fail_read(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *device, int r)
{
	const char *why = r == -EAGAIN	? "it is torn, or differs from that of another drive" :
			  r == -ENODATA ? "there is none" :
			  r == -EBADMSG ? "it has another form than expected" :
					  strerror(-r);

	if (r == -ENOMEM)
		return eph_fail_oom(ctx);
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, device ? device : vg->name,
			"see \"vgck\" and \"pvck\"",
			"cannot read the metadata of volume group \"%s\" on \"%s\": %s", vg->name,
			device ? device : "any drive", why);
}

/* Once through all PVs. -EAGAIN without a record: it is just being written. */
static int read_once(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		     const struct eph_vg *vg, struct eph_lvm_meta *meta, const char **ret_device)
{
	size_t n_used = 0;
	int r;

	*ret_device = NULL;
	for (size_t i = 0; i < vg->n_pvs; i++) {
		const struct eph_pv *pv = &vg->pvs[i];
		_cleanup_close_ int fd = -1;

		if (pv->missing || !pv->device || pv->duplicate)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, vg->name, NULL,
					"a drive of volume group \"%s\" is missing, or there twice",
					vg->name);
		*ret_device = pv->device;
		r = backend->open_pv(ctx, backend, pv, &fd);
		if (r < 0)
			return r;
		r = read_pv(fd, vg, pv, &n_used, meta);
		if (r < 0)
			return r == -EAGAIN ? r : fail_read(ctx, vg, pv->device, r);
	}
	return n_used > 0 ? 0 : fail_read(ctx, vg, NULL, -ENODATA);
}

int eph_lvm_meta_read(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      struct eph_lvm_meta *ret_meta)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	struct eph_lvm_backend *backend;
	struct eph_lvm_meta meta;
	const char *device;
	int r;

	r = eph_lvm_backend_get(ctx, &backend);
	if (r < 0)
		return r;
	for (unsigned int tries = 1;; tries++) {
		r = read_once(ctx, backend, vg, &meta, &device);
		if (r != -EAGAIN)
			break;
		if (tries == TRIES)
			return fail_read(ctx, vg, device, r);
		nanosleep(&pause, NULL);
	}
	if (r == 0)
		*ret_meta = meta;
	return r;
}
