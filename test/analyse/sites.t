#!/usr/bin/perl
# sites.t -- who asked for memory: of programs whose allocations are known, and against another count of the same events
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable';
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir opens run slurp spew view view_json);
use File::Copy qw(copy);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';

# The lines of a view by function, or module and offset; functions of the same name together.
sub byPlace {
    my ($doc) = @_;
    my %line;

    for my $l (@{$doc->{sites}}) {
        my $key = $l->{function} // ($l->{module} // '') =~ s{.*/}{}r . '+' . ($l->{offset} // '');
        $line{$key}{$_} += $l->{$_} for grep { /_/ } keys %$l;
    }
    return %line;
}

# The oracle: the same from eventcnv's CSV, event by event, with a copy of all sums at each new peak.  For one thread.
sub oracle {
    my ($log, @options) = @_;
    my (%object, %sum, %last, $live, $most, @names);

    $live = $most = 0;
    my $place = sub {
        my ($symbol) = @_;
        return '+' if $symbol eq '';
        return $symbol =~ /^(.*?) (?:in|at) / ? $1 : $symbol;
    };
    my $peaks = sub {
        my ($p) = @_;
        return if $live <= $most;
        $most = $live;
        $_->{peak} = $_->{live} for values %sum;
    };
    @names = ();
    for (split /\n/, (run("$B/bin/eventcnv", '-f', 'csv', '--symbols', '-k', 'Object', @options, $log))[1]) {
        my @f = split /,/, $_, -1;
        @names = @f and next if !@names;
        my %p;
        @p{@names} = @f;
        my $who = "$p{pid} ";
        if ($p{name} =~ /^PoolAlloc/ && hex $p{addr}) {
            my $s = $sum{$place->(($p{site_symbol} // '') =~ s/^"|"$//gr)} //= {map { ($_ => 0) } qw(live peak bytes count objects temporary)};
            $object{$who . $p{addr}} = [$p{size}, $s];
            $s->{live} += $p{size};
            ++$s->{objects};
            $s->{bytes} += $p{size};
            ++$s->{count};
            $live += $p{size};
            $peaks->();
            $last{"$who$p{tid}"} = $p{addr};
        } elsif ($p{name} =~ /^PoolFree/) {
            my $o = delete $object{$who . $p{addr}} or next;
            $o->[1]{live} -= $o->[0];
            --$o->[1]{objects};
            $live -= $o->[0];
            ++$o->[1]{temporary} if ($last{"$who$p{tid}"} // '') eq $p{addr};
            $last{"$who$p{tid}"} = '';
        } elsif ($p{name} =~ /^PoolResizeEnd/ && hex $p{addr}) {
            # What was there before, and becomes known by this, has not been allocated now.
            my $o = delete $object{$who . $p{old}} // [$p{size}, {live => $p{size}, objects => 1}, $live += $p{size}];
            my $s = $sum{$place->(($p{site_symbol} // '') =~ s/^"|"$//gr)} //= {map { ($_ => 0) } qw(live peak bytes count objects temporary)};
            $o->[1]{live} -= $o->[0];
            --$o->[1]{objects};
            $s->{live} += $p{size};
            ++$s->{objects};
            $s->{bytes} += $p{size} - $o->[0] if $p{size} > $o->[0];
            $live += $p{size} - $o->[0];
            $object{$who . $p{addr}} = [$p{size}, $s];
            $peaks->();
            $last{"$who$p{tid}"} = '';
        }
    }
    return ($most, \%sum);
}

# How many lines are not as the oracle has them.
sub compare {
    my ($name, $log, @options) = @_;
    my ($most, $sum) = oracle($log, @options);
    my $doc = view_json('sites', @options, $log);
    my %line = byPlace($doc);
    my @wrong = grep {
        my ($l, $s) = ($line{$_}, $sum->{$_});
        !$l || $l->{peak_bytes} != $s->{peak} || $l->{left_bytes} != $s->{live} || $l->{left_objects} != $s->{objects}
            || $l->{allocated_bytes} != $s->{bytes} || $l->{allocated_objects} != $s->{count}
            || $l->{temporary_objects} != $s->{temporary}
    } keys %$sum;

    is($doc->{peak_bytes}, $most, "$name: the peak");
    is(scalar @wrong, 0, "$name: " . keys(%$sum) . ' callers, each with what it allocated, had, and left')
        or diag join "\n", map { my $n = $_; "$n ($sum->{$n}{peak} $sum->{$n}{live} $sum->{$n}{bytes}): " . join ' ', map { "$_=" . ($line{$n}{$_} // '') } qw(peak_bytes left_bytes allocated_bytes temporary_objects) } @wrong;
    is(scalar(keys %line), scalar(keys %$sum), 'and no others');
    return $doc;
}

sub record {
    my ($log, @program) = @_;
    my ($status, $out, $err) = run("$B/bin/eventrec", '--force', '-s', 1, '-p', 'block', '-o', $log, @program);

    is($status, 0, "$program[0] is recorded") or diag $err;
    return $out;
}

subtest 'without callers' => sub {
    my $log = "$Dir/single.paw";
    system("$B/test/heaptest", 'single', $log) == 0 or die;
    my $doc = view_json('sites', $log);
    is_deeply([map { $_->{module} } @{$doc->{sites}}], [undef], 'one line');
    is($doc->{callers}, 'none', 'no callers');
    my $summary = view_json('summary', $log);
    is($doc->{"${_}_bytes"}, $summary->{"${_}_bytes"}, $_) for 'peak';
    is($doc->{left_bytes}, $summary->{live_bytes}, 'left');
    like((view('sites', $log))[1], qr/^callers +were not recorded: eventrec -s 16 .* -s 1 /m, 'and how they are recorded');
    like((view('sites', $log))[1], qr/\(not known\)$/m, 'not known');
    is((view('live', '--by', 'left', $log))[0], 2, '--by means nothing to live');
    is_deeply(view_json('sites', '-k', 'Pool', $log)->{sites}, [], 'no events, no lines');
    like((view('sites', '-k', 'Pool', $log))[1], qr/^no Object events/m, 'which is said');
};

subtest 'the family of a made log' => sub {
    my $log = "$Dir/family.paw";
    system("$B/test/heaptest", 'family', $log) == 0 or die;
    my ($doc, $summary) = (view_json('sites', $log), view_json('summary', $log));
    is_deeply([@$doc{qw(peak_bytes peak_objects left_bytes left_objects peak_at)}],
              [@$summary{qw(peak_bytes peak_objects live_bytes live_objects peak_at)}], 'as the summary has it');
};

# The processor time that `eventview sites` takes for a log, the least of three, and what it prints.
sub sitesTime {
    my ($log) = @_;
    my ($least, $out);

    for (1 .. 3) {
        my $before = (times)[2];
        (my $status, $out) = view('sites', $log);
        my $took = (times)[2] - $before;
        is($status, 0, 'is read');
        $least = $took if !defined $least || $took < $least;
    }
    return ($least, $out);
}

# Each stack is a call from the one before, and the first one's caller was not found: a log from nowhere may say so.
subtest 'stacks that are a chain of any length' => sub {
    my (%time, %broken);
    for my $length (5000, 20000) {
        my $log = "$Dir/chain.paw";
        system("$B/test/heaptest", "chain$length", $log) == 0 or die;
        ($time{$length}, my $out) = sitesTime($log);
        ($broken{$length}) = $out =~ /^broken stacks +(\d+) /m;
    }
    is_deeply(\%broken, {5000 => 255, 20000 => 255}, 'nobody looks further out than to the 255th caller');
    cmp_ok($time{20000}, '<', 10 * ($time{5000} + 0.01), 'so that four times as many stacks take about four times as long');
};

# No other variety has events per object: what follows records programs.
if (($ENV{VARIETY} // 'cool') ne 'cool') { done_testing; exit }

subtest 'allocations that are known by construction' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $log = "$Dir/sites.paw";
    record($log, "$B/prog/sites");
    my $doc = view_json('sites', $log);
    my %of = map { ($_->{function} // '' => $_) } grep { ($_->{module} // '') =~ m{/sites$} } @{$doc->{sites}};
    my @keys = qw(peak_bytes left_bytes left_objects allocated_bytes allocated_objects resizes temporary_objects);
    my %want = (
        # The child has the keeper's objects, too, and leaves 70 of them.
        keeper  => [100_000, 170_000, 170, 100_000, 100, 0, 0],
        peaker  => [1_000_000, 0, 0, 1_000_000, 50, 0, 0],
        brief   => [0, 0, 0, 64_000, 1000, 0, 1000],
        grower  => [0, 0, 0, 100, 1, 0, 0],
        regrow  => [0, 2_000, 2, 900, 0, 9, 0],
        aligner => [0, 6 * 4096, 6, 7 * 4096, 7, 0, 0],
        child   => [0, 2_500, 5, 2_500, 5, 0, 0],
        swapper => [0, 0, 0, 9_600, 300, 0, 0],
    );
    is_deeply([@{$of{$_} // {}}{@keys}], $want{$_}, "$_: @keys") for sort keys %want;
    is($of{keeper}{earlier_objects}, 100, 'the child had so many from its parent');
    is($doc->{sites}[0]{function}, 'peaker', 'the first line is who held most at the peak');
    for my $order (['left', 'keeper'], ['allocated', 'peaker'], ['calls', 'brief'], ['temporary', 'brief']) {
        is(view_json('sites', '--by', $order->[0], $log)->{sites}[0]{function}, $order->[1], "by $order->[0]: $order->[1]");
    }
    my $summary = view_json('summary', $log);
    is_deeply([@$doc{qw(peak_bytes peak_objects left_bytes left_objects)}],
              [@$summary{qw(peak_bytes peak_objects live_bytes live_objects)}], 'sums as the summary has them');
    is_deeply([map { "$_->{function} $_->{peak_bytes}" } @{$summary->{most_at_peak}}[0, 1]], ['peaker 1000000', 'keeper 100000'],
              'the summary names who holds most at the peak');
    like((view($log))[1], qr/^most at peak +976\.6 KiB +\d+\.\d%  peaker \(sites\)$/m, 'for people, too');
    my ($text) = (view('sites', '--top', 2, $log))[1];
    like($text, qr/^ +\d+\.\d% +976\.6 KiB +0 B +976\.6 KiB +50 +0  peaker \(sites\)$/m, 'for people');
    like($text, qr/^ .* \d+ others \(--top\)$/m, 'and the others');
    is((grep { length > 80 } split /\n/, $text =~ s/^(peak|callers) .*$//mgr), 0, 'in 80 columns');
    my $both = view_json('summary,sites', $log);
    is_deeply($both, {summary => $summary, sites => $doc}, 'several views have what each has alone');
};

# All nodes of a tree, with the functions from its root on as names; and how many have less than their children together.
sub nodes {
    my ($tree, $path, $into) = @_;
    my $wrong = 0;

    for my $node (@$tree) {
        my $name = join ';', grep { defined } $path, $node->{function} // '?';
        $into->{$name} = $node;
        my $sum = 0;
        $sum += $_->{peak_bytes} for @{$node->{children}};
        $wrong += $sum > $node->{peak_bytes} || nodes($node->{children}, $name, $into);
    }
    return $wrong;
}

subtest 'stacks' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $log = "$Dir/stacks.paw";
    my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 16, '-o', $log, "$B/prog/sites");
    is($status, 0, 'recorded') or diag $err;
    my ($doc, %down, %up) = view_json('sites', '--tree', 'down', $log);
    is($doc->{callers}, 'stacks', 'callers are stacks');
    my %of = map { ($_->{function} // '' => $_) } @{$doc->{sites}};
    is_deeply([map { $of{$_}{allocated_objects} } qw(keeper peaker brief swapper grower aligner child)], [100, 50, 1000, 300, 1, 7, 5],
              'a line is the innermost caller');
    is(nodes($doc->{tree}, undef, \%down), 0, 'down: no node has less than its children');
    my ($regrow) = grep { /;main;grower;regrow$/ } keys %down;
    ok(defined $regrow, 'from main to who asked for it');
    is($down{$regrow}{allocated_bytes}, 900, 'what that allocated');
    my ($main) = grep { /(^|;)main$/ } keys %down;
    is($down{$main}{peak_bytes}, $doc->{peak_bytes} - $_, 'main has all of it, but what the library needs at its beginning')
        for sub { my $rest = 0; $rest += $_->{peak_bytes} for grep { ($_->{function} // '') !~ /^(keeper|peaker)$/ } @{$doc->{sites}}; $rest }->();
    is(nodes(view_json('sites', '--tree', 'up', $log)->{tree}, undef, \%up), 0, 'up: no node has less than its children');
    is($up{'regrow;grower;main'}{left_bytes}, 2000, 'from who asked for it to main');
    my $skip = view_json('sites', '--tree', 'up', '--skip', '^reg', $log);
    %of = map { ($_->{function} // '' => $_) } @{$skip->{sites}};
    ok(!exists $of{regrow}, '--skip leaves a caller out');
    is($of{grower}{allocated_bytes}, 1000, 'and its caller has what it had');
    is(view_json('leaks', '--suppressions=' . spew("$Dir/main", "leak:^main\$\n"), $log)->{suppressed_bytes}, 170_000 + 2_000 + 6 * 4096 + 2_500,
       'a suppression may name any caller');
    is((view('sites', '--skip', '(', $log))[0], 2, 'an expression that is none');
    like((view('sites', '--tree', 'up', $log))[1], qr/^ +\d+\.\d% +976\.6 KiB .*- peaker \(sites\)\n.*  main \(sites\)$/m, 'for people');
    is((view('sites', '--tree', 'sideways', $log))[0], 2, 'another tree');
};

# Functions by which programs and libraries allocate for others; what was asked for is their caller's.
subtest 'wrappers' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my @names = qw(xmalloc g_malloc0 zmalloc zmalloc_usable zcalloc_num jv_mem_alloc CRYPTO_strndup av_strdup
                   ggc_internal_alloc palloc gc_alloc _talloc_zero);
    my $c = spew("$Dir/wrappers.c", join "\n", '#include <stdlib.h>', '#define FAR __attribute__((noinline))', 'void *volatile kept;',
        (map { "FAR void $_(size_t size) { kept = malloc(size); }\nFAR void of_$_(void) { $_(1000); __asm__ volatile (\"\"); }" } @names),
        'FAR void zebra(size_t size) { kept = malloc(size); }',
        'int main(void) {', (map { "of_$_();" } @names), 'zebra(1000); return 0; }');
    system(($ENV{CC} // 'cc') . " -g -O1 -o $Dir/wrappers $c 2>$Dir/errors") == 0 or plan skip_all => 'cannot be compiled';
    my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 16, '-o', "$Dir/wrappers.paw", "$Dir/wrappers");
    is($status, 0, 'recorded') or diag $err;
    my %of = map { ($_->{function} // '' => $_->{allocated_bytes}) } @{view_json('sites', "$Dir/wrappers.paw")->{sites}};
    is_deeply({map { ($_ => $of{$_}) } map { ($_, "of_$_") } @names}, {map { ($_ => undef, "of_$_" => 1000) } @names}, 'are left out');
    is($of{zebra}, 1000, 'and a function of another name is not');
};

# Two lines of a function are one caller, or two; a function that was inlined has lines of its own.
subtest 'lines' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my @source = ('#include <stdlib.h>', 'void *volatile kept[4];', # 1, 2
        'static inline __attribute__((always_inline)) void inner(int i) {', '  kept[i] = malloc(100);', '}', # 4
        '__attribute__((noinline)) void both(void) {', '  inner(0);', # 7
        '  kept[1] = malloc(3000);', '  kept[2] = malloc(COUNT * 100);', '  __asm__ volatile ("");', '}', # 8, 9
        'int main(void) {', '  both();', '  return 0;', '}'); # 13
    my $c = spew("$Dir/lined.c", join "\n", @source, '');
    for my $count (5, 7) {
        system(($ENV{CC} // 'cc') . " -g -O1 -DCOUNT=$count -o $Dir/lined$count $c 2>$Dir/errors") == 0 or plan skip_all => 'cannot be compiled';
        my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 16, '-o', "$Dir/lined$count.paw", "$Dir/lined$count");
        is($status, 0, 'recorded') or diag $err;
    }
    my $log = "$Dir/lined5.paw";
    my $of = sub { [map { [$_->{function}, $_->{line}, $_->{left_bytes}] } grep { ($_->{module} // '') =~ m{/lined5$} } @{$_[0]{sites}}] };
    my $doc = view_json('sites', '--lines', $log);
    is_deeply($of->($doc), [['both', 8, 3000], ['both', 9, 500], ['inner', 4, 100]], 'each line is a caller');
    is((grep { ($_->{file} // '') eq $c } @{$doc->{sites}}), 3, 'of a file') or diag explain $doc->{sites};
    is_deeply($of->(view_json('sites', $log)), [['both', undef, 3500], ['inner', undef, 100]], 'without --lines each function is');
    like((view('sites', '--lines', $log))[1], qr/ both \(lined5\) at lined\.c:8$/m, 'for people');
    my %up;
    nodes(view_json('sites', '--lines', '--tree', 'up', $log)->{tree}, undef, \%up);
    is_deeply([map { $_->{line} } @up{'inner', 'inner;both', 'inner;both;main'}], [4, 7, 13], 'a tree has the lines of calls');
    my ($inner) = grep { ($_->{function} // '') eq 'inner' } @{view_json('leaks', '--lines', $log)->{leaks}};
    is($inner->{line}, 4, 'leaks');
    my $left = view_json('leaks', '--lines', '--suppressions=' . spew("$Dir/file", "leak:lined.c\n"), $log);
    is((grep { ($_->{module} // '') =~ /lined5$/ } @{$left->{leaks}}), 0, 'a suppression may name the file');
    my @changed = map { [$_->{line}, $_->{old}{left_bytes}, $_->{new}{left_bytes}] } grep { ($_->{function} // '') eq 'both' }
        @{view_json('diff', '--lines', '--by', 'left', $log, "$Dir/lined7.paw")->{sites}};
    is_deeply(\@changed, [[9, 500, 700], [8, 3000, 3000]], 'diff compares each line') or diag explain \@changed;
    my %names = map { ($_->{name} => 1) } @{view_json('report', '--lines', $log)->{functions}};
    ok($names{'both at lined.c:8'}, 'the report');
    is((view('sizes', '--lines', $log))[0], 2, 'a view without callers refuses it');
};

# More modules with code than the shell lets files be open.
subtest 'many modules' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $part = spew("$Dir/part.c", "#include <stdlib.h>\nvoid *part(void) { void *p = malloc(100); __asm__ volatile (\"\"); return p; }\n");
    my $loads = spew("$Dir/loads.c", join "\n", '#include <dlfcn.h>', '#include <stddef.h>', 'int main(int n, char **arg) { int i; for (i = 1; i < n; ++i) {',
        'void *(*part)(void); void *library = dlopen(arg[i], RTLD_NOW); if (library == NULL) return 1;',
        '*(void **)&part = dlsym(library, "part"); part(); } return 0; }', '');
    my $cc = $ENV{CC} // 'cc';
    system("$cc -g -O1 -shared -fPIC -o $Dir/part0.so $part && $cc -O1 -o $Dir/loads $loads -ldl") == 0 or plan skip_all => 'cannot be compiled';
    my @parts = map { "$Dir/part$_.so" } 0 .. 79;
    copy($parts[0], $_) or die "$_: $!" for @parts[1 .. $#parts];
    my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 16, '-o', "$Dir/loads.paw", "$Dir/loads", @parts);
    is($status, 0, 'recorded') or diag $err;
    my $text = `ulimit -Sn 64; $B/bin/eventview sites --lines --json $Dir/loads.paw 2>$Dir/errors`;
    my @sites = grep { ($_->{function} // '') eq 'part' && $_->{line} == 2 } @{decode_json($text)->{sites}};
    is(scalar(keys %{{map { ($_->{module} => 1) } @sites}}), 80, 'functions and lines of all are found');
    is(slurp("$Dir/errors"), '', 'without a word');
};

# Two libraries that take turns at one address, more often than anybody looks at one after the other.
subtest 'modules that take turns' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $turns = spew("$Dir/turns.c", join "\n", '#include <dlfcn.h>', '#include <stddef.h>', 'int main(int n, char **arg) { int i; for (i = 0; i < 140; ++i) {',
        'void *(*get)(void); void *library = dlopen(arg[1 + i % 2], RTLD_NOW); if (library == NULL) return 1;',
        '*(void **)&get = dlsym(library, "get"); get(); dlclose(library); } return n - 3; }', '');
    my $cc = $ENV{CC} // 'cc';
    for (qw(odd even)) {
        my $c = spew("$Dir/$_.c", "#include <stdlib.h>\n__attribute__((noinline)) static void *$_(void)\n" .
            "{ void *p = malloc(100); __asm__ volatile (\"\" : : \"r\"(p)); return p; }\n" .
            "void *get(void) { void *p = $_(); __asm__ volatile (\"\"); return p; }\n");
        system("$cc -g -O1 -shared -fPIC -o $Dir/$_.so $c") == 0 or plan skip_all => 'cannot be compiled';
    }
    system("$cc -O1 -o $Dir/turns $turns -ldl") == 0 or plan skip_all => 'cannot be compiled';
    for my $depth (16, 1) {
        my ($status, undef, $err) = run("$B/bin/eventrec", '-s', $depth, '-o', "$Dir/turns$depth.paw", '--', "$Dir/turns", "$Dir/even.so", "$Dir/odd.so");
        is($status, 0, "recorded with -s $depth") or diag $err;
        my %sites = byPlace(view_json('sites', "$Dir/turns$depth.paw"));
        is_deeply([map { $_->{allocated_objects} } @sites{qw(even odd)}], [70, 70], 'each has what it allocated');
    }
};

subtest 'a place without symbols' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $bare = spew("$Dir/bare.c", "#include <stdlib.h>\nvoid *volatile kept;\nint main(void) { kept = malloc(4321); return 0; }\n");
    my $cc = $ENV{CC} // 'cc';
    system("$cc -O1 -s -o $Dir/bare $bare") == 0 or plan skip_all => 'cannot be compiled';
    my @numbers;
    for my $depth (1, 16) {
        my $log = "$Dir/bare$depth.paw";
        run("$B/bin/eventrec", '-s', $depth, '-o', $log, "$Dir/bare");
        push @numbers, map { $_->{offset} } grep { $_->{allocated_bytes} == 4321 } @{view_json('sites', $log)->{sites}};
        push @numbers, (run("$B/bin/eventcnv", '-f', 'folded', $log))[1] =~ /bare\+(\w+) 4321$/m;
    }
    is_deeply(\@numbers, [($numbers[0]) x 4], 'has one number, with sites and with stacks, in a view and in folded stacks');
};

subtest 'wrappers of malloc' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $log = "$Dir/wrapped.paw";
    my $is = sub {
        my ($want, $name, @options) = @_;
        my %got = map { $_->{function} => $_->{allocated_objects} }
            grep { ($_->{module} // '') =~ m{/wrapped$} } @{view_json('sites', @options, $log)->{sites}};
        is_deeply(\%got, $want, $name) or diag explain \%got;
    };
    my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 16, '-o', $log, "$B/prog/wrapped");
    is($status, 0, 'recorded') or diag $err;
    my %callers = map { $_ => 10 } qw(byX byGlib byNew byPython bySqlite bySafe);
    $is->({%callers, getMemory => 10}, 'are left out of stacks, one behind another, too');
    $is->({%callers, byOwn => 10}, 'and so is what --skip names', '--skip', '^get');
    unlike((view('sites', $log))[1], qr/^stacks +are/m, 'a program that is compiled has all its frames');
    record($log, "$B/prog/wrapped");
    $is->({xmalloc => 20, g_malloc => 10, 'operator new' => 10, _PyMem_RawMalloc => 10, sqlite3Malloc => 10, getMemory => 10},
          'where only immediate callers are recorded, a wrapper is one') if `c++filt _Znwm 2>/dev/null` =~ /operator new/;
};

subtest 'files that a log names' => sub {
    plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my ($own, $log, $none) = map { "$Dir/named$_" } '', '.paw', 'none.paw';
    copy("$B/prog/sites", $own) and chmod 0755, $own;
    run("$B/bin/eventrec", '-s', 1, '-o', $log, $own);
    run("$B/bin/eventrec", '-s', 0, '-o', $none, $own);
    plan skip_all => 'no inotify' if !defined((opens($own, "$B/bin/eventview", 'sites', $log))[0]);
    my $opened = sub {
        my ($of, @views) = @_;
        return join ' ', grep { (opens($own, "$B/bin/eventview", $_, '--json', $of))[0] } @views;
    };
    my @callers = qw(summary live sites leaks growth);
    is($opened->($log, @callers), "@callers", 'are opened by the views that name callers,');
    is($opened->($log, qw(events sizes lifetimes pools timeline threads collections)), '', 'by no others,');
    is($opened->($none, @callers), '', 'and only if callers were recorded');
};

subtest 'real programs' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $stacks = "$Dir/interpreted.paw";
    run("$B/bin/eventrec", '-s', 16, '-o', $stacks, 'perl', '-e', 'my @a = map { [$_] } 1 .. 100');
    like((view('sites', $stacks))[1], qr/^stacks +are those of machine code: /m, 'that frames of Perl are not shown is said');
    my $log = "$Dir/perl.paw";
    record($log, 'perl', '-e', 'my %h; for (1 .. 6000) { $h{$_ % 500} = "x" x ($_ % 300); delete $h{($_ * 7) % 500} }');
    my $doc = compare('perl', $log);
    is($doc->{callers}, 'sites', 'callers are known');
    compare('half of it', $log, '--to', '0.01');
    compare('the rest', $log, '--from', '0.01');
    record($log, 'sort', '-o', '/dev/null', spew("$Dir/numbers", join '', map { int(rand 1e6) . "\n" } 1 .. 20000));
    compare('sort', $log);
};

done_testing;
