// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * config.c - the configuration as values: built-in ones, those of a JSON document, and back.
 * Owns the memory of the values, and is the only place that knows json-c for this document; the keys
 * are in config_keys.c. Must not read files, and must not be lenient: what it does not understand
 * completely it refuses, naming file, key and what is allowed.
 */
#include "pure/config.h"

#include <json-c/json.h>
#include <stddef.h>
#include <string.h>

#include "pure/config_keys.h"
#include "pure/json_keys.h"
#include "pure/naming.h"
#include "util/cleanup.h"
#include "util/text.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#define DOCUMENT_DEPTH 8 /* ours has 4 */
#define MAX_FLAVORS 256 /* far more than anybody sells; bounds the linear look-ups */
#define MAX_FLAVOR_NAME 64 /* part of a tag */
#define SHOWN 80 /* letters of an untrusted key or value in a message */

static void json_putp(json_object **object)
{
	json_object_put(*object);
}

static void tokener_freep(json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

static void config_freep(struct eph_config **config)
{
	eph_config_free(*config);
}

#define _cleanup_json_ __attribute__((cleanup(json_putp)))
#define _cleanup_tokener_ __attribute__((cleanup(tokener_freep)))
#define _cleanup_config_ __attribute__((cleanup(config_freep)))

/* --- built-in values --- */

static const struct {
	const char *name;
	unsigned int vcpus;
	unsigned int ram_gib, root_gib, ephemeral_gib;
} builtin_flavors[] = {
	{ "cc.micro", 2, 2, 25, 25 },	 { "cc.small", 4, 2, 25, 25 },
	{ "cc.medium", 4, 4, 50, 50 },	 { "cc.large", 8, 4, 50, 80 },
	{ "cc.xlarge", 8, 8, 100, 120 }, { "cc.2xlarge", 16, 16, 100, 200 },
};

static void free_texts(const struct eph_key *keys, void *base)
{
	for (; keys->name; keys++) {
		if (keys->type == EPH_KEY_OBJECT)
			free_texts(keys->keys, base);
		else if (eph_key_is_text(keys))
			free(*(char **)eph_key_field(keys, base));
	}
}

static void flavor_clear(struct ephlvm_flavor *flavor)
{
	free(flavor->name);
	free_texts(eph_flavor_keys, flavor);
	memset(flavor, 0, sizeof(*flavor));
}

void eph_config_free(struct eph_config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->n_flavors; i++)
		flavor_clear(&config->flavors[i]);
	free(config->flavors);
	free_texts(eph_config_keys, config);
	free(config);
}

/* A new flavor at the end of the list, with its name only. NULL when out of memory. */
static struct ephlvm_flavor *flavor_append(struct eph_config *config, const char *name)
{
	struct ephlvm_flavor *grown, *flavor;

	grown = reallocarray(config->flavors, config->n_flavors + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	config->flavors = grown;
	flavor = &grown[config->n_flavors];
	memset(flavor, 0, sizeof(*flavor));
	flavor->name = strdup(name);
	if (!flavor->name)
		return NULL;
	config->n_flavors++;
	return flavor;
}

static int add_builtin_flavors(struct eph_config *config)
{
	for (size_t i = 0; i < ARRAY_SIZE(builtin_flavors); i++) {
		struct ephlvm_flavor *flavor = flavor_append(config, builtin_flavors[i].name);

		if (!flavor)
			return -ENOMEM;
		flavor->vcpus = builtin_flavors[i].vcpus;
		flavor->ram_bytes = builtin_flavors[i].ram_gib * GIB;
		flavor->root_bytes = builtin_flavors[i].root_gib * GIB;
		flavor->ephemeral_bytes = builtin_flavors[i].ephemeral_gib * GIB;
		flavor->builtin = true;
	}
	return 0;
}

int eph_config_default(struct ephlvm_ctx *ctx, struct eph_config **ret_config)
{
	_cleanup_config_ struct eph_config *config = calloc(1, sizeof(*config));

	if (!config)
		return eph_fail_oom(ctx);
	config->fs = strdup("ext4");
	config->kind = strdup("thick");
	config->layout = strdup("linear");
	config->erase_method = strdup("zero");
	config->erase_verify = strdup("sample");
	config->erase_passes = 3;
	config->libvirt_uri = strdup("qemu:///system");
	config->lock_timeout_ms = 60 * 1000;
	config->command_timeout_ms = 300 * 1000;
	config->read_timeout_ms = 30 * 1000;
	config->detach_timeout_ms = 60 * 1000;
	if (!config->fs || !config->kind || !config->layout || !config->erase_method ||
	    !config->erase_verify || !config->libvirt_uri || add_builtin_flavors(config) < 0)
		return eph_fail_oom(ctx);
	*ret_config = eph_steal(config);
	return 0;
}

/* --- reading values --- */

struct reader {
	struct ephlvm_ctx *ctx;
	const char *file;
};

/* "PARENT.NAME", or NAME at the top. NULL when out of memory. */
static char *key_path(const char *parent, const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s%.*s", parent, *parent ? "." : "", SHOWN, name) < 0)
		return NULL;
	return path;
}

static int refuse(const struct reader *rd, const char *path, const char *allowed, const char *hint,
		  const char *what)
{
	return eph_fail(rd->ctx, EPHLVM_ERROR_INVALID, EINVAL, rd->file, hint,
			"configuration \"%s\": \"%s\" %s%s%s", rd->file, path, what,
			allowed ? ", " : "", allowed ? allowed : "");
}

/* Refuse a value that @key does not take; @hint may be NULL. */
static int refuse_value(const struct reader *rd, const char *path, const struct eph_key *key,
			json_object *value, const char *hint)
{
	_cleanup_free_ char *allowed = eph_key_allowed(key), *what = NULL;
	const char *shown = json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE);
	int r;

	if (!allowed || !shown)
		return eph_fail_oom(rd->ctx);
	if (json_object_is_type(value, json_type_object) ||
	    json_object_is_type(value, json_type_array))
		r = asprintf(&what, "cannot be an %s",
			     json_type_to_name(json_object_get_type(value)));
	else
		r = asprintf(&what, "cannot be %.*s%s", SHOWN, shown,
			     strlen(shown) > SHOWN ? "..." : "");
	if (r < 0) {
		what = NULL;
		return eph_fail_oom(rd->ctx);
	}
	return refuse(rd, path, allowed, hint, what);
}

/* The text of a JSON string; NULL for another type, and for one with a NUL in it. */
static const char *text_of(json_object *value)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

static int read_text(const struct reader *rd, const char *path, const struct eph_key *key,
		     json_object *value, char **field)
{
	const char *text = text_of(value);
	char *copy;

	if (!text || !eph_key_takes_text(key, text))
		return refuse_value(rd, path, key, value, NULL);
	copy = strdup(text);
	if (!copy)
		return eph_fail_oom(rd->ctx);
	free(*field);
	*field = copy;
	return 0;
}

/* A whole number that is not negative; json-c says UINT64_MAX for all that are larger. */
static bool whole_number(json_object *value, uint64_t *ret_number)
{
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return false;
	*ret_number = json_object_get_uint64(value);
	return true;
}

/* EPH_KEY_SIZE and EPH_KEY_BYTES: bytes as a number, or as text with a unit. */
static int read_bytes(const struct reader *rd, const char *path, const struct eph_key *key,
		      json_object *value, uint64_t *field)
{
	const char *text = text_of(value);
	uint64_t bytes = 0;
	int r;

	if (text)
		r = eph_size_parse(text, &bytes);
	else
		r = whole_number(value, &bytes) ? 0 : -EINVAL;
	if (r == -ENOMEM)
		return eph_fail_oom(rd->ctx);
	if (r == -EPROTO)
		return refuse_value(rd, path, key, value,
				    "write K, M, G, T or KiB, MiB ...: powers of 1024 only");
	if (r < 0 || bytes > key->max)
		return refuse_value(rd, path, key, value, NULL);
	if (bytes != 0 && bytes < key->min)
		return refuse_value(rd, path, key, value, "a bare number is bytes: add the unit");
	*field = bytes;
	return 0;
}

static int read_whole(const struct reader *rd, const char *path, const struct eph_key *key,
		      json_object *value, uint64_t *ret_number)
{
	uint64_t number;

	if (!whole_number(value, &number) || number < key->min || number > key->max)
		return refuse_value(rd, path, key, value, NULL);
	*ret_number = number;
	return 0;
}

static int read_number(const struct reader *rd, const char *path, const struct eph_key *key,
		       json_object *value, unsigned int *field)
{
	uint64_t number;
	int r;

	r = read_whole(rd, path, key, value, &number);
	if (r < 0)
		return r;
	*field = (unsigned int)number * (key->type == EPH_KEY_SECONDS ? 1000 : 1);
	return 0;
}

static int read_object(const struct reader *rd, const char *path, const struct eph_key *keys,
		       json_object *object, void *base);
static int read_flavors(const struct reader *rd, const char *path, json_object *object,
			struct eph_config *config);

static int read_value(const struct reader *rd, const char *path, const struct eph_key *key,
		      json_object *value, void *base)
{
	void *field = eph_key_field(key, base);

	switch (key->type) {
	case EPH_KEY_SIZE:
	case EPH_KEY_BYTES:
		return read_bytes(rd, path, key, value, field);
	case EPH_KEY_COUNT:
		return read_whole(rd, path, key, value, field);
	case EPH_KEY_NUMBER:
	case EPH_KEY_SECONDS:
		return read_number(rd, path, key, value, field);
	case EPH_KEY_OBJECT:
	case EPH_KEY_FLAVORS:
		if (!json_object_is_type(value, json_type_object))
			return refuse_value(rd, path, key, value, NULL);
		if (key->type == EPH_KEY_FLAVORS)
			return read_flavors(rd, path, value, base);
		return read_object(rd, path, key->keys, value, base);
	default:
		return read_text(rd, path, key, value, field);
	}
}

static int refuse_key(const struct reader *rd, const char *path, const struct eph_key *keys)
{
	_cleanup_free_ char *names = eph_keys_allowed(keys), *allowed = NULL;

	if (!names || asprintf(&allowed, "allowed here are: %s", names) < 0) {
		allowed = NULL;
		return eph_fail_oom(rd->ctx);
	}
	return refuse(rd, path, allowed, NULL, "is not a known key");
}

static int read_object(const struct reader *rd, const char *path, const struct eph_key *keys,
		       json_object *object, void *base)
{
	json_object_object_foreach(object, name, value)
	{
		_cleanup_free_ char *sub = key_path(path, name);
		const struct eph_key *key = eph_key_find(keys, name);
		int r;

		if (!sub)
			return eph_fail_oom(rd->ctx);
		if (!key)
			return refuse_key(rd, sub, keys);
		r = read_value(rd, sub, key, value, base);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- flavors --- */

static bool flavor_name_valid(const char *name)
{
	return strlen(name) <= MAX_FLAVOR_NAME && eph_tag_value_valid(name);
}

static int check_required(const struct reader *rd, const char *path, json_object *object)
{
	for (const struct eph_key *key = eph_flavor_keys; key->name; key++) {
		_cleanup_free_ char *what = NULL;

		if (!key->required || json_object_object_get_ex(object, key->name, NULL))
			continue;
		if (asprintf(&what, "lacks \"%s\"", key->name) < 0) {
			what = NULL;
			return eph_fail_oom(rd->ctx);
		}
		return refuse(rd, path, "a flavor that is not built in needs it", NULL, what);
	}
	return 0;
}

/* What no single key can say. */
static int check_flavor(const struct reader *rd, const char *path,
			const struct ephlvm_flavor *flavor)
{
	const struct eph_iotune *io = &flavor->iotune;

	if (flavor->ram_bytes == 0 || flavor->ram_bytes % MIB != 0)
		return refuse(rd, path, NULL, "OpenStack counts memory in MiB",
			      "has a \"ram\" that is not a multiple of 1 MiB above 0");
	if (io->total_bytes_sec && (io->read_bytes_sec || io->write_bytes_sec))
		return refuse(rd, path, NULL, "give the total, or reads and writes",
			      "has \"iotune.total_bytes_sec\" together with \"read_bytes_sec\" or "
			      "\"write_bytes_sec\"");
	if (io->total_iops_sec && (io->read_iops_sec || io->write_iops_sec))
		return refuse(rd, path, NULL, "give the total, or reads and writes",
			      "has \"iotune.total_iops_sec\" together with \"read_iops_sec\" or "
			      "\"write_iops_sec\"");
	return 0;
}

static int remove_flavor(const struct reader *rd, const char *path, struct eph_config *config,
			 const struct ephlvm_flavor *flavor)
{
	size_t i;

	if (!flavor)
		return refuse(rd, path, "only a built-in flavor can be null, which removes it",
			      "give an object", "cannot be null");
	i = (size_t)(flavor - config->flavors);
	flavor_clear(&config->flavors[i]);
	memmove(&config->flavors[i], &config->flavors[i + 1],
		(config->n_flavors - i - 1) * sizeof(config->flavors[0]));
	config->n_flavors--;
	return 0;
}

static int read_flavor(const struct reader *rd, const char *path, const char *name,
		       json_object *value, struct eph_config *config)
{
	const struct ephlvm_flavor *there = eph_flavor_find(config, name);
	struct ephlvm_flavor *flavor;
	int r;

	if (!flavor_name_valid(name))
		return refuse(rd, path,
			      "allowed are 1 to 64 letters, digits and + _ . - / = ! : & #", NULL,
			      "is not a name for a flavor");
	if (!value)
		return remove_flavor(rd, path, config, there);
	if (!json_object_is_type(value, json_type_object))
		return refuse(rd, path, "allowed is an object, or null to remove a built-in flavor",
			      NULL, "is not an object");
	if (!there) {
		r = check_required(rd, path, value);
		if (r < 0)
			return r;
		if (config->n_flavors >= MAX_FLAVORS)
			return refuse(rd, path, "allowed are 256 in all", NULL,
				      "is one flavor too many");
	}
	/* A built-in one keeps its place, and the values that are not given. */
	flavor = there ? &config->flavors[there - config->flavors] : flavor_append(config, name);
	if (!flavor)
		return eph_fail_oom(rd->ctx);
	flavor->builtin = false;
	r = read_object(rd, path, eph_flavor_keys, value, flavor);
	if (r < 0)
		return r;
	return check_flavor(rd, path, flavor);
}

static int read_flavors(const struct reader *rd, const char *path, json_object *object,
			struct eph_config *config)
{
	json_object_object_foreach(object, name, value)
	{
		_cleanup_free_ char *sub = key_path(path, name);
		int r;

		if (!sub)
			return eph_fail_oom(rd->ctx);
		r = read_flavor(rd, sub, name, value, config);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- the document --- */

static size_t line_of(const char *json, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += json[i] == '\n';
	return line;
}

static int refuse_text(const struct reader *rd, const char *json, size_t at, const char *what)
{
	return eph_fail(rd->ctx, EPHLVM_ERROR_INVALID, EINVAL, rd->file,
			"correct that line, then: ephlvm config check",
			"configuration \"%s\" line %zu: %s", rd->file, line_of(json, at), what);
}

static int parse_document(const struct reader *rd, const char *json, size_t json_bytes,
			  json_object **ret_document)
{
	_cleanup_tokener_ json_tokener *tok = json_tokener_new_ex(DOCUMENT_DEPTH);
	_cleanup_json_ json_object *document = NULL;
	enum json_tokener_error error;

	if (!tok)
		return eph_fail_oom(rd->ctx);
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	document = json_tokener_parse_ex(tok, json, (int)json_bytes);
	error = json_tokener_get_error(tok);
	if (error == json_tokener_continue)
		return refuse_text(rd, json, json_bytes, "the document is empty or cut short");
	if (error != json_tokener_success)
		return refuse_text(rd, json, json_tokener_get_parse_end(tok),
				   json_tokener_error_desc(error));
	if (json_tokener_get_parse_end(tok) != json_bytes)
		return refuse_text(rd, json, json_tokener_get_parse_end(tok),
				   "there is text behind the document");
	if (!json_object_is_type(document, json_type_object))
		return refuse_text(rd, json, 0, "the document is not an object");
	*ret_document = eph_steal(document);
	return 0;
}

/* What json-c lets pass. Before any value is read, so that no reading goes by half of a pair. */
static int check_keys(const struct reader *rd, const char *json, size_t json_bytes)
{
	_cleanup_free_ char *what = NULL;
	struct eph_json_fault fault;
	int r;

	r = eph_json_keys_check(json, json_bytes, &fault);
	if (r == -ENOMEM)
		return eph_fail_oom(rd->ctx);
	if (r == 0)
		return 0;
	if (!fault.path[0])
		return refuse_text(rd, json, fault.at, fault.what);
	if (asprintf(&what, "\"%s\" %s, allowed is once", fault.path, fault.what) < 0) {
		what = NULL;
		return eph_fail_oom(rd->ctx);
	}
	return refuse_text(rd, json, fault.at, what);
}

int eph_config_parse(struct ephlvm_ctx *ctx, const char *file, const char *json, size_t json_bytes,
		     struct eph_config **ret_config)
{
	const struct reader rd = { ctx, file };
	_cleanup_config_ struct eph_config *config = NULL;
	_cleanup_json_ json_object *document = NULL;
	int r;

	if (json_bytes > INT32_MAX)
		return refuse_text(&rd, json, 0, "the document is too large");
	r = parse_document(&rd, json, json_bytes, &document);
	if (r < 0)
		return r;
	r = check_keys(&rd, json, json_bytes);
	if (r < 0)
		return r;
	r = eph_config_default(ctx, &config);
	if (r < 0)
		return r;
	r = read_object(&rd, "", eph_config_keys, document, config);
	if (r < 0)
		return r;
	*ret_config = eph_steal(config);
	return 0;
}

/* --- printing --- */

/* Put @value into @object, which then owns it; @value of NULL is one that could not be made. */
static int put(json_object *object, const char *name, json_object *value)
{
	if (!value)
		return -ENOMEM;
	if (json_object_object_add(object, name, value) < 0) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

/* As people write it: "25G", or a bare number where no unit divides it. */
static json_object *bytes_value(uint64_t bytes)
{
	static const char units[] = "KMGTP";
	char text[24];
	int u = -1;

	while (bytes != 0 && bytes % 1024 == 0 && units[u + 1]) {
		bytes /= 1024;
		u++;
	}
	if (u < 0)
		return json_object_new_uint64(bytes);
	snprintf(text, sizeof(text), "%llu%c", (unsigned long long)bytes, units[u]);
	return json_object_new_string(text);
}

static int print_object(json_object *object, const struct eph_key *keys, const void *base);
static int print_flavors(json_object *object, const struct eph_config *config);

static int print_level(json_object *parent, const struct eph_key *key, const void *base)
{
	_cleanup_json_ json_object *level = json_object_new_object();
	int r;

	if (!level)
		return -ENOMEM;
	if (key->type == EPH_KEY_FLAVORS)
		r = print_flavors(level, base);
	else
		r = print_object(level, key->keys, base);
	/* A level with nothing set says nothing. */
	if (r < 0 || json_object_object_length(level) == 0)
		return r;
	return put(parent, key->name, eph_steal(level));
}

static int print_value(json_object *object, const struct eph_key *key, const void *base)
{
	const void *field = (const char *)base + key->offset;
	const char *text;

	switch (key->type) {
	case EPH_KEY_SIZE:
		return put(object, key->name, bytes_value(*(const uint64_t *)field));
	case EPH_KEY_BYTES:
		if (*(const uint64_t *)field == 0)
			return 0;
		return put(object, key->name, bytes_value(*(const uint64_t *)field));
	case EPH_KEY_COUNT:
		if (*(const uint64_t *)field == 0)
			return 0;
		return put(object, key->name, json_object_new_uint64(*(const uint64_t *)field));
	case EPH_KEY_NUMBER:
		return put(object, key->name, json_object_new_uint64(*(const unsigned int *)field));
	case EPH_KEY_SECONDS:
		return put(object, key->name,
			   json_object_new_uint64(*(const unsigned int *)field / 1000));
	case EPH_KEY_OBJECT:
	case EPH_KEY_FLAVORS:
		return print_level(object, key, base);
	default:
		text = *(const char *const *)field;
		return text ? put(object, key->name, json_object_new_string(text)) : 0;
	}
}

static int print_object(json_object *object, const struct eph_key *keys, const void *base)
{
	int r = 0;

	for (; r == 0 && keys->name; keys++)
		r = print_value(object, keys, base);
	return r;
}

static int print_flavors(json_object *object, const struct eph_config *config)
{
	for (size_t i = 0; i < config->n_flavors; i++) {
		_cleanup_json_ json_object *flavor = json_object_new_object();
		int r;

		if (!flavor)
			return -ENOMEM;
		r = print_object(flavor, eph_flavor_keys, &config->flavors[i]);
		if (r == 0)
			r = put(object, config->flavors[i].name, eph_steal(flavor));
		if (r < 0)
			return r;
	}
	/* A built-in flavor that is left out would come back. */
	for (size_t i = 0; i < ARRAY_SIZE(builtin_flavors); i++)
		if (!eph_flavor_find(config, builtin_flavors[i].name) &&
		    json_object_object_add(object, builtin_flavors[i].name, NULL) < 0)
			return -ENOMEM;
	return 0;
}

int eph_config_text(struct ephlvm_ctx *ctx, const struct eph_config *config, char **ret_json)
{
	_cleanup_json_ json_object *document = json_object_new_object();
	const char *text;
	char *copy;

	if (!document || print_object(document, eph_config_keys, config) < 0)
		return eph_fail_oom(ctx);
	text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY |
								JSON_C_TO_STRING_SPACED |
								JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text || asprintf(&copy, "%s\n", text) < 0)
		return eph_fail_oom(ctx);
	*ret_json = copy;
	return 0;
}
