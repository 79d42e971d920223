// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * tags.c - what the tags of a volume say, and which tags say it.
 * Owns the tag format of version 1. Must not do I/O, and must not guess: tags that contradict each
 * other or cannot be read make a volume damaged, and nothing destructive is done to those.
 */
#include "pure/naming.h"

#include <string.h>

#include "util/cleanup.h"

/* LVM takes these; what it does not take it refuses with "Invalid argument for --addtag". */
#define TAG_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-/=!:&#"

#define MAX_ERRNO 4095 /* the kernel's own bound */

static const struct {
	enum ephlvm_volume_state state;
	const char *word;
} states[] = {
	{ EPHLVM_STATE_NEW, "new" },
	{ EPHLVM_STATE_READY, "ready" },
	{ EPHLVM_STATE_TRASH, "trash" },
};

static const char *state_word(enum ephlvm_volume_state state)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (states[i].state == state)
			return states[i].word;
	return NULL;
}

bool eph_tag_value_valid(const char *value)
{
	size_t n = strspn(value, TAG_CHARS);

	return n > 0 && n <= EPH_TAG_VALUE_MAX && value[n] == '\0';
}

/* Readers of one value each: 0, -EINVAL, -ENOMEM. */

static int read_version(struct eph_tags *t, const char *value)
{
	uint64_t v;

	if (eph_u64_parse(value, &v) < 0 || v == 0)
		return -EINVAL;
	t->newer = v > EPH_TAG_VERSION;
	return 0;
}

static int read_instance(struct eph_tags *t, const char *value)
{
	char normal[EPH_UUID_TEXT];

	if (eph_uuid_normalise(value, normal) < 0 || strcmp(value, normal) != 0)
		return -EINVAL;
	memcpy(t->instance, normal, sizeof(normal));
	return 0;
}

static int read_disk(struct eph_tags *t, const char *value)
{
	if (!eph_disk_valid(value))
		return -EINVAL;
	snprintf(t->disk, sizeof(t->disk), "%s", value);
	return 0;
}

static int read_word(char **field, const char *value)
{
	if (!eph_tag_value_valid(value))
		return -EINVAL;
	*field = strdup(value);
	return *field ? 0 : -ENOMEM;
}

static int read_flavor(struct eph_tags *t, const char *value)
{
	return read_word(&t->flavor, value);
}

static int read_fs(struct eph_tags *t, const char *value)
{
	return read_word(&t->fs, value);
}

static int read_state(struct eph_tags *t, const char *value)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (strcmp(states[i].word, value) == 0) {
			t->state = states[i].state;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_size(struct eph_tags *t, const char *value)
{
	return eph_u64_parse(value, &t->size_bytes) < 0 ? -EINVAL : 0;
}

static int read_time(int64_t *field, const char *value)
{
	uint64_t v;

	if (eph_u64_parse(value, &v) < 0 || v > INT64_MAX)
		return -EINVAL;
	*field = (int64_t)v;
	return 0;
}

static int read_at(struct eph_tags *t, const char *value)
{
	return read_time(&t->at, value);
}

static int read_orphan(struct eph_tags *t, const char *value)
{
	return read_time(&t->orphan_at, value);
}

static int read_hold(struct eph_tags *t, const char *value)
{
	return read_time(&t->hold_at, value);
}

/* The number between *@s and @end (a character, or NUL); *@s then stands behind @end. */
static int read_part(const char **s, char end, uint64_t max, uint64_t *ret_value)
{
	const char *stop = strchrnul(*s, end);
	char digits[24];
	uint64_t v;

	if (*stop != end || (size_t)(stop - *s) >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, *s, (size_t)(stop - *s));
	digits[stop - *s] = '\0';
	if (eph_u64_parse(digits, &v) < 0 || v > max)
		return -EINVAL;
	*s = end ? stop + 1 : stop;
	*ret_value = v;
	return 0;
}

/* METHOD:PASS/PASSES:BYTES */
static int read_erase(struct eph_tags *t, const char *value)
{
	size_t n = strcspn(value, ":");
	uint64_t pass, passes, done;
	const char *s = value + n + 1;

	if (n == 0 || value[n] == '\0')
		return -EINVAL;
	if (read_part(&s, '/', UINT32_MAX, &pass) < 0 ||
	    read_part(&s, ':', UINT32_MAX, &passes) < 0 ||
	    read_part(&s, '\0', UINT64_MAX, &done) < 0)
		return -EINVAL;
	if (pass < 1 || pass > passes)
		return -EINVAL;
	t->erase_method = strndup(value, n);
	if (!t->erase_method)
		return -ENOMEM;
	t->erase_pass = (unsigned int)pass;
	t->erase_passes = (unsigned int)passes;
	t->erase_done_bytes = done;
	return 0;
}

/* ERRNO:BYTES */
static int read_fail(struct eph_tags *t, const char *value)
{
	uint64_t errnum, bytes;
	const char *s = value;

	if (read_part(&s, ':', MAX_ERRNO, &errnum) < 0 || errnum == 0 ||
	    read_part(&s, '\0', UINT64_MAX, &bytes) < 0)
		return -EINVAL;
	t->fail_errno = (int)errnum;
	t->fail_bytes = bytes;
	return 0;
}

static const struct tag_key {
	const char *name;
	int (*read)(struct eph_tags *t, const char *value);
	const char *twice, *bad;
} keys[] = {
	{ "v", read_version, "two versions", "unreadable version" },
	{ "instance", read_instance, "two instances", "unreadable instance" },
	{ "disk", read_disk, "two disks", "unreadable disk" },
	{ "flavor", read_flavor, "two flavors", "unreadable flavor" },
	{ "state", read_state, "two states", "unknown state" },
	{ "size", read_size, "two sizes", "unreadable size" },
	{ "fs", read_fs, "two file systems", "unreadable file system" },
	{ "at", read_at, "two times of change", "unreadable time of change" },
	{ "erase", read_erase, "two erase checkpoints", "unreadable erase checkpoint" },
	{ "fail", read_fail, "two erase failures", "unreadable erase failure" },
	{ "orphan", read_orphan, "two orphan times", "unreadable orphan time" },
	{ "hold", read_hold, "two times of hold", "unreadable time of hold" },
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* The part of @tag behind "@key=", NULL for another tag. @key comes without "ephlvm.". */
static const char *value_of(const char *tag, const char *key)
{
	size_t n = strlen(key);

	if (!eph_startswith(tag, EPH_TAG "."))
		return NULL;
	tag += strlen(EPH_TAG ".");
	return strncmp(tag, key, n) == 0 && tag[n] == '=' ? tag + n + 1 : NULL;
}

static void set_damaged(struct eph_tags *t, const char *why)
{
	t->damaged = true;
	if (!t->why)
		t->why = why;
}

static int read_key(const struct eph_strv *tags, const struct tag_key *key, struct eph_tags *t)
{
	const char *seen = NULL;
	int r;

	for (size_t i = 0; i < tags->n; i++) {
		const char *value = value_of(tags->v[i], key->name);

		if (!value || eph_streq(value, seen))
			continue;
		if (seen) {
			/* The first one stays for showing only: damaged says that neither is believed. */
			set_damaged(t, key->twice);
			return 0;
		}
		seen = value;
		r = key->read(t, value);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			set_damaged(t, key->bad);
	}
	return 0;
}

static bool has_key(const struct eph_strv *tags, const char *key)
{
	for (size_t i = 0; i < tags->n; i++)
		if (value_of(tags->v[i], key))
			return true;
	return false;
}

/* What every volume of ours has from its first commit on, whatever became of it since. */
static void check_complete(const struct eph_strv *tags, struct eph_tags *t)
{
	if (!has_key(tags, "v"))
		set_damaged(t, "no version");
	if (!t->disk[0])
		set_damaged(t, "no disk");
	/* An image belongs to no instance. */
	if (!t->instance[0] && strcmp(t->disk, "image") != 0)
		set_damaged(t, "no instance");
}

int eph_tags_parse(const struct eph_strv *tags, struct eph_tags *ret_tags)
{
	struct eph_tags t = { .ours = eph_strv_has(tags, EPH_TAG) };
	int r;

	for (size_t i = 0; i < N_KEYS; i++) {
		r = read_key(tags, &keys[i], &t);
		if (r < 0) {
			eph_tags_clear(&t);
			return r;
		}
	}
	check_complete(tags, &t);
	/*
	 * What a newer version writes we cannot call wrong, except for two versions at once. It is
	 * never changed by us, which is as safe. And what is not ours cannot be damaged.
	 */
	if (!t.ours || (t.newer && t.why != keys[0].twice)) {
		t.damaged = false;
		t.why = NULL;
	}
	*ret_tags = t;
	return 0;
}

void eph_tags_clear(struct eph_tags *tags)
{
	free(tags->flavor);
	free(tags->fs);
	free(tags->erase_method);
	memset(tags, 0, sizeof(*tags));
}

/* A name of our form that tells of another instance or disk than the tags do. */
static bool name_contradicts(const char *lv_name, const struct eph_tags *tags)
{
	char instance[EPH_UUID_TEXT], disk[16];

	return eph_lv_name_parse(lv_name, instance, disk) &&
	       (strcmp(instance, tags->instance) != 0 || strcmp(disk, tags->disk) != 0);
}

enum ephlvm_volume_state eph_volume_state(const char *lv_name, const struct eph_tags *tags)
{
	if (!tags->ours || tags->damaged || name_contradicts(lv_name, tags))
		return EPHLVM_STATE_DAMAGED;
	if (eph_trash_name_match(lv_name))
		return EPHLVM_STATE_TRASH;
	return tags->state ? tags->state : EPHLVM_STATE_DAMAGED;
}

static bool values_valid(const struct eph_tag_values *v)
{
	struct eph_tags scratch;

	if (!v->disk || !eph_disk_valid(v->disk) || !state_word(v->state) || v->at < 0)
		return false;
	if (v->instance ? read_instance(&scratch, v->instance) < 0 : strcmp(v->disk, "image") != 0)
		return false;
	return (!v->flavor || eph_tag_value_valid(v->flavor)) &&
	       (!v->fs || eph_tag_value_valid(v->fs));
}

static int add_values(const struct eph_tag_values *v, struct eph_strv *tags)
{
	int r;

	r = eph_strv_add(tags, EPH_TAG);
	if (r == 0)
		r = eph_strv_addf(tags, EPH_TAG ".v=%d", EPH_TAG_VERSION);
	if (r == 0 && v->instance)
		r = eph_strv_addf(tags, EPH_TAG ".instance=%s", v->instance);
	if (r == 0)
		r = eph_strv_addf(tags, EPH_TAG ".disk=%s", v->disk);
	if (r == 0 && v->flavor)
		r = eph_strv_addf(tags, EPH_TAG ".flavor=%s", v->flavor);
	if (r == 0)
		r = eph_strv_addf(tags, EPH_TAG ".state=%s", state_word(v->state));
	if (r == 0)
		r = eph_strv_addf(tags, EPH_TAG ".size=%llu", (unsigned long long)v->size_bytes);
	if (r == 0 && v->fs)
		r = eph_strv_addf(tags, EPH_TAG ".fs=%s", v->fs);
	if (r == 0)
		r = eph_strv_addf(tags, EPH_TAG ".at=%lld", (long long)v->at);
	return r;
}

static void truncate_strv(struct eph_strv *sv, size_t n)
{
	while (sv->n > n)
		free(sv->v[--sv->n]);
	if (sv->v)
		sv->v[n] = NULL;
}

int eph_tags_build(const struct eph_tag_values *values, struct eph_strv *tags)
{
	size_t before = tags->n;
	int r;

	if (!values_valid(values))
		return -EINVAL;
	r = add_values(values, tags);
	if (r < 0)
		truncate_strv(tags, before);
	return r;
}

/* Whether @tag is @key or "@key=...", @key as a whole ("ephlvm.state"). */
static bool tag_has_key(const char *tag, const char *key)
{
	size_t n = strlen(key);

	return strncmp(tag, key, n) == 0 && tag[n] == '=';
}

int eph_tags_change(const struct eph_strv *present, const char *key, const char *value,
		    struct eph_strv *del, struct eph_strv *add)
{
	_cleanup_free_ char *wanted = NULL;
	size_t del_before = del->n, add_before = add->n;
	int r = 0;

	if (!eph_tag_value_valid(key) || (value && !eph_tag_value_valid(value)))
		return -EINVAL;
	if (value && asprintf(&wanted, "%s=%s", key, value) < 0) {
		wanted = NULL;
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < present->n; i++)
		if (tag_has_key(present->v[i], key) && !eph_streq(present->v[i], wanted))
			r = eph_strv_add(del, present->v[i]);
	/* One that is there already is neither taken out nor added: LVM's order would matter. */
	if (r == 0 && wanted && !eph_strv_has(present, wanted))
		r = eph_strv_add(add, wanted);
	if (r < 0) {
		truncate_strv(del, del_before);
		truncate_strv(add, add_before);
	}
	return r;
}
