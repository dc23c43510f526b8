#!/usr/bin/perl
# drawn.t -- logs as pictures: chrome, paje and folded, held against what other tools say of the same log
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp run);
use Encode ();
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

my $B = $ENV{B} // 'build/cool';
my $dir = tempdir(CLEANUP => 1);
my $objects = ($ENV{VARIETY} // 'cool') eq 'cool' && !$ENV{SAN};

open STDIN, '<', '/dev/null' or die;

# cnv(argument...) -- standard output, standard error, status
sub cnv {
  my ($status, $out, $err) = run("$B/bin/eventcnv", @_);

  return ($out, $err, $status);
}

sub summary { JSON::PP->new->decode(scalar `$B/bin/eventview summary --json --force $_[0] 2>/dev/null`) }

# ---- What must be true of each ----

# A chrome trace: returns its events, and what is wrong with it.
sub chrome {
  my ($text) = @_;
  my %keys = (M => [qw(pid name args)], C => [qw(pid name ts args)], i => [qw(pid tid name ts s args)],
              B => [qw(pid tid name ts args)], E => [qw(pid tid ts)]);
  my (%last, %open, %named, @wrong);
  my $document = eval { JSON::PP->new->utf8->decode($text) } or return ([], "no JSON: $@");

  for my $event (@{$document->{traceEvents}}) {
    my $want = $keys{$event->{ph}};
    if (!$want || grep { !exists $event->{$_} } @$want) {
      push @wrong, 'not an event: ' . JSON::PP->new->canonical->encode($event);
      next;
    }
    my $lane = "$event->{pid}/" . ($event->{ph} eq 'C' ? $event->{name} : $event->{tid} // '');
    if ($event->{ph} eq 'M') {
      $named{$event->{name} eq 'process_name' ? $event->{pid} : $lane} = 1;
      next;
    }
    push @wrong, "$lane is not named" if $event->{ph} ne 'C' && !$named{$lane};
    push @wrong, "process $event->{pid} is not named" if !$named{$event->{pid}};
    push @wrong, "$lane goes back to $event->{ts}" if $event->{ts} < ($last{$lane} // 0);
    $last{$lane} = $event->{ts};
    push @{$open{$lane}}, $event->{name} if $event->{ph} eq 'B';
    if ($event->{ph} eq 'E') {
      my $inner = pop @{$open{$lane}};
      push @wrong, "$lane ends a slice that is not open" if !defined $inner || $inner ne ($event->{name} // $inner);
    }
    push @wrong, "a counter that is no number: $event->{name}" if $event->{ph} eq 'C' && !defined $event->{args}{value};
  }
  push @wrong, map { @{$open{$_}} ? "$_ has slices without end" : () } sort keys %open;
  return ($document->{traceEvents}, join "\n", @wrong[0 .. ($#wrong > 9 ? 9 : $#wrong)]);
}

# A Paje trace: returns what was written, by name of its event, and what is wrong with it.
sub paje {
  my ($text) = @_;
  my %need = (PajeDefineContainerType => 'Name Type', PajeDefineStateType => 'Name Type', PajeDefineEventType => 'Name Type',
              PajeDefineVariableType => 'Name Type', PajeDefineEntityValue => 'Name Type',
              PajeCreateContainer => 'Time Name Type Container', PajeDestroyContainer => 'Time Name Type',
              PajePushState => 'Time Type Container Value', PajePopState => 'Time Type Container',
              PajeNewEvent => 'Time Type Container Value', PajeSetVariable => 'Time Type Container Value');
  my %is = (date => qr/^\d+\.\d+$/, string => qr/^/, double => qr/^-?\d+(?:\.\d+)?$/, color => qr/^"[0-9.]+ [0-9.]+ [0-9.]+"$/);
  my (%definition, $open, %type, %value, %container, %depth, $now, @wrong, %got);

  for my $line (split /\n/, $text) {
    if ($line =~ /^%/) {
      my (undef, @words) = split /[%\s]+/, $line;
      if ($words[0] eq 'EventDef') {
        $open = {name => $words[1], fields => []};
        $definition{$words[2]} = $open;
      } elsif ($words[0] eq 'EndEventDef') {
        my %has = map { $_->[0] => 1 } @{$open->{fields}};
        push @wrong, "$open->{name} lacks $_" for grep { !$has{$_} } split ' ', $need{$open->{name}} // 'such an event';
        undef $open;
      } else {
        push @{$open->{fields}}, [@words];
      }
      next;
    }
    my @words = $line =~ /("[^"]*"|[^\s"]+)/g;
    my $event = $definition{shift @words};
    if (!$event || @words != @{$event->{fields}}) {
      push @wrong, "not as defined: $line";
      next;
    }
    my %field;
    for my $i (0 .. $#words) {
      my ($name, $how) = @{$event->{fields}[$i]};
      push @wrong, "$name is no $how: $line" if $words[$i] !~ $is{$how};
      ($field{$name} = $words[$i]) =~ s/^"(.*)"$/$1/s;
    }
    if (defined $field{Time}) {
      push @wrong, "time goes back: $line" if defined $now && $field{Time} < $now;
      $now = $field{Time};
    }
    (my $what = $event->{name}) =~ s/^Paje//;
    push @{$got{$what}}, \%field;
    if ($what =~ /^Define(.*)/) {
      push @wrong, "unknown type: $line" if $field{Type} ne '0' && !$type{$field{Type}};
      my $where = $1 eq 'EntityValue' ? \%value : \%type;
      push @wrong, "defined twice: $line" if $where->{$field{Alias}};
      $where->{$field{Alias}} = {%field, what => $1};
    } elsif ($what eq 'CreateContainer') {
      my $parent = $type{$field{Type}}{Type} // 'no type';
      push @wrong, "not made once: $line" if $container{$field{Alias}};
      push @wrong, "in the wrong place: $line"
          if $field{Container} eq '0' ? $parent ne '0' : ($container{$field{Container}}{Type} // '') ne $parent;
      push @wrong, "a name twice: $line" if grep { $_->{Name} eq $field{Name} } values %container;
      $container{$field{Alias}} = {%field};
      ++$container{$field{Container}}{children} if $field{Container} ne '0';
    } elsif ($what eq 'DestroyContainer') {
      my $gone = $container{$field{Name}};
      push @wrong, "not there: $line" if !$gone || $gone->{gone}++ || $gone->{children} || $depth{$field{Name}};
      --$container{$gone->{Container}}{children} if $gone && $gone->{Container} ne '0';
    } else {
      my $in = $container{$field{Container}};
      push @wrong, "no such container: $line" if !$in || $in->{gone} || ($type{$field{Type}}{Type} // '') ne $in->{Type};
      push @wrong, "no such value: $line"
          if $what eq 'PushState' && ($value{$field{Value}}{Type} // '') ne $field{Type};
      ++$depth{$field{Container}} if $what eq 'PushState';
      push @wrong, "nothing to pop: $line" if $what eq 'PopState' && $depth{$field{Container}}-- < 1;
    }
  }
  push @wrong, "never destroyed: $_" for grep { !$container{$_}{gone} } sort keys %container;
  $got{type} = \%type;
  $got{value} = \%value;
  $got{container} = \%container;
  return (\%got, join "\n", @wrong[0 .. ($#wrong > 9 ? 9 : $#wrong)]);
}

# Folded stacks: returns the sum, the stacks with their values, and what is wrong.
sub folded {
  my ($text) = @_;
  my ($sum, %stack, @wrong) = 0;

  push @wrong, 'no UTF-8' if !eval { Encode::decode('UTF-8', my $copy = $text, Encode::FB_CROAK); 1 };
  for my $line (split /\n/, $text) {
    my ($frames, $value) = $line =~ /^([^\0-\x1f\x7f]+) (\d+)$/;
    if (!defined $value || grep { $_ eq '' } split /;/, $frames, -1) {
      push @wrong, "no stack: $line";
      next;
    }
    # A child of fork that executes a program of its own name may have the same stacks as before.
    push @wrong, "twice: $frames" if defined $stack{$frames} && $frames !~ /^sh \d+;/;
    $stack{$frames} += $value;
    $sum += $value;
  }
  return ($sum, \%stack, join "\n", @wrong);
}

# ---- Logs as they should be ----

# thinned(events) -- the counters and marks of a thinned trace that are written more often than they should be.  A counter that
# has a peak in each interval has two values of each, and so four values are not closer than one interval.
sub thinned {
  my ($events) = @_;
  my (%times, @wrong);
  my $end = 0;

  for my $event (@$events) {
    next if $event->{ph} eq 'M';
    $end = $event->{ts} if $event->{ts} > $end;
    push @{$times{"$event->{ph} $event->{pid}/" . ($event->{tid} // '') . " $event->{name}"}}, $event->{ts} if $event->{ph} =~ /[Ci]/;
  }
  my $interval = $end / 50000 > 100 ? $end / 50000 : 100;
  for my $what (sort keys %times) {
    my $step = $what =~ /^C/ ? 3 : 1;
    my @ts = @{$times{$what}};
    my @close = grep { $ts[$_ + $step] - $ts[$_] < $interval - 0.01 } 0 .. $#ts - $step;
    push @wrong, "$what at $ts[$close[0]]" if @close;
  }
  return join "\n", @wrong;
}

# history($events) -- what a picture says of what lives, by process and name; and the last names of its lanes.
sub history {
  my ($events) = @_;
  my (%values, %names);

  for my $event (@$events) {
    push @{$values{"$event->{pid} $event->{name}"}}, [$event->{ts}, $event->{args}{value}]
        if $event->{ph} eq 'C' && $event->{name} =~ /^(?:live|pool) /;
    $names{"$event->{pid}/$event->{tid}"} = $event->{args}{name} if $event->{ph} eq 'M' && $event->{name} eq 'thread_name';
  }
  return (\%values, \%names);
}

# window($name, $log, $events) -- a picture that begins in the middle is that of the whole log from there on; all are drawn.
sub window {
  my ($name, $log, $events) = @_;
  my @times = map { $_->{ph} eq 'M' ? () : $_->{ts} } @$events;
  my $from = @times ? $times[@times / 2] : 0;
  my ($part, $wrong) = chrome((cnv('-f', 'chrome', '--thin', '0', '--from', sprintf('%.9f', $from / 1e6), $log))[0]);
  my ($values, $names) = history($part);
  my ($all, $known) = history($events);
  my @wrong = map { ($known->{$_} // '') ne $names->{$_} ? "$_ is called $names->{$_}" : () } sort keys %$names;

  for my $what (sort keys %$values) {
    my ($first, @rest) = @{$values->{$what}};
    my @before = grep { $_->[0] < $first->[0] } @{$all->{$what}};
    my @after = @{$all->{$what}}[@{$all->{$what}} - @rest .. $#{$all->{$what}}];
    push @wrong, "$what begins with $first->[1]"
        unless (@before && $first->[1] == $before[-1][1]) || grep { "@$_" eq "@$first" } @{$all->{$what}};
    push @wrong, "$what goes on otherwise" if join(' ', map { "@$_" } @rest) ne join(' ', map { "@$_" } @after);
  }
  is join("\n", $wrong, @wrong), '', "$name: from the middle on it is as it is in the whole";
}

# All of one log that should hold in any case.
sub sound {
  my ($name, $log, %with) = @_;
  my $summary = summary($log);
  my $heap = $summary;
  my $n = keys %{{map { (split)[1] => 1 } split /\n/, `$B/bin/eventcnv $log 2>/dev/null`}};
  my @events;

  for my $thin ([], ['--thin', '0']) {
    my ($text, $err, $status) = cnv('-f', 'chrome', @$thin, $log);
    (my $events, my $wrong) = chrome($text);
    my %lanes = map { $_->{ph} eq 'M' && $_->{name} eq 'thread_name' ? ("$_->{pid}/$_->{tid}" => 1) : () } @$events;
    is $wrong, '', "$name: a sound chrome trace @$thin";
    is scalar(keys %lanes), $with{lanes} // $n, 'has a lane for each thread';
    my (%live, %count, $peak);
    # A process that has ended has nothing that lives; the summary says what it had then, which thinning may leave out.
    my $ended = `$B/bin/eventcnv -E ProcessExit $log 2>/dev/null` ne '';
    for (grep { $_->{ph} eq 'C' } @$events) {
      $live{$_->{pid}} = $_->{args}{value} if $_->{name} eq 'live bytes';
      $count{$_->{pid}} = $_->{args}{value} if $_->{name} eq 'live objects';
      $peak = $_->{args}{value} if $_->{name} eq 'live bytes' && $_->{args}{value} > ($peak // -1);
    }
    my ($bytes, $objects) = (0, 0);
    $bytes += $_ for values %live;
    $objects += $_ for values %count;
    # Nothing lives in a process that has ended; the summary says what it had then.
    is $bytes, $ended ? 0 : $heap->{live_bytes} // 0, 'and the live bytes of the summary at its end';
    is $objects, $ended ? 0 : $heap->{live_objects} // 0, 'and the live objects';
    is $peak // 0, $heap->{peak_bytes} // 0, 'and its peak' if keys %live == 1;
    is thinned($events), '', 'and no more than thinning leaves' if !@$thin;
    push @events, $events;

    ($text, $err, $status) = cnv('-f', 'paje', @$thin, $log);
    (my $got, $wrong) = paje($text);
    is $wrong, '', "$name: a sound Paje trace @$thin";
    my ($variable) = grep { $_->{what} eq 'VariableType' && $_->{Name} eq 'live bytes' && $_->{Type} eq 'P' } values %{$got->{type}};
    %live = map { $variable && $_->{Type} eq $variable->{Alias} ? ($_->{Container} => $_->{Value}) : () } @{$got->{SetVariable}};
    $bytes = 0;
    $bytes += $_ for values %live;
    is $bytes, $ended ? 0 : $heap->{live_bytes} // 0, 'with the same live bytes';
    is scalar(grep { $_->{Type} eq 'T' } values %{$got->{container}}), $with{lanes} // $n, 'and threads';
  }
  cmp_ok scalar(@{$events[0]}), '<=', scalar(@{$events[1]}), 'thinned there is no more of it';
  window($name, $log, $events[1]);
  my %total = (bytes => 'total_bytes', count => 'allocations', live => 'live_bytes');
  for my $value (sort keys %total) {
    my ($sum, undef, $wrong) = folded((cnv('-f', 'folded', '--value', $value, $log))[0]);
    is "$sum$wrong", $heap->{$total{$value}} // 0, "$name: folded by $value, the sum is that of the summary";
  }
  return @events;
}

for my $log (glob 'test/good/*.paw') {
  sound($log, $log);
}

SKIP: {
  skip 'nothing is recorded of objects here', 1 if !$objects;
  my $perl = $ENV{PERL} // 'perl';
  my $script = 'my %h; for (1 .. 3000) { $h{$_ % 700} = "x" x ($_ % 3000) } print scalar keys %h';

  # Perl, without sites and with them.
  system("$B/bin/eventrec -o $dir/perl.paw -- $perl -e '$script' >/dev/null 2>&1") == 0 or die;
  my ($thinned, $all) = sound('perl', "$dir/perl.paw");
  cmp_ok scalar(@$thinned) * 5, '<', scalar(@$all), 'thinning leaves a fifth at most';
  my ($sum, $stacks) = folded((cnv('-f', 'folded', "$dir/perl.paw"))[0]);
  is scalar(grep { !/^perl[^;]*;main;pool \d+ malloc;(?:0|\d+[KMG]? to \d+[KMG]?)$/ } keys %$stacks), 0,
    'stacks are process, thread, pool, sizes';
  my ($class) = grep { /;2K to 4K$/ } keys %$stacks;
  cmp_ok $class ? $stacks->{$class} : 0, '>', 700 * 2048, 'of which the large ones are many';

  system("$B/bin/eventrec -s 1 -o $dir/site.paw -- $perl -e 'if (fork) { wait } else { $script }' >/dev/null 2>&1") == 0 or die;
  ($sum, $stacks) = folded((cnv('-f', 'folded', "$dir/site.paw"))[0]);
  is $sum, summary("$dir/site.paw")->{total_bytes}, 'with sites the sum is the same';
  my @sites = grep { !/;pool/ } keys %$stacks;
  cmp_ok scalar(@sites), '>', 10, 'there are many sites';
  is scalar(grep { !/^[^;]+;\S+\+0x[0-9a-f]+$/ } @sites), 0, 'each in a module, in the child, too';
  is scalar(keys %{{map { (split /;/)[0] => 1 } @sites}}), 2, 'which is a process of its own';

  # Who called: of a program whose calls are known.
  system("$B/bin/eventrec -s 16 -p block -o $dir/calls.paw -- $B/prog/large >/dev/null 2>&1") == 0 or die;
  for my $symbols ([], ['--symbols']) {
    my ($text) = cnv('-f', 'chrome', '--thin', 0, @$symbols, "$dir/calls.paw");
    my ($events, $wrong) = chrome($text);
    my $frames = JSON::PP->new->utf8->decode($text)->{stackFrames};
    my @wrong = grep { my $up = $frames->{$_}{parent}; defined $up && !($up < $_ && $frames->{$up}) } keys %$frames;
    my $stack = sub {
      my ($id, @names) = @_;
      while (defined $id) {
        push @names, "$frames->{$id}{name} in $frames->{$id}{category}";
        $id = $frames->{$id}{parent};
      }
      return @names;
    };
    is "$wrong@wrong", '', "frames come before those that they call @$symbols";
    my @marks = map { $_->{ph} eq 'i' && $_->{name} eq 'PoolAllocStack' ? $_ : () } @$events;
    my @ends = map { $_->{ph} eq 'E' && defined $_->{esf} ? $_ : () } @$events;
    my @is = (join(' < ', ($stack->($marks[0]{sf}))[0 .. 2]), join(' < ', ($stack->($ends[0]{esf}))[0 .. 1]));
    my @caller = map { $_->{args}{caller_symbol} } $marks[0], $ends[0];
    if (@$symbols) {
      is_deeply \@is, ['taker in large < between in large < main in large', 'grower in large < main in large'],
        'an allocation has its callers, and so has a resize';
      is "@caller", 'taker grower', 'the innermost of which is an argument, too';
    } else {
      is scalar(grep { !/^large\+0x\w+ in large( < large\+0x\w+ in large)+$/ } @is), 0, 'callers are in modules' or diag "@is";
      is scalar(grep { !/^large\+0x/ } @caller), 0, 'the innermost of which is an argument, too';
    }
    is scalar(grep { $_->{name} eq 'StackFrame' } @$events), 0, 'what tells of a frame is no mark';
  }
  system("$B/bin/eventrec -s 2 -p block -o $dir/short.paw -- $B/prog/large >/dev/null 2>&1") == 0 or die;
  my ($short) = cnv('-f', 'chrome', '--symbols', "$dir/short.paw");
  ok scalar(grep { $_->{name} eq '...' && !defined $_->{parent} } values %{JSON::PP->new->utf8->decode($short)->{stackFrames}}),
    'a stack that is cut says so';
  system("$B/bin/eventrec -s 1 -p block -o $dir/one.paw -- $B/prog/large >/dev/null 2>&1") == 0 or die;
  my ($one) = chrome((cnv('-f', 'chrome', '--symbols', "$dir/one.paw"))[0]);
  is join(' ', map { $_->{ph} eq 'i' && $_->{name} eq 'PoolAllocSite' ? $_->{args}{caller_symbol} : () } @$one), 'taker',
    'a site is a caller, too';

  # A program with names of its own, in both modes.
  for my $mode ('observe', 'manage') {
    system("$B/bin/eventrec -k all -m $mode -o $dir/$mode.paw -- $B/prog/drawn >/dev/null 2>&1") == 0 or die;
    my (undef, $events) = sound("drawn, $mode", "$dir/$mode.paw");
    my %names = map { $_->{ph} eq 'M' && $_->{name} eq 'thread_name' ? ($_->{args}{name} => 1) : () } @$events;
    ok $names{'a"b\\c;d'} && $names{"line\n\x{fffd}"} && $names{'plain name'}, 'threads have their names, whatever they are';
    my @trace = map { $_->{name} =~ /^(?:Span|Round|Lost)$/ ? "$_->{ph} $_->{name}" : () } @$events;
    is "@trace[0 .. 9]", 'B Span B Round E Round B Lost E Lost E Span B Span B Round E Round E Span',
      'pairs that the program defines are slices, and what is not ended ends with what is around it';
    is scalar(grep { $_ eq 'B Span' } @trace), 10, 'all of them';
    my ($sweep) = map { $_->{ph} eq 'E' && $_->{name} eq 'Sweep' ? $_->{ts} : () } @$events;
    my ($swept) = `$B/bin/eventcnv -e 'name == "SweepEnd" && sweep == 99' $dir/$mode.paw` =~ /^(\S+)/;
    is sprintf('%.3f', $sweep), sprintf('%.3f', $swept * 1e6), 'what one thread begins another may end, if it says the same';
    my @queue = map { $_->{ph} eq 'C' && $_->{name} =~ /^queue/ ? $_->{args}{value} : () } @$events;
    is "@queue", join(' ', map { $_ * $_ } 0 .. 9), 'what the program counts is a counter';
    is scalar(grep { $_->{ph} eq 'C' && $_->{name} eq 'load' } @$events), 9, 'but for what is no number';
    my ($part) = chrome((cnv('-f', 'chrome', '--thin', 0, '-E', 'UserWord', "$dir/$mode.paw"))[0]);
    is scalar(grep { $_->{ph} eq 'C' && $_->{name} =~ /^queue/ } @$part), 10, 'under its names, whatever is chosen';
    my @words = `$B/bin/eventcnv --describe -E UserWord,UserString $dir/$mode.paw` =~ m{^\S+ \S+ (".*": ).}mg;
    is "@words[9, -2]", qq("queue;length \\"x\\"\\\\\\n\\200%":  "load": ), 'as in words';
    my ($long) = grep { $_->{ph} eq 'i' && $_->{name} eq 'load' } @$events;
    is length($long->{args}{text}) . $long->{args}{cut}, '10231', 'a string that was cut says so';
    is scalar(grep { $_->{ph} eq 'i' && $_->{name} =~ /^PoolAlloc/ } @$events), 3, 'large objects have marks';
    my ($text) = cnv('-f', 'folded', "$dir/$mode.paw");
    like $text, qr/;a"b\\c\?d \d;/, 'folded names have no separators';
  }

  # Several pools, in an arena.
  { local $ENV{PAWPRINT_LOG} = "$dir/pools.paw"; `$B/test/pooltest events`; }
  my (undef, $events) = sound('pools', "$dir/pools.paw");
  my %pools = map { $_->{ph} eq 'C' && $_->{name} =~ /^pool \d+ / ? ($_->{name} => $_->{args}{value}) : () } @$events;
  cmp_ok scalar(keys %pools), '>', 2, 'pools have counters where there are several';
  is scalar(grep { $_ != 0 } values %pools), 0, 'which are at nothing when all is freed';
  my ($got) = paje((cnv('-f', 'paje', "$dir/pools.paw"))[0]);
  is scalar(grep { $_->{Type} eq 'L' } values %{$got->{container}}), scalar(keys %pools), 'and containers';

  # Waiting.
  system("$B/bin/eventrec -k +Sync -o $dir/sync.paw -- $B/prog/sync >/dev/null 2>&1") == 0 or die;
  (undef, $events) = sound('sync', "$dir/sync.paw");
  my %waits;
  ++$waits{$_->{name}} for grep { $_->{ph} eq 'B' } @$events;
  ok $waits{'Mutex wait'} && $waits{'Sem wait'} && $waits{CondWait} && $waits{'Barrier wait'}, 'waits are slices'
      or diag join ', ', sort keys %waits;
  my ($thin) = chrome((cnv('-f', 'chrome', '--thin', '2ms', "$dir/sync.paw"))[0]);
  cmp_ok scalar(grep { $_->{ph} eq 'B' && $_->{name} =~ /wait/i } @$thin), '>', 0, 'and long ones are drawn, however thin';

  # Several processes.
  system("$B/bin/eventrec -o $dir/family.paw -- sh -c '$B/prog/steady & sh -c \"exec $B/prog/family\"; wait' >/dev/null 2>&1");
  my $processes = summary("$dir/family.paw");
  my $threads = 0;
  $threads += $_->{threads} for @{$processes->{processes}}, @{$processes->{collectors}};
  sound('a family, in which one process becomes another', "$dir/family.paw", lanes => $threads);
  ($events, my $wrong) = chrome((cnv('-f', 'chrome', "$dir/family.paw", "$dir/perl.paw"))[0]);
  is $wrong, '', 'and together with another log';
}

# ---- Logs as they should not be ----

for my $log (glob 'test/bad/*.paw') {
  my (undef, $expected, $text) = cnv($log);
  for my $format ('chrome', 'paje', 'folded') {
    my ($out, $err, $status) = cnv('-f', $format, $log);
    is "$err$status", "$expected$text", "$log as $format: told as always";
    next if $expected =~ /\A[^\n]*\n\z/ && $out eq '';
    my @got = $format eq 'chrome' ? chrome($out) : $format eq 'paje' ? paje($out) : folded($out);
    is $got[-1], '', 'and what is there is sound';
  }
}

my $log = 'test/good/threads.paw';
for my $format ('chrome', 'paje', 'folded') {
  my $err = `bash -c 'set -o pipefail; $B/bin/eventcnv -f $format $log $log | head -c 1' 2>&1 >/dev/null`;
  is $err, '', "$format: a closed pipe ends it quietly";
  SKIP: {
    skip 'no /dev/full', 1 unless -e '/dev/full';
    $err = `$B/bin/eventcnv -f $format $log 2>&1 >/dev/full`;
    is(($? >> 8) . " $err", "1 eventcnv: standard output: No space left on device\n", 'a full disk is told');
  }
  is((cnv('-f', $format, '--follow', $log))[2], 2, 'it does not follow');
  is((cnv('-f', $format, '-k', 'none', $log))[2], 0, 'nothing chosen is no error');
}
for (['--thin', '1x'], ['--thin', '-1'], ['--thin', 'ms'], ['--value', 'much'], ['--value', 'live']) {
  my (undef, $err, $status) = cnv('-f', 'chrome', @$_, $log);
  is $status, 2, "-f chrome @$_ cannot be meant";
  like $err, qr/$_->[0]/, 'which is said';
}
is((cnv('--thin', '1', $log))[2], 2, '--thin is not for text');
my ($seconds) = cnv('-f', 'chrome', '--thin', '0.001', $log);
for my $same ('1ms', '1000us', '1000000ns', '0.001s') {
  is((cnv('-f', 'chrome', '--thin', $same, $log))[0], $seconds, "--thin $same is --thin 0.001");
}
done_testing;
