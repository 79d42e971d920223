// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * flavor.c - flavors as values: look one up, and what callers may read of it.
 * Owns no memory: flavors belong to the configuration. Must not read the configuration file;
 * ephlvm_flavor_count() and its like do that in the file's own room.
 */
#include <ephlvm/flavor.h>

#include <string.h>

#include "pure/config.h"

const struct ephlvm_flavor *eph_flavor_find(const struct eph_config *config, const char *name)
{
	for (size_t i = 0; i < config->n_flavors; i++)
		if (strcmp(config->flavors[i].name, name) == 0)
			return &config->flavors[i];
	return NULL;
}

const char *ephlvm_flavor_name(const struct ephlvm_flavor *flavor)
{
	return flavor->name;
}

unsigned int ephlvm_flavor_vcpus(const struct ephlvm_flavor *flavor)
{
	return flavor->vcpus;
}

uint64_t ephlvm_flavor_ram_bytes(const struct ephlvm_flavor *flavor)
{
	return flavor->ram_bytes;
}

uint64_t ephlvm_flavor_root_bytes(const struct ephlvm_flavor *flavor)
{
	return flavor->root_bytes;
}

uint64_t ephlvm_flavor_ephemeral_bytes(const struct ephlvm_flavor *flavor)
{
	return flavor->ephemeral_bytes;
}

uint64_t ephlvm_flavor_swap_bytes(const struct ephlvm_flavor *flavor)
{
	return flavor->swap_bytes;
}

const char *ephlvm_flavor_pool(const struct ephlvm_flavor *flavor)
{
	return flavor->pool;
}

const char *ephlvm_flavor_fs(const struct ephlvm_flavor *flavor)
{
	return flavor->fs;
}

const char *ephlvm_flavor_kind(const struct ephlvm_flavor *flavor)
{
	return flavor->kind;
}

const char *ephlvm_flavor_layout(const struct ephlvm_flavor *flavor)
{
	return flavor->layout;
}

bool ephlvm_flavor_builtin(const struct ephlvm_flavor *flavor)
{
	return flavor->builtin;
}
