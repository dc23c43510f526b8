#!/usr/bin/env perl
# clean.t -- eventrec --clean: what dead recordings have left in memory comes to its log, or is counted
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(enter_shm slurp until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

# All that is in /dev/shm is this test's: it has one of its own.
enter_shm('64m');

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $rec = "$B/bin/eventrec";
chdir $dir or die;

sub left { return glob '/dev/shm/*' }
sub clean { return scalar `$rec --clean @_ 2>&1` }

# The numbers of the program's events in a log, in order: "0-99" if each is there once.
sub numbers {
    my ($log) = @_;
    my @values = sort { $a <=> $b } `$B/bin/eventcnv -E UserWord $log 2>/dev/null` =~ / value=(\d+)/g;
    for my $i (1 .. $#values) {
        return "$values[$i - 1], then $values[$i]" if $values[$i] != $values[$i - 1] + 1;
    }
    return @values ? "$values[0]-$values[-1]" : 'none';
}

# start(command...) -- a program that obeys lines, by a shell command; tell() it one, and it has done it
sub start {
    my (@command) = @_;
    unlink 'out';
    my $pid = open(my $in, '|-', "exec @command > out 2> err") or die;
    $in->autoflush;
    return {pid => $pid, in => $in, told => 0};
}

sub tell_ {
    my ($its, @lines) = @_;
    print {$its->{in}} map { "$_\n" } @lines;
    $its->{told} += @lines;
    return until_(sub { (() = slurp('out') =~ /\n/g) >= $its->{told} });
}

sub end { my ($its) = @_; close $its->{in}; return $? }

# orphan($log, $alone) -- a program has 300 events, and is killed, and so is its eventrec, unless it has none: its region, and
# its number
sub orphan {
    my ($log, $alone) = @_;
    my $program = start($alone ? "env PAWPRINT_LOG=$log $B/prog/ways" : "$rec -o $log $B/prog/ways");
    ok tell_($program, 300), 'a program has 300 events';
    my ($region) = grep { !/\.log$/ && /-\d+-0$/ } left();
    my ($pid) = $region =~ /-(\d+)-\d+$/;
    kill 'KILL', $program->{pid};
    kill 'KILL', $pid;
    end($program);
    until_(sub { !-e "/proc/$pid/exe" });
    return ($region, $pid);
}

# A program that is killed, and its log removed.
my $program = start("env PAWPRINT_LOG=gone.paw $B/prog/ways");
ok tell_($program, 500), 'a program has 500 events';
kill 'KILL', $program->{pid};
end($program);
unlink 'gone.paw';
my ($region) = grep { !/\.log$/ } left();
like clean("$dir/gone.paw"), qr/^\Q$region\E: of process \d+, .*, log \Q$dir\E\/gone\.paw: its log is gone, and (\d+) events with it; removed$/m,
    'where the log is gone, how many events go with it is said';
is join(' ', left()), '', 'and nothing stays';

# The same where an empty file stands in the log's place, and the program had emitted nothing.
$program = start("env PAWPRINT_LOG=none.paw PAWPRINT_KINDS=none $B/prog/ways");
ok tell_($program, 5), 'a program has events of kinds that are off';
kill 'KILL', $program->{pid};
end($program);
rename 'none.paw', 'moved.paw';
open my $none, '>', 'none.paw' or die;
close $none;
($region) = grep { !/\.log$/ } left();
like clean("$dir/none.paw"), qr/^\Q$region\E: .*: its log is empty; nothing was in it; removed$/m, 'where the log is empty memory with nothing in it is removed';
is join(' ', left()), '', 'and nothing stays';
unlink 'none.paw', 'moved.paw';

# The program and eventrec are killed, and the program has written over who collects: somebody who lives, whose process is another.
for my $who (1, 0x80000001, $$) {
    ($region, my $pid) = orphan('forged.paw');
    open my $file, '+<', $region or die;
    seek $file, 1152, 0;
    print {$file} pack 'L', $who;
    close $file;
    unlike scalar(`$B/bin/eventcnv --check forged.paw 2>&1`), qr/about to write/, 'nobody is said to be about to write what it left';
    like clean(), qr/^\Q$region\E: of process $pid, .*: added to the log; removed$/m, '--clean adds it';
    is join(' ', left()), '', 'and nothing stays';
    is numbers('forged.paw'), '0-299', 'it is in the log';
    is scalar(`$B/bin/eventcnv --check forged.paw 2>&1`), '', 'which lacks nothing';
    unlink 'forged.paw';
}

# A file that names the recording, as anybody may make one: what the recording left is for the log that it was made for.
{
    ($region) = orphan('its.paw');
    system 'cp', 'its.paw', 'other.paw';
    my $was = slurp('other.paw');
    like clean('other.paw'), qr/^other\.paw: what its recording left is for \Q$dir\E\/its\.paw: eventrec --clean adds it there$/m,
        'another file with something of the recording: --clean says for which log it is';
    ok -e $region && slurp('other.paw') eq $was, 'and leaves it';
    like clean('its.paw'), qr/: added to the log; removed$/m, 'that log gets it';
    is numbers('its.paw'), '0-299', 'all of it';
    is join(' ', left()), '', 'and nothing stays';
    unlink 'its.paw', 'other.paw';
}

# The same, and the log was moved: then it is the one that has something of the recording.
{
    orphan('its.paw');
    rename 'its.paw', 'moved.paw';
    system("$rec -o its.paw true 2>err");
    like clean('moved.paw'), qr/^moved\.paw: \d+ blocks? that lay beside it added$/m, 'a log that was moved, and another in its place';
    is numbers('moved.paw'), '0-299', 'gets all of it';
    unlink 'its.paw', 'moved.paw';
    is join(' ', left()), '', 'and nothing stays';
}

# eventrec has been stopped, and its program is killed: what that has left is eventrec's, and --clean says so.
$program = start("$rec -o stopped.paw $B/prog/ways");
ok tell_($program, 300), 'a program has 300 events';
($region) = grep { !/\.log$/ && /-\d+-0$/ } left();
{
    my ($pid) = $region =~ /-(\d+)-\d+$/;
    kill 'STOP', $program->{pid};
    kill 'KILL', $pid;
    until_(sub { !-e "/proc/$pid/exe" });
    like clean(), qr/^\Q$region\E: of process $pid, .*: it stays: an eventrec that lives is to add it to the log, and has not for a second$/m,
        'what an eventrec has that lives is left to it, and named';
    is $? >> 8, 125, 'as something that is left';
    kill 'CONT', $program->{pid};
    end($program);
    is join(' ', left()), '', 'eventrec takes it';
    is numbers('stopped.paw'), '0-299', 'into the log';
    is clean(), '', 'and there is nothing to be cleaned';
    is $? >> 8, 0, 'which is no failure';
    unlink 'stopped.paw';
}

# The program and eventrec are killed, and the beginning of the program's memory was written over: word 5 is the number of
# slots, and those before it magic, order and major.
for my $case (['slots', 20, 1], ['magic', 0, 1], ['order', 8, 0]) {
    my ($what, $at, $collected) = @$case;
    ($region, my $pid) = orphan('over.paw', !$collected);
    open my $file, '+<', $region or die;
    seek $file, $at, 0;
    print {$file} "\xee\xee\xee\xee";
    close $file;
    my $over = 'its beginning was written over, or its file cut, by the program, so that nothing can be read of it';
    like clean(), qr/^\Q$region\E: of process $pid, .*: \Q$over\E; it stays until it is a minute old$/m, "$what: it is named";
    my $check = `$B/bin/eventcnv --check over.paw 2>&1`;
    is $? >> 8, 1, 'the log lacks it';
    unlike $check, qr/\Q$region\E, which is gone/, 'what is there is not said to be gone';
    utime time - 3600, time - 3600, $region;
    like clean(), qr/^\Q$region\E: of process $pid, .*: \Q$over\E; removed$/m, 'that is said when it is removed';
    is join(' ', left()), '', 'and nothing stays';
    system "$B/bin/eventcnv --check over.paw >/dev/null 2>&1";
    is $? >> 8, 1, 'the log lacks it still';
    unlink 'over.paw';
}

# What is called as regions are, and is no file, is not opened: who waits for a reader of a FIFO goes on waiting.
{
    my $fifo = "/dev/shm/pawprint-0123456789abcdef-1-0";
    POSIX::mkfifo($fifo, 0600) or die "$fifo: $!";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open my $begun, '>', 'begun' or POSIX::_exit(9);
        open my $out, '>', $fifo or POSIX::_exit(9);
        POSIX::_exit(3);
    }
    until_(sub { -e 'begun' && slurp("/proc/$pid/stat") =~ /\) S/ });
    is clean(), '', 'a FIFO that is called as regions are is no region';
    sleep 0.1;
    is waitpid($pid, POSIX::WNOHANG()), 0, 'and is not opened';
    kill 'KILL', $pid;
    waitpid $pid, 0;
    ok unlink($fifo, 'begun') == 2 && !left(), 'it stays';
}

# Whoever makes a region is killed when there is just its file: what log that was for is known all the same.
SKIP: {
    skip 'strace is not to be had here', 6 if system('strace -o /dev/null true 2>/dev/null') != 0;
    for my $case (['eventrec', "$rec -o killed.paw true"], ['the program', "env PAWPRINT_LOG=$dir/killed.paw LD_PRELOAD=$B/lib/libpawprint.so true"]) {
        my ($who, $command) = @$case;
        system "strace -f -o /dev/null -e trace=ftruncate -e inject=ftruncate:signal=KILL $command >/dev/null 2>&1";
        my @made = grep { !/\.log$/ } left();
        ok @made > 0 && !grep({ !-l "$_.log" } @made), "$who is killed when it has made the file, and its link is there";
        clean("$dir/killed.paw");
        is join(' ', left()), '', 'and nothing stays';
        unlink 'killed.paw';
    }
    symlink "$dir/killed.paw", "/dev/shm/pawprint-0123456789abcdef-$$-0.log";
    unlike clean(), qr/its region is gone/, 'a link whose process may be about to make its region stays';
    ok unlink("/dev/shm/pawprint-0123456789abcdef-$$-0.log"), 'and is there still';
    symlink "$dir/killed.paw", "/dev/shm/pawprint-0123456789abcdef-$$-0.log";
    is system('touch', '-h', '-d', '1 day ago', "/dev/shm/pawprint-0123456789abcdef-$$-0.log"), 0, 'a link of yesterday';
    like clean(), qr/its region is gone; removed/, 'goes, because the process that has its number now began later';
    ok !-l "/dev/shm/pawprint-0123456789abcdef-$$-0.log", 'and is gone';
}

# A program was killed when it had made the file that was to become its memory, and nothing more, and nobody has waited for
# it yet.  It is not about to lock the file, as one that runs may be.
{
    my $pid = fork // die "fork: $!";
    if ($pid == 0) { sleep 1 while 1; POSIX::_exit(0) }
    my $file = "/dev/shm/pawprint-0123456789abcdef-$pid-0";
    open my $made, '>', $file or die "$file: $!";
    close $made;
    is clean(), '', 'an empty file of a process that runs is not touched';
    kill 'KILL', $pid;
    until_(sub { slurp("/proc/$pid/stat") =~ /\) Z/ });
    like clean(), qr/^\Q$file\E: of process $pid, .*; removed$/m, 'that of one that was killed is removed';
    waitpid $pid, 0;
    is join(' ', left()), '', 'and is gone';
}

# Its log was moved.
$program = start("env PAWPRINT_LOG=moved.paw $B/prog/ways");
tell_($program, 20000, 'flush', 500);
kill 'KILL', $program->{pid};
end($program);
rename 'moved.paw', 'here.paw';
my $said = clean('other.paw');
is $said, "eventrec: other.paw: No such file or directory\n", 'of other logs nothing is meant';
like clean('here.paw'), qr/, log here\.paw: added to the log; removed$/m, 'a log that was moved has its recording';
is numbers('here.paw'), '0-20499', 'and all of it then';
is system("$B/bin/eventcnv --check here.paw 2>check") >> 8, 0, 'it lacks nothing' or diag slurp('check');

# Another log stands in its log's place.
$program = start("env PAWPRINT_LOG=place.paw $B/prog/ways");
tell_($program, 500);
kill 'KILL', $program->{pid};
end($program);
unlink 'place.paw';
$program = start("env PAWPRINT_LOG=place.paw $B/prog/ways");
tell_($program, 300);
end($program);
($region) = grep { !/\.log$/ } left();
$said = clean();
like $said, qr/^\Q$region\E: .*: it cannot be added to the log: that is of another recording; it stays, and is removed by: rm \Q$region\E\*$/m,
    'where another log stands in the place of its own, what removes it is said';
is numbers('place.paw'), '0-299', 'and that log stays as it is';
system $1 if $said =~ / is removed by: (rm .*)$/m;
is join(' ', left()), '', 'and so it is removed';

# The folder of its log is swapped for a link to another one, where an empty file has the log's name; or such a file is
# linked in the log's place.
for my $way ('symbolic', 'hard') {
    mkdir $_ for "$dir/swap$way", "$dir/others$way";
    my ($log, $kept, $other) = ("$dir/swap$way/x.paw", "$dir/kept$way/x.paw", "$dir/others$way/x.paw");
    $program = start("env PAWPRINT_LOG=$log $B/prog/ways");
    tell_($program, 20000, 'flush', 500);
    kill 'KILL', $program->{pid};
    end($program);
    ($region) = grep { !/\.log$/ } left();
    rename "$dir/swap$way", "$dir/kept$way";
    open my $empty, '>', $other or die;
    close $empty;
    $way eq 'hard' ? mkdir "$dir/swap$way" : symlink "others$way", "$dir/swap$way";
    link $other, $log if $way eq 'hard';
    for my $named ('', $log) {
        like clean($named), qr/^\Q$region\E: .*: it cannot be added to the log: nothing in it says that it is its own, and links lead there /m,
            "an empty file is no log where a $way link leads there";
        is -s $other, 0, 'and stays empty';
    }
    unlink $log, "$dir/swap$way";
    like clean($kept), qr/: added to the log; removed$/m, 'the log itself is found';
    is numbers($kept), '0-20499', 'and has all of it then';
    is join(' ', left()), '', 'and nothing stays';
}

# A folder that is a link serves: at once if something came to the log, or by the log's own name.
mkdir 'real';
symlink 'real', 'linked';
for my $empty ('', 'empty ') {
    unlink 'real/x.paw';
    $program = start("env PAWPRINT_LOG=linked/x.paw $B/prog/ways");
    tell_($program, 500);
    kill 'KILL', $program->{pid};
    end($program);
    truncate 'real/x.paw', 0 if $empty;
    like clean(), qr/ links lead there /, 'an empty log behind a link is not believed' if $empty;
    like clean($empty ? 'real/x.paw' : ''), qr/: added to the log; removed$/m, "what belongs to an ${empty}log behind a link is added";
    like numbers('real/x.paw'), $empty ? qr{^\d+-499$} : qr{^0-499$}, 'and is there then';
    is join(' ', left()), '', 'and nothing stays';
}

# A link in the log's own place, or in the place of a region, is not followed, even if it leads to the right one.
$program = start("env PAWPRINT_LOG=$dir/own.paw $B/prog/ways");
tell_($program, 20000, 'flush', 500);
kill 'KILL', $program->{pid};
end($program);
rename 'own.paw', 'away.paw';
symlink 'away.paw', 'own.paw';
($region) = grep { !/\.log$/ } left();
my $size = -s 'away.paw';
like clean(), qr/^\Q$region\E: .*: it cannot be added to the log: that is a link, which is not followed; it stays$/m,
    'where a link stands in the place of the log nothing is added';
is clean('own.paw'), "eventrec: own.paw: it is a link, which is not followed: name the log that it leads to\n", 'nor if the link is named';
is -s 'away.paw', $size, 'and what it leads to stays as it is';
system('mv', $region, "$dir/region") == 0 or die;
symlink "$dir/region", $region;
is clean(), '', 'a link in the place of a region is none';
is clean('away.paw'), '', 'for its log neither';
is -s 'away.paw', $size, 'and nothing is added';
unlink $region;
system('mv', "$dir/region", $region) == 0 or die;
like clean('away.paw'), qr/^\Q$region\E: .*: added to the log; removed$/m, 'the log itself is found';
is numbers('away.paw'), '0-20499', 'and has all of it then';
is join(' ', left()), '', 'and nothing stays';

# What was sent, as long as somebody received it.
my $listener = fork // die;
if ($listener == 0) {
    open STDERR, '>', 'listener.err';
    exec $rec, '--listen', 'unix:sock', '-o', 'received' or die;
}
until_(sub { slurp('listener.err') =~ /listens/ });
$program = start("$rec --to unix:sock,keep=256K $B/prog/ways");
tell_($program, 20000, 'flush');
until_(sub { numbers('received.1.paw') eq '0-19999' });
is numbers('received.1.paw'), '0-19999', 'a receiver has what was sent';
kill 'KILL', $listener;
waitpid $listener, 0;
tell_($program, 400000);
is end($program), 0, 'it is killed, and the recording goes on to its end';
like slurp('err'), qr/ stays, with [1-9]\d* events? (?:of process \d+ )?that could not be written/, 'more than can be kept to be sent';
system('cp', '-r', '/dev/shm', 'kept');
like clean('received.1.paw'), qr/, log received\.1\.paw: added to the log; removed$/m, 'it is added to what was received, where that is named';
my ($count) = scalar(() = `$B/bin/eventcnv -E UserWord received.1.paw 2>/dev/null` =~ /\n/g);
cmp_ok $count, '>', 25000, 'which has it then';
is join(' ', left()), '', 'and nothing stays';
system('cp kept/* /dev/shm');
my $lost = 0;
$said = clean();
$lost += $_ for $said =~ /, log none: it was to be sent elsewhere, and (\d+) events with it; removed$/mg;
cmp_ok $lost, '>', 5000, 'where no log is named, what is lost is counted' or diag $said;
is join(' ', left()), '', 'and nothing stays';

# The log is gone, and its number is given to another file, which is empty; or such a file was there before.  A log from which
# all was taken is known by its number and its age; ramfs tells no age, and then it is left alone.
mkdir "$dir/numbers";
for my $type ('', 'ramfs') {
  SKIP: {
    skip "no $type", 8 if $type && system("mount -t $type none $dir/numbers 2>/dev/null") != 0;
    my ($log, $other) = map { "$dir/numbers/$_.paw" } qw(its other);
    for my $way ('again', 'before', 'itself') {
        system "touch $other" if $way eq 'before';
        $program = start("env PAWPRINT_LOG=$log $B/prog/ways");
        tell_($program, 500);
        kill 'KILL', $program->{pid};
        end($program);
        ($region) = grep { !/\.log$/ } left();
        if ($way eq 'itself') {
            truncate $log, 0;
            sleep 0.1; # longer than files' times lag
            utime undef, undef, $log;
            $said = clean($log);
            $type ? like $said, qr/^\Q$region\E: .* it stays, and is removed by: rm /m, "$type: an empty log whose age is not known is not believed"
                  : like $said, qr/: added to the log; removed$/m, 'that of its number which is old enough is';
        } else {
            unlink $log;
            sleep 0.1 if $way eq 'again'; # longer than files' times lag
            system "touch $other" if $way eq 'again';
            $said = clean($other);
            is -s $other, 0, "$type: an empty file that is another one gets nothing ($way)" or diag $said;
            ok -e $region, 'nor is anything removed';
        }
        unlink $log, $other, left();
    }
    system "umount $dir/numbers" if $type;
  }
}

# What is named and is no log.
open my $source, '>', 'some.c' or die;
print $source "int main(void) { return 0; }\n" x 1000;
close $source;
open $source, '>', 'empty.paw' or die;
close $source;
my %reason = ('typo.paw' => 'No such file or directory', '.' => 'it is no file', '/dev/null' => 'it is no file', 'some.c' => 'it is no log',
    'empty.paw' => 'it is empty, and nothing that is left in memory is certainly its own');
for my $named (sort keys %reason) {
    is clean($named, 'here.paw'), "eventrec: $named: $reason{$named}\n", "$named: what is wrong is said";
    is $? >> 8, 125, 'and it is a failure';
}
is clean('here.paw'), '', 'a log for which nothing is left is none';

# A link whose region is gone.
my $gone = fork // die;
POSIX::_exit(0) if $gone == 0;
waitpid $gone, 0;
my $link = "/dev/shm/pawprint-0123456789abcdef-$gone-0";
symlink "$dir/some.paw", "$link.log";
symlink "$dir/some.paw", '/dev/shm/other.log';
is clean("$dir/here.paw"), '', 'a link of another log stays';
like clean("$dir/some.paw"), qr/^\Q$link.log\E: of process $gone, .*: its region is gone; removed$/m, 'a link whose region is gone is removed';
is join(' ', left()), '/dev/shm/other.log', 'and nothing that is not called so';

# told($events) -- a file of what to tell a program
sub told {
    open my $out, '>', 'told' or die;
    return print($out "$_[0]\n") && close $out;
}

# A full disk: eventrec and readers count alike, until all is in the log.
mkdir "$dir/small";
SKIP: {
    skip 'no mount', 23 if system("mount -t tmpfs -o size=300k none $dir/small") != 0;
    for my $blocks (1920, 20) {
        $program = start("$rec --force -n $blocks -o small/full.paw $B/prog/ways");
        tell_($program, 1000000);
        end($program);
        my ($events, $discarded) = slurp('err') =~ /^eventrec: (\d+) events \((\d+) discarded\), \d+ bytes, \S+ s -> small\/full\.paw$/m;
        for my $when ('before', 'behind') {
            my $summary = `$B/bin/eventview summary small/full.paw 2>&1`;
            like $summary, qr/^events +$events .*^discarded +$discarded events?$/ms, "$blocks blocks: readers count what eventrec did, $when --clean" or diag slurp('err');
            $count = () = `$B/bin/eventcnv small/full.paw 2>/dev/null` =~ /\n/g;
            is $count, $events, 'that many events are there';
            my $check = `$B/bin/eventcnv --check small/full.paw 2>&1`;
            my $status = $? >> 8;
            $when eq 'before' ? like($check, qr/the newest events of process .* could not be written, .*--clean adds them$/m, 'what is not in the log is said')
                              : is($check, $discarded ? "eventcnv: $discarded events were discarded while recording, for want of room\n" : '', 'nothing else is');
            is $status, $when eq 'before' || $discarded ? 1 : 0, 'and the status is right';
            system "mount -o remount,size=100m $dir/small";
            clean("$dir/small/full.paw") if $when eq 'before';
        }
        system "rm -f $dir/small/*; mount -o remount,size=300k $dir/small";
    }
    is join(' ', left()), '/dev/shm/other.log', 'nothing stays in memory';

    # What eventrec itself has of processes cannot be written, either, and no process has it in memory: that is lost, counted
    # with what stays, and told by the log when that is added.
    system "$rec -o small/own.paw -- sh -c '$B/prog/ways < told; kill -9 \$\$' 2>err" if told(300000);
    my ($discarded) = slurp('err') =~ /\((\d+) discarded\)/;
    cmp_ok $discarded, '>', 0, 'what eventrec itself has is lost' or diag slurp('err');
    like `$B/bin/eventcnv --check small/own.paw 2>&1`, qr/^eventcnv: $discarded events were discarded/m, 'readers count it';
    system "mount -o remount,size=100m $dir/small";
    clean("$dir/small/own.paw");
    is `$B/bin/eventcnv --check small/own.paw 2>&1`, "eventcnv: $discarded events were discarded while recording, for want of room\n",
        'and the log does when all else is there';
    is join(' ', left()), '/dev/shm/other.log', 'nothing stays in memory';

    # Where memory has no name, either, what is in it cannot be added: it is lost, said to be, and counted.
    system "rm -f $dir/small/*; mount -o remount,size=4k $dir/small; mount -t tmpfs -o size=4k none /dev/shm";
    system "$rec -k User -n 20 -o small/lost.paw $B/prog/ways < told >/dev/null 2>err";
    system "umount /dev/shm";
    my ($lost) = slurp('err') =~ /^eventrec: (\d{2,}) events of process \d+ could not be written, and are lost/m;
    cmp_ok((slurp('err') =~ /\((\d+) discarded\)/)[0], '>=', $lost // 1, 'what memory without a name has is lost, and counted') or diag slurp('err');
    unlike slurp('err'), qr/--clean/, 'and nothing is said to be added';
    system "umount $dir/small";
}

# The memory of a process is no log, though it has blocks: who names it by mistake loses nothing.
system "LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=mistaken.paw sh -c '$B/prog/ways < told; kill -9 \$\$' >/dev/null 2>&1" if told(3000);
my ($memory) = grep { -l "$_.log" && readlink("$_.log") eq "$dir/mistaken.paw" } left();
SKIP: {
    skip 'nothing is left in /dev/shm', 3 if !defined $memory;
    is clean($memory), "eventrec: $memory: it is no log\n", 'memory in the place of a log is refused';
    ok -e $memory, 'and stays';
    like clean('mistaken.paw'), qr/^\Q$memory\E: .*: added to the log; removed$/m, 'for its log';
}

chdir '/';
done_testing;
