#!/usr/bin/env perl
# The collector test finds what it is there for: each fault that is planted in a copy of the collector makes it fail.
#
# SPDX-License-Identifier: BSD-2-Clause
#
# A mutant is a file of code/ams, a text that stands in it exactly once, and what is written instead.  The rest of the
# room is as it was built; graphtest runs with one seed after the other until one fails.
use strict;
use warnings;
use Cwd qw(getcwd);
use File::Temp qw(tempdir);
use Test::More;

my $B  = $ENV{B}  // 'build/cool';
my $CC = $ENV{CC} // 'gcc';
plan skip_all => 'mutants are built as the plain variety is' if ($ENV{SAN} // '') ne '' || ($ENV{VARIETY} // 'cool') ne 'cool';

my $dir = tempdir('mutants.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my @seeds = (1 .. 6);

my @mutants = (
    ['the barrier keeps nothing', 'amswrite', 'amsWriteShade(ams, slot);', ';'],
    ['the barrier keeps the new value', 'amswrite', "  if (AMSMarking(ams))\n    AMSFix(&ams->scan, __atomic_load_n(slot, __ATOMIC_RELAXED));\n  LockRelease(&AMSPool(ams)->lock);\n}\n\n/* amsWriteForeign",
        "  if (AMSMarking(ams))\n    AMSFix(&ams->scan, NULL);\n  LockRelease(&AMSPool(ams)->lock);\n}\n\n/* amsWriteForeign"],
    ['stacks are no roots', 'amscollect', '  AMSThreadsScan(ams);', ''],
    ['stacks of stopped threads are no roots', 'amsthread', 'AMSFixArea(ams, thread->sp, thread->high);', ';'],
    ['tables are no roots', 'amscollect', '  AMSRootsScan(ams);', ''],
    ['the last reference of a table is no root', 'amsroot', 'for (i = 0; i < root->count; ++i)', 'for (i = 0; i + 1 < root->count; ++i)'],
    ['ambiguous references must be exact', 'amsmark', 'Addr base = AMSSegFind(ams, word);', 'Addr base = AMSSegFind(ams, word) == (Addr)word ? (Addr)word : NULL;'],
    ['objects are allocated white', 'amsap', "  if (AMSMarking(ams))\n    AMSSegMarkAll(seg, amsApUnit(ap, base), amsApUnit(ap, top));", ''],
    ['runs that threads have when it begins are white', 'amsap', 'AMSSegMarkAll(ap->seg, amsApUnit(ap, ap->base), amsApUnit(ap, ap->top));', ';'],
    ['a commit does not see that a collection has begun', 'amsap', 'committed = (Word)addr < ap->initAtFlip;', 'committed = TRUE;'],
    ['sweeping takes nothing back', 'amsseg', '    object[w] &= mark[w];', ''],
    ['sweeping takes one object too much', 'amsseg', '    object[w] &= mark[w];', '    object[w] &= mark[w] & (mark[w] - 1);'],
    ['marks stay', 'amsseg', '    __atomic_store_n(&mark[w], 0, __ATOMIC_RELAXED);', ''],
    ['the mark of a large object stays', 'amsseg', '  __atomic_store_n(seg->mark, 0, __ATOMIC_RELAXED);', ''],
    ['free tiles are one unit too long', 'amsseg', 'limit = amsSegNext(begin, NULL, first + 1, ams->units);', 'limit = amsSegNext(begin, NULL, first + 1, ams->units); limit += limit < ams->units;'],
    ['weak references are not cleared', 'amscollect', 'if (!AMSMarkSome(ams) && !AMSWeakSome(ams))', 'if (!AMSMarkSome(ams))'],
    ['weak references are cleared too early', 'amscollect', 'if (!AMSMarkSome(ams) && !AMSFinalSome(ams)) {', 'AMSWeakBegin(ams); (void)AMSWeakSome(ams); if (!AMSMarkSome(ams) && !AMSFinalSome(ams)) {'],
    ['what a weak table gives is not kept', 'amsroot', "  if (AMSMarking(ams))\n    AMSFix(&ams->scan, ref);", ''],
    ['a full queue forgets', 'amsmark', '  if (!seg->rescan) {', '  if (FALSE) {'],
    ['the second piece of a large object is not scanned', 'amsmark', '  if (to == limit)', '  if (TRUE)'],
    ['messages do not keep their objects', 'amsfinal', '      AMSFix(&ams->scan, ams->message.at[ams->messageScan++]);', '      ++ams->messageScan;'],
    ['finalization forgets an object', 'amsfinal', 'at[ams->finalKept++] = object;', 'ams->finalKept += 0;'],
);

sub slurp { my ($path) = @_; open my $in, '<', $path or die "$path: $!\n"; local $/; return scalar <$in> }

sub build {
    my ($file, $text) = @_;
    my @objects = grep { !m{/$file\.o$} } glob "$B/obj/ams/*.o";
    my @libs = grep { !m{/room-ams\.a$} } glob "$B/lib/room-{mm,emit,handover,unwind,plinth,format,base}.a";

    open my $out, '>', "$dir/$file.c" or die "$dir/$file.c: $!\n";
    print $out $text;
    close $out or die "$dir/$file.c: $!\n";
    return system("$CC -std=gnu11 -O1 -w -D_GNU_SOURCE -DPAWPRINT_EMITTER -Icode -I$B/gen -Itest/lib -o $dir/test $dir/$file.c $dir/graphtest.o @objects "
          . "-Wl,--start-group @libs -Wl,--end-group -ldl -lpthread") == 0;
}

# The seeds with which the test fails in some way, beginning with the first: '' for none.
sub killed {
    for my $seed (@seeds) {
        my $out = `COLLECTIONS=600 SEED=$seed timeout 20 $dir/test 2>&1`;
        if ($? != 0) {
            my ($why) = $out =~ /^# ((?!SEED|test|longest|failed).*)/m;
            return $why // (split /\n/, $out)[-1] // 'it died';
        }
    }
    return '';
}

system("$CC -std=gnu11 -O1 -w -D_GNU_SOURCE -DPAWPRINT_EMITTER -Icode -I$B/gen -Itest/lib -c -o $dir/graphtest.o test/ams/graphtest.c") == 0 or die "graphtest.c does not compile\n";
ok(build('ams', slurp('code/ams/ams.c')) && killed() eq '', 'the collector itself passes');
for my $mutant (@mutants) {
    my ($what, $file, $from, $to) = @$mutant;
    my $text = slurp("code/ams/$file.c");
    my $count = () = $text =~ /\Q$from\E/g;

    is($count, 1, "$what: the place is there") or next;
    $text =~ s/\Q$from\E/$to/;
    if (!build($file, $text)) { fail("$what: it compiles"); next }
    my $why = killed();
    ok($why ne '', "$what: found") and note($why);
}
done_testing();
