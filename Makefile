# Makefile -- builds Pawprint with gcc or clang, GNU make and perl, and nothing else
#
# SPDX-License-Identifier: BSD-2-Clause
#
# `make help` lists what there is.  Everything goes to build/<variety>/ (with a sanitizer or clang:
# build/<variety>-<san>-<compiler>/), nothing outside.

VARIETY ?= cool
SAN     ?=
CC      := $(if $(filter default undefined,$(origin CC)),$(if $(shell command -v gcc),gcc,clang),$(CC))
PERL    ?= perl
OBJCOPY ?= objcopy
PREFIX  ?= /usr/local
# Tests wait for much: more of them at a time than most machines that they run on have processors.
JOBS    ?= 3
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0

comma := ,
B     := build/$(VARIETY)$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(filter-out gcc,$(CC)),-$(notdir $(firstword $(CC))))

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Werror -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wwrite-strings
VARIETY_FLAG_cool :=
VARIETY_FLAG_hot  := -DVARIETY_HOT
VARIETY_FLAG_rash := -DVARIETY_RASH
# What a sanitizer finds ends the program: a test that goes on would pass.
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
ALL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARNINGS) $(VARIETY_FLAG_$(VARIETY)) -D_GNU_SOURCE -Icode -I$(B)/gen
DEPFLAGS = -MMD -MP -MF $@.d -MT $@
LINKLIBS := -ldl -lpthread
# The writer's wing goes into a shared library that must be there before anybody else and never in the way.
PIC := -fPIC -fvisibility=hidden -fno-plt -ftls-model=initial-exec -fdata-sections -DPAWPRINT_LIBRARY

ifeq ($(filter cool hot rash,$(VARIETY)),)
$(error VARIETY is cool, hot or rash, not `$(VARIETY)')
endif

# Rooms, from the roof down; but for code/malloc, which is in the library that is preloaded and nowhere else.
ROOMS  := library replay report view analyse source callers export symbols heap collect listen monitor request recover filter log ams mm emit handover unwind plinth format base
TOOLS  := eventrec eventcnv eventview eventctl replay
SHIM   := $(wildcard code/malloc/*.c)
GEN    := $(B)/gen/eventgen.h
PAGE   := $(B)/gen/reportpage.h

room_src = $(wildcard code/$(1)/*.c)
room_obj = $(patsubst code/%.c,$(B)/obj/%.o,$(call room_src,$(1)))
LIBS   := $(foreach r,$(ROOMS),$(B)/lib/room-$(r).a)
# Files of one room may call files of another that call files of the first, though none of them in a circle.
linked = -Wl,--start-group $(1) -Wl,--end-group
TOOLS_PRESENT := $(foreach t,$(TOOLS),$(if $(wildcard code/$(t).c),$(t)))
BINS   := $(TOOLS_PRESENT:%=$(B)/bin/%)
TEST_SOURCES := $(wildcard test/*/*test.c)
TESTS  := $(patsubst %.c,$(B)/test/%,$(notdir $(TEST_SOURCES)))
ifneq ($(words $(TESTS)),$(words $(sort $(TESTS))))
$(error two unit tests have the same name: only one of them would be run)
endif
BENCHES := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))

# V=1 shows the commands, otherwise a word and the file that is made.
Q   := $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)$(2)')

.PHONY: all check soak fuzz fuzzdir demo bench install help layers registry registry-record clean tests FORCE
.DELETE_ON_ERROR:
.SECONDARY:
all: $(BINS) $(B)/lib/libpawprint.so $(B)/lib/libpawprint.a $(B)/lib/libpawlog.so $(B)/lib/libpawlog.a

help:
	@echo 'make            build everything into $(B)/: bin/ and lib/'
	@echo 'make demo       record a real program, dump, summarise and replay it (under 30 s)'
	@echo 'make check      every test'
	@echo 'make units      those in C alone'
	@echo 'make soak       200 random deaths, and nothing lost; this build counted independently; recordings that stay on'
	@echo 'make fuzz       readers, writers and filters, given what nobody thought of, for $(FUZZ_SECONDS) s'
	@echo 'make bench      the benchmarks, beside what peers are installed'
	@echo 'make install    bin, lib, headers, manual pages, pkg-config file'
	@echo 'make layers     includes and calls as design/house.md has them, checks that do nothing, citations of what is there'
	@echo 'make registry   code/eventdef.h against its recorded versions'
	@echo 'make registry-record  record it as the version in work'
	@echo 'make clean      remove build/'
	@echo
	@echo 'VARIETY=cool    what people record with: optimised, all events, all checks'
	@echo 'VARIETY=hot     no events per object or reference, no checks on the critical path'
	@echo 'VARIETY=rash    no checks and no telemetry: the baseline to measure against'
	@echo 'CC=gcc|clang    the compiler ($(CC))'
	@echo 'CFLAGS=...      for the compiler ($(CFLAGS))'
	@echo 'SAN=LIST        sanitizers: address,undefined or thread, for tools and unit tests'
	@echo 'PREFIX=DIR      where to install ($(PREFIX)); DESTDIR=DIR goes before it'
	@echo 'FUZZ_SECONDS=N  for how long make fuzz runs, all targets together, once they are built'
	@echo 'FUZZ_SEED=N     where its random numbers begin; 0: at another place each time'
	@echo 'JOBS=N          tests that run at a time ($(JOBS))'
	@echo 'SEED=N          the seed of random tests, as a failed run printed it'
	@echo 'V=1             show the commands'

$(GEN): code/eventgen.pl code/eventdef.h
	$(call say,GEN    ,$@)
	@mkdir -p $(@D)
	$(Q)$(PERL) code/eventgen.pl code/eventdef.h > $@.tmp && mv $@.tmp $@

# The page of the report, as strings of C.
$(PAGE): code/report/reportpage.pl $(wildcard code/report/page/*)
	$(call say,GEN    ,$@)
	@mkdir -p $(@D)
	$(Q)$(PERL) code/report/reportpage.pl code/report/page > $@.tmp && mv $@.tmp $@

# Other flags, other objects: this file changes when they do.
FLAGS := $(CC) $(CFLAGS) $(WARNINGS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@

$(call room_obj,report): | $(PAGE)
$(B)/obj/%.o: code/%.c $(B)/flags | $(GEN)
	$(call say,CC     ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DPAWPRINT_EMITTER $(DEPFLAGS) $(SANFLAGS) -c $< -o $@

# Position independent, and never sanitized: it is preloaded into programs that are not.
$(B)/pic/%.o: code/%.c $(B)/flags | $(GEN)
	$(call say,CC     ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPFLAGS) $(PIC) -c $< -o $@
# Exceptions of C++ pass through it.
$(B)/pic/malloc/shimnew.o: PIC += -fexceptions

define room_rule
$(B)/lib/room-$(1).a: $(call room_obj,$(1))
	$$(call say,AR     ,$$@)
	@mkdir -p $$(@D)
	@rm -f $$@
	$(Q)ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))

WRITER := base format plinth unwind handover emit mm
# What only tools need stays out of other people's programs.
include code/base/tools.mk
TOOLS_ONLY := $(BASE_TOOLS:%=$(B)/pic/base/%.o)
writer_pic := $(filter-out $(TOOLS_ONLY),$(foreach r,$(WRITER),$(patsubst code/%.c,$(B)/pic/%.o,$(call room_src,$(r)))) \
  $(patsubst code/%.c,$(B)/pic/%.o,$(SHIM)))
$(B)/lib/libpawprint.so: $(writer_pic) tool/libpawprint.list
	$(call say,LD     ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,libpawprint.so -Wl,-z,now -Wl,-z,nodelete -Wl,--sort-section=name -Wl,-z,noseparate-code -Wl,--dynamic-list=tool/libpawprint.list \
	  -o $@ $(writer_pic) -ldl -lpthread

$(B)/lib/libpawprint.a: $(filter-out $(TOOLS_ONLY:$(B)/pic/%=$(B)/obj/%),$(foreach r,$(WRITER) ams,$(call room_obj,$(r))))
	$(call say,AR     ,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcs $@ $^

# The reader as a library for other programs, which see what pawlog.h declares and nothing else of it.
READER := library symbols heap request recover filter log format base
reader_pic := $(filter-out $(TOOLS_ONLY) $(B)/pic/base/bt.o,$(foreach r,$(READER),$(patsubst code/%.c,$(B)/pic/%.o,$(call room_src,$(r))))) \
  $(B)/pic/base/newfile.o $(B)/pic/base/say.o $(B)/pic/source/builtinregistry.o $(patsubst %,$(B)/pic/export/%.o,describe jsondocument output)
$(B)/lib/libpawlog.so: $(reader_pic)
	$(call say,LD     ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,libpawlog.so.1 -Wl,-z,now -Wl,-z,defs -o $@ $^

# One object, in which names that are hidden are nobody else's: a program may have a LogOpen of its own.
$(B)/lib/libpawlog.a: $(reader_pic)
	$(call say,AR     ,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(LD) -r -o $(@:.a=.o) $^
	$(Q)$(OBJCOPY) --localize-hidden $(@:.a=.o)
	$(Q)ar rcs $@ $(@:.a=.o)

$(B)/bin/%: $(B)/obj/%.o $(LIBS)
	$(call say,LD     ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $(filter %.o,$^) $(call linked,$(filter %.a,$^)) $(LINKLIBS)

vpath %test.c $(sort $(dir $(TEST_SOURCES)))
vpath golden.c test/log
$(B)/test/%: %.c $(LIBS) $(B)/flags | $(GEN)
	$(call say,TEST   ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPFLAGS) $(SANFLAGS) -Itest/lib -o $@ $< $(call linked,$(LIBS)) $(LINKLIBS)

$(B)/bench/%: bench/%.c $(LIBS) $(B)/flags | $(GEN)
	$(call say,BENCH  ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPFLAGS) -o $@ $< $(call linked,$(LIBS)) $(LINKLIBS)

# Programs that end-to-end tests run, and libraries that they preload.  No compiler may leave out a malloc there.
PROG_SOS := counter deny living nested nomemory plugin unwound
PROGS := $(patsubst test/prog/%.c,$(B)/prog/%,$(filter-out $(PROG_SOS:%=test/prog/%.c),$(wildcard test/prog/*.c))) \
  $(PROG_SOS:%=$(B)/prog/%.so)
$(B)/prog/%.so: test/prog/%.c $(B)/flags
	$(call say,PROG   ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-builtin $(DEPFLAGS) -fPIC -shared -o $@ $< -ldl
$(B)/prog/%: test/prog/%.c $(LIBS) $(B)/flags | $(GEN)
	$(call say,PROG   ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-builtin $(DEPFLAGS) $(SANFLAGS) -o $@ $< $(call linked,$(LIBS)) $(LINKLIBS)

# It walks stacks inside other programs, as the library does.
$(B)/prog/unwound.so: test/prog/unwound.c $(filter $(B)/pic/base/% $(B)/pic/plinth/% $(B)/pic/unwind/%,$(writer_pic)) $(B)/flags | $(GEN)
	$(call say,PROG   ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-builtin $(DEPFLAGS) $(PIC) -shared -o $@ $(filter %.c %.o,$^) -ldl -lpthread

# A program in which the linker made no table of unwind rows.
$(B)/prog/noheader: LINKLIBS += -Wl,--no-eh-frame-hdr

# Fuzzing targets: with libFuzzer's main where the objects are made for it, else with our own.
FUZZ_MAIN := $(if $(findstring fuzzer-no-link,$(SAN)),-fsanitize=fuzzer,test/fuzz/mutator.c)
FUZZ_LIBS := $(foreach r,replay view analyse source callers export symbols heap request recover filter log format unwind plinth base,$(B)/lib/room-$(r).a)
$(B)/fuzz/%: test/fuzz/fuzz%.c $(wildcard test/fuzz/*.h) test/fuzz/mutator.c $(FUZZ_LIBS) $(B)/flags | $(GEN)
	$(call say,FUZZ   ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(SANFLAGS) -Itest/fuzz -o $@ $< $(FUZZ_MAIN) $(call linked,$(FUZZ_LIBS)) $(LINKLIBS)

# Benchmarks and fuzzing targets, too: nobody else would see that they no longer compile.
# Benchmarks are not sanitized; they are built with the tests so that they compile.
tests: $(TESTS) $(PROGS) $(if $(SAN),,$(BENCHES)) $(patsubst test/fuzz/fuzz%.c,$(B)/fuzz/%,$(wildcard test/fuzz/fuzz*.c))

# What tests and scripts find in their environment.
RUN_ENV = B=$(B) CC="$(CC)" SAN="$(SAN)" VARIETY=$(VARIETY) PERL="$(PERL)"

check: all tests
	$(RUN_ENV) $(PERL) tool/check $(JOBS) $(TESTS) $(sort $(wildcard test/*/*.t))

# Those in C alone: in a fifth of the time, without the tools on real programs.
units: all $(TESTS)
	$(RUN_ENV) $(PERL) tool/check $(JOBS) $(TESTS)

# The tests of random deaths, of an independent count, of recordings that stay on, of stopped threads, of many threads, of
# what cannot be read, of stacks and of heaps from an index, longer.
soak: all tests
	$(RUN_ENV) SOAK=1 $(PERL) tool/check --verbose test/recover/death.t test/collect/collect.t test/collect/kills.t \
	  test/malloc/count.t test/collect/stays.t test/emit/halted.t test/emit/steps.t test/emit/crowd.t test/recover/unread.t \
	  test/unwind/unwound.t $(B)/test/heapattest

# FUZZ_SECONDS: all targets together.
fuzz:
	@FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) JOBS=$(JOBS) CC="$(CC)" tool/fuzz
fuzzdir:
	@echo $(B)

demo: all
	@$(RUN_ENV) tool/demo

bench: all $(BENCHES)
	@if [ -x bench/run ]; then $(RUN_ENV) bench/run; else echo 'make: bench/run is not there' >&2; exit 1; fi

layers: all
	@$(PERL) tool/layers
	@$(PERL) tool/calls $(B)
	@$(PERL) tool/avers
	@$(PERL) tool/cites

registry:
	@$(PERL) tool/registrycheck

# Of the version in work, which code/eventdef.h names; --release when it goes out.
registry-record:
	@$(PERL) tool/registrycheck --record

# A program that includes <pawprint.h> needs the headers that it includes, and only those.
PUBLIC := $(firstword $(wildcard code/pawprint.h code/*/pawprint.h))
# One that has pools of its own includes these, and what they include, and is linked with libpawprint.a.
POOLS := code/ams/ams.h code/mm/arena.h code/mm/pool.h
SCRIPTS := $(wildcard tool/pawprint-gdb.py tool/pawprint.gdb tool/pawlog.py)
dest   := $(DESTDIR)$(PREFIX)
# What an allocator with a registry of its own takes: the emitter's sources, the generator, and examples to begin with.
EMITTER_FILES := $(wildcard examples/*.* examples/*/*.[ch] examples/*/Makefile examples/*/*.lisp) code/eventgen.pl code/eventdef.h \
  code/base/tools.mk $(foreach r,base format plinth handover emit,$(wildcard code/$(r)/*.[ch]))

install: all | $(GEN)
	install -d $(dest)/bin $(dest)/lib/pkgconfig $(dest)/include/pawprint
	$(if $(BINS),install $(BINS) $(dest)/bin)
	install $(B)/lib/libpawprint.so $(dest)/lib
	install $(B)/lib/libpawlog.so $(dest)/lib/libpawlog.so.1
	ln -sf libpawlog.so.1 $(dest)/lib/libpawlog.so
	install -m 644 $(B)/lib/libpawprint.a $(B)/lib/libpawlog.a $(dest)/lib
	install -m 644 code/log/pawlog.h $(dest)/include/pawlog.h
	$(if $(PUBLIC),install -m 644 $(PUBLIC) $(dest)/include/pawprint.h)
	$(if $(PUBLIC),for h in $$($(CC) $(ALL_CFLAGS) -MM $(PUBLIC) $(POOLS) | tr -d '\\' | tr ' ' '\n' | grep '\.h$$'); do \
	  to=$${h#code/}; to=$${to#$(B)/gen/}; install -D -m 644 $$h $(dest)/include/pawprint/$$to || exit 1; done)
	for page in man/*.[0-9]; do \
	  install -D -m 644 $$page $(dest)/share/man/man$${page##*.}/$${page##*/} || exit 1; done
	install -D -m 644 -t $(dest)/share/doc/pawprint/design design/*.md
	$(if $(SCRIPTS),install -D -m 644 -t $(dest)/share/pawprint $(SCRIPTS))
	for f in $(EMITTER_FILES); do install -D -m 644 $$f $(dest)/share/pawprint/$$f || exit 1; done
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: pawprint' 'Description: telemetry of memory managers' \
	  'Version: '$$(sed -n 's/^#define PawprintVERSION "\(.*\)"$$/\1/p' code/base/version.h) \
	  'Libs: -L$${prefix}/lib -lpawprint' 'Libs.private: -ldl -pthread' \
	  'Cflags: -I$${prefix}/include -I$${prefix}/include/pawprint' > $(dest)/lib/pkgconfig/pawprint.pc
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: pawpools' 'Description: arenas and pools, and one that collects' \
	  'Version: '$$(sed -n 's/^#define PawprintVERSION "\(.*\)"$$/\1/p' code/base/version.h) \
	  'Libs: $${prefix}/lib/libpawprint.a -ldl -pthread' \
	  'Cflags: -I$${prefix}/include/pawprint -pthread' > $(dest)/lib/pkgconfig/pawpools.pc
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: pawlog' 'Description: reading the logs of Pawprint' \
	  'Version: '$$(sed -n 's/^#define PawprintVERSION "\(.*\)"$$/\1/p' code/base/version.h) \
	  'Libs: -L$${prefix}/lib -lpawlog' 'Cflags: -I$${prefix}/include' > $(dest)/lib/pkgconfig/pawlog.pc

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
