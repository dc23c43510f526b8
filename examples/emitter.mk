# emitter.mk -- Pawprint's emitter, as a part of an allocator that has a registry of its own
#
# SPDX-License-Identifier: BSD-2-Clause
#
# A makefile includes this; beside that makefile lies eventdef.h, the registry.  Then there are
#   $(EMITTER_CFLAGS)  what to compile sources with that have annotations: #include "emit/event.h"
#   $(EMITTER)         what to link a program or a shared library with, and $(EMITTER_LIBS)
#   $(EMITTER_GEN)     what must be made before anything is compiled: the registry as the compiler needs it
#
# An emitter takes from Pawprint the rooms base, format, plinth, handover and emit, and the generator; nothing of its
# memory manager, and none of its events.  PAWPRINT_EMITTER and -fvisibility=hidden keep it inside: so libpawprint.so, or
# another allocator with an emitter of its own, may be in the same process.
PAWPRINT := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))/..
HERE     := $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))
OUT      ?= build
PERL     ?= perl
CFLAGS   ?= -O2 -g
ifeq ($(origin CC),default)
CC       := $(if $(shell command -v gcc),gcc,clang)
endif

EMITTER      := $(OUT)/emitter.a
EMITTER_GEN  := $(OUT)/eventgen.h
EMITTER_LIBS := -ldl -lpthread
EMITTER_CFLAGS = -std=gnu11 $(CFLAGS) -Wall -Wextra -D_GNU_SOURCE -DPAWPRINT_EMITTER -fPIC -fvisibility=hidden \
  -ftls-model=initial-exec -I$(OUT) -I$(HERE) -I$(PAWPRINT)/code

# What only Pawprint's tools need is left out.
include $(PAWPRINT)/code/base/tools.mk
emitter_sources := $(filter-out $(BASE_TOOLS:%=$(PAWPRINT)/code/base/%.c),\
  $(wildcard $(foreach room,base format plinth handover emit,$(PAWPRINT)/code/$(room)/*.c)))
emitter_objects := $(emitter_sources:$(PAWPRINT)/code/%.c=$(OUT)/emitter/%.o)

all:

$(EMITTER_GEN): $(HERE)/eventdef.h $(PAWPRINT)/code/eventgen.pl
	@mkdir -p $(@D)
	$(PERL) $(PAWPRINT)/code/eventgen.pl $< > $@.tmp && mv $@.tmp $@

$(OUT)/emitter/%.o: $(PAWPRINT)/code/%.c $(EMITTER_GEN)
	@mkdir -p $(@D)
	$(CC) $(EMITTER_CFLAGS) -c $< -o $@

$(EMITTER): $(emitter_objects)
	@rm -f $@
	ar rcs $@ $^

clean:
	rm -rf $(OUT)

.PHONY: all clean
