/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/virt_ops.h - what ephlvm-virt does in its own process, through libvirt's client library.
 * The same verbs as edge/virt.h, with the URI named; they block as long as the daemon does.
 */
#ifndef EPH_EDGE_VIRT_OPS_H
#define EPH_EDGE_VIRT_OPS_H

#include "edge/virt.h"

/* Once per process: libvirt's own error printing off. */
void eph_virt_ops_init(void);

int eph_virt_ops_read(struct ephlvm_ctx *ctx, const char *uri, struct eph_virt_uses *ret_uses);
int eph_virt_ops_domain(struct ephlvm_ctx *ctx, const char *uri, const char *domain,
			struct eph_virt_domain *ret_domain);
int eph_virt_ops_attach(struct ephlvm_ctx *ctx, const char *uri, const char *domain,
			const char *disk_xml, unsigned int where);
int eph_virt_ops_detach(struct ephlvm_ctx *ctx, const char *uri, const char *domain,
			const char *source, unsigned int timeout_ms);

#endif
