/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ephlvm.h - everything: include this one, or the header of a noun alone.
 */
#ifndef EPHLVM_EPHLVM_H
#define EPHLVM_EPHLVM_H

#include <ephlvm/base.h>
#include <ephlvm/config.h>
#include <ephlvm/context.h>
#include <ephlvm/domain.h>
#include <ephlvm/flavor.h>
#include <ephlvm/pool.h>
#include <ephlvm/receipt.h>
#include <ephlvm/volume.h>

#endif
