# Makefile -- builds Pawprint with gcc or clang, GNU make and perl, and nothing else
#
# SPDX-License-Identifier: BSD-2-Clause
#
# `make help` lists what there is.  Everything goes to build/<variety>/ (with a sanitizer or clang:
# build/<variety>-<san>-<compiler>/), nothing outside.

VARIETY ?= cool
SAN     ?=
CC      := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
PERL    ?= perl
PREFIX  ?= /usr/local

comma := ,
B     := build/$(VARIETY)$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(filter-out gcc,$(CC)),-$(notdir $(CC)))

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Werror -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wwrite-strings
VARIETY_FLAG_cool :=
VARIETY_FLAG_hot  := -DVARIETY_HOT
VARIETY_FLAG_rash := -DVARIETY_RASH
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
ALL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARNINGS) $(VARIETY_FLAG_$(VARIETY)) -D_GNU_SOURCE -Icode -I$(B)/gen -MMD -MP
# The writer's wing goes into a shared library that must be there before anybody else and never in the way.
PIC := -fPIC -fvisibility=hidden -fno-plt -ftls-model=initial-exec

ifeq ($(filter cool hot rash,$(VARIETY)),)
$(error VARIETY is cool, hot or rash, not `$(VARIETY)')
endif

# Rooms, from the roof down: the order in which archives are linked.
ROOMS  := view log mm emit plinth format base
TOOLS  := eventrec eventcnv eventview replay
SHIM   := $(wildcard code/mm/shim*.c)
GEN    := $(B)/gen/eventgen.h

room_src = $(filter-out $(SHIM),$(wildcard code/$(1)/*.c))
room_obj = $(patsubst code/%.c,$(B)/obj/%.o,$(call room_src,$(1)))
LIBS   := $(foreach r,$(ROOMS),$(B)/lib/room-$(r).a)
TOOLS_PRESENT := $(foreach t,$(TOOLS),$(if $(wildcard code/$(t).c),$(t)))
BINS   := $(TOOLS_PRESENT:%=$(B)/bin/%)
TESTS  := $(patsubst test/%.c,$(B)/test/%,$(wildcard test/*test.c))
BENCHES := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))

.PHONY: all check demo bench install help layers clean tests
all: $(BINS) $(B)/lib/libpawprint.so $(B)/lib/libpawprint.a

$(GEN): code/eventgen.pl code/eventdef.h
	@mkdir -p $(@D)
	$(PERL) code/eventgen.pl code/eventdef.h > $@.tmp && mv $@.tmp $@

$(B)/obj/%.o: code/%.c $(GEN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SANFLAGS) -c $< -o $@

# Position independent, and never sanitized: it is preloaded into programs that are not.
$(B)/pic/%.o: code/%.c $(GEN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PIC) -c $< -o $@

define room_rule
$(B)/lib/room-$(1).a: $(call room_obj,$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))

WRITER := base format plinth emit mm
writer_pic := $(foreach r,$(WRITER),$(patsubst code/%.c,$(B)/pic/%.o,$(call room_src,$(r)))) $(patsubst code/%.c,$(B)/pic/%.o,$(SHIM))
$(B)/lib/libpawprint.so: $(writer_pic)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname,libpawprint.so -Wl,-z,now -Wl,-z,nodelete -o $@ $^ -ldl -lpthread

$(B)/lib/libpawprint.a: $(foreach r,$(WRITER),$(call room_obj,$(r)))
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

$(B)/bin/%: $(B)/obj/%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ -lm -ldl -lpthread

$(B)/test/%: test/%.c test/tap.h $(LIBS) $(GEN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SANFLAGS) -Itest -o $@ $< $(LIBS) -lm -ldl -lpthread

$(B)/bench/%: bench/%.c $(LIBS) $(GEN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(LIBS) -lm -ldl -lpthread

tests: $(TESTS)

check: all tests
	B=$(B) CC="$(CC)" SAN="$(SAN)" VARIETY=$(VARIETY) prove -j2 --exec '' $(TESTS) :: ; \
	B=$(B) CC="$(CC)" SAN="$(SAN)" VARIETY=$(VARIETY) prove -j2 test/*.t

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
