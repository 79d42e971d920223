/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/virt_wire.h - the words between edge/virt.c and the program ephlvm-virt.
 *
 * Request: its arguments, VERB URI [DOMAIN [TEXT NUMBER]]. Answer: fields, each ended by NUL: first
 * EPH_VIRT_DONE or EPH_VIRT_FAILED, last EPH_VIRT_END, without which it is not whole. A field that
 * may be NULL has "+" or "-" before it.
 * Both sides are built together: there are no versions.
 */
#ifndef EPH_EDGE_VIRT_WIRE_H
#define EPH_EDGE_VIRT_WIRE_H

#define EPH_VIRT_VERB_READ "read"
#define EPH_VIRT_VERB_DOMAIN "domain"
#define EPH_VIRT_VERB_ATTACH "attach" /* DOMAIN, <disk>, where flags */
#define EPH_VIRT_VERB_DETACH "detach" /* DOMAIN, source, milliseconds */

#define EPH_VIRT_DONE "done"
#define EPH_VIRT_FAILED "failed" /* kind, errno, subject, message, hint */
#define EPH_VIRT_END "end"

#endif
