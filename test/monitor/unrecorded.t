#!/usr/bin/env perl
# unrecorded.t -- who of the family is not recorded is named, with the reason; and nobody else is
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(spew);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitized eventrec has a library of its own to load' if $ENV{SAN};
plan skip_all => 'no /proc' unless -r '/proc/self/environ';

# present(@names) -- are all of these programs installed?
sub present { return !grep { system("command -v $_ >/dev/null 2>&1") != 0 } @_ }

# said(@options_and_command) -- what eventrec says of a recording
sub said {
    my (@command) = @_;
    my $pid = open(my $err, '-|') // die "fork: $!";

    if ($pid == 0) {
        open STDERR, '>&', \*STDOUT;
        open STDOUT, '>', '/dev/null';
        exec "$B/bin/eventrec", '--force', '-o', "$dir/a.paw", @command or exit 99;
    }
    my @lines = <$err>;
    close $err;
    return @lines;
}

# summary() -- what the summary of the log says was not seen
sub summary {
    my ($lines) = `$B/bin/eventview $dir/a.paw` =~ /^(not seen {7}.*\n(?: {15}.*\n)*)/m;
    return [sort map { substr $_, 15 } split /\n/, $lines // ''];
}

# unseen(@options_and_command) -- the lines that say what was not seen, without the folders of programs
my @differs;
sub unseen {
    my @lines = sort map { /^eventrec: not seen: (.*)/ ? $1 : () } said(@_);
    my $summary = summary();
    push @differs, "@_: '@lines', and in the log '@$summary'" if "@lines" ne "@$summary";
    return [map { s{^(?:/\S*/)?}{}r } @lines];
}

my $code = abs_path('code');
my $preload = 'LD_PRELOAD was not in the environment that it was given';
my $others = 'LD_PRELOAD was without libpawprint.so in the environment that it was given';
my $recording = 'PAWPRINT_RECORDING was not in the environment that it was given';
my $perl = abs_path($^X) =~ s{.*/}{}r;

is_deeply unseen('--', 'env', '-i', $^X, '-e', '1'), ["$perl: $preload"], 'env -i takes the library away';
my ($env, $sleep) = map { my $name = $_; abs_path((grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0]) =~ s{.*/}{}r } qw(env sleep);
is_deeply unseen('--', 'sh', '-c', "unset LD_PRELOAD; env $sleep 1"), [sort "$env: $preload", "$sleep: $preload"],
    'a program without the library becomes another one: both are named';
symlink +(grep { -x } map { "$_/sleep" } split /:/, $ENV{PATH})[0], "$dir/link" or die;
is_deeply unseen('--', 'sh', '-c', "unset LD_PRELOAD; $dir/link 1; exec env env $sleep 1"),
    ["$env: $preload", "$sleep: $preload (2 processes)"], 'a link counts once, and so does one that becomes itself and then another';
is_deeply unseen('-E', 'PoolFree', '--', 'env', '-i', $^X, '-e', '1'), ["$perl: $preload"], 'also where other events were chosen';
is_deeply [`$B/bin/eventview --json $dir/a.paw` =~ /"not_seen": \[\{"program": "([^"]*)", "processes": 1\}\], "not_seen_count": 1/],
    [abs_path($^X) . ": $preload"], 'and in JSON';
is_deeply unseen('--', 'env', '-i', "$B/prog/clones", 'shares'), ["clones: $preload"],
    'a process with the memory of another one is no program of its own';
if (`uname -m` eq "x86_64\n") {
    my $execve = 'my ($path, $word) = ("/bin/true", "true"); my ($argv, $envp) = (pack("pJ", $word, 0), pack("J", 0));'
        . 'syscall(59, $path, $argv, $envp); exit 1';
    is_deeply unseen('--', $^X, '-e', $execve), ["true: $preload"], 'execve by its number is execve';
}
my $itself = 'delete $ENV{LD_PRELOAD}; exec {"/proc/self/exe"} "perl", "-e", "1"';
is_deeply unseen('--', $^X, '-e', $itself), ["$perl: $preload"], '/proc/self/exe is the program that executes it, not eventrec';
my $descriptor = '$^F = 9; open my $file, "<", "/bin/true" or die; delete $ENV{LD_PRELOAD}; exec {"/proc/self/fd/" . fileno $file} "true"';
is_deeply unseen('--', $^X, '-e', $descriptor), ["true: $preload"], 'and a descriptor is its own';
is_deeply unseen('--', 'env', '-u', 'PAWPRINT_RECORDING', $^X, '-e', '1'), ["$perl: $recording"],
    'without our variable the library does not know of the recording';
is_deeply unseen('--', 'env', '-u', 'LD_PRELOAD', 'PAWPRINT_RECORDING=', $^X, '-e', '1'), ["$perl: $preload"],
    'an empty variable is nobody else\'s recording';
is_deeply unseen('--', 'env', 'PAWPRINT_RECORDING=', $^X, '-e', '1'), ["$perl: $recording"], 'nor where the library stays';
is_deeply unseen('--', $^X, '-e', 'for (1 .. 3) { if (!fork) { delete $ENV{LD_PRELOAD}; exec $^X, "-e", "1" } wait }'),
    ["$perl: $preload (3 processes)"], 'processes of one program are counted';
is_deeply unseen('--', $^X, '-e', '{ no warnings; exec "/nonexistent/program" } { local %ENV = (); no warnings; exec "/etc" }'), [],
    'an exec that fails names nobody';
# A file that is no program is run by a shell, or by nobody.
{
    my ($script, $foreign) = ("$dir/script", "$dir/foreign");
    spew($script, "x=1\n");
    spew($foreign, pack 'a4C3x9', "\x7fELF", 2, unpack('C', pack 'S', 1) ? 2 : 1, 1); # of the other order of bytes
    chmod 0755, $script, $foreign;
    is_deeply unseen('--', 'sh', '-c', "cd $dir; ./script; :"), [], 'a script without #!, which the shell that found it reads itself';
    is_deeply unseen('--', 'env', $script), [], 'and one that libc gives to a shell';
    is_deeply unseen('--', 'sh', '-c', "cd $dir; ./foreign 2>/dev/null; :"), [], 'a program of another machine, which cannot be run';
    is_deeply unseen('--', "$B/prog/starts", $_, $foreign, 0), [], "$_ of it" for qw(execve execl execle fexecve execveat folder);
}
is_deeply unseen('--', $^X, '-e', 'if (!fork) { select undef, undef, undef, 0.5; POSIX::_exit(0) } wait', '-MPOSIX'), [],
    'a child that only waits is not missed';
is_deeply unseen('--', $^X, '-e', 'system $^X, "-e", "1" for 1 .. 20; my $x = `echo 1`'), [], 'nobody is missed who comes';
is_deeply unseen('--', 'env', '-i', $^X, '-e', "system '$^X -e \"sleep 1\" ; true'"),
    [sort "$perl: $preload (2 processes)", abs_path('/bin/sh') =~ s{.*/}{}r . ": $preload"],
    'what is started by one that is not seen is found while it lives';
{
    require POSIX;
    POSIX::mkfifo("$dir/fifo", 0777) or die;
    is `timeout -k 1 20 $B/bin/eventrec -o $dir/fifo.paw -- sh -c '$dir/fifo; echo after' 2>$dir/err`, "after\n", 'a FIFO';
    is $?, 0, 'keeps nobody waiting who looks at what a program executes';
}
# What a program executes is looked at by eventrec, and may be made to harm it.
SKIP: {
    skip 'files of another width', 4 if length pack('J', 0) != 8;
    my ($interpreter, $size) = ("/lib/ld-linux.so\0", 64 << 20);
    my $section = pack 'L2Q4L2Q2', 0, 2, 0, 0, 0, $size, 1, 0, 8, 24;
    open my $out, '>:raw', "$dir/evil" or die;
    print $out pack('a4C3x9S2LQ3LS6', "\x7fELF", 2, 1, 1, 3, 62, 1, 0, 64, 4096, 0, 64, 56, 1, 64, 65534, 0),
        pack('L2Q6', 3, 4, 512, 512, 512, (length $interpreter) x 2, 1);
    seek $out, 512, 0;
    print $out $interpreter;
    seek $out, 4096, 0;
    print $out $section x 65534;
    truncate $out, $size;
    close $out;
    chmod 0755, "$dir/evil";
    for (['65534 tables of symbols, each as large as the file,', ''], ['a file that is cut', "sleep 0.5; : > $dir/evil;"]) {
        my ($what, $then) = @$_;
        is `timeout -k 1 60 $B/bin/eventrec --force -o $dir/evil.paw -- sh -c '$B/prog/starts execve $dir/evil 0; $then echo after' 2>$dir/err`, "after\n", $what;
        is $?, 0, 'does not hold eventrec up, nor kill it';
    }
}
# Many such files: what is not looked at is told.
SKIP: {
    skip 'files of another width', 3 if length pack('J', 0) != 8;
    my ($size, $interpreter) = (31 << 20, "/lib/ld-linux.so\0");
    for my $i (1 .. 20) {
        open my $out, '>:raw', "$dir/large$i" or die;
        print $out pack('a4C3x9S2LQ3LS6', "\x7fELF", 2, 1, 1, 3, 62, 1, 0, 64, 4096, 0, 64, 56, 1, 64, 2, 0),
            pack('L2Q6', 3, 4, 512, 512, 512, (length $interpreter) x 2, 1);
        seek $out, 512, 0;
        print $out $interpreter;
        seek $out, 4096, 0;
        print $out pack('L2Q4L2Q2', 0, 2, 0, 0, 8192, int($size / 24) * 24, 1, 0, 8, 24), pack('L2Q4L2Q2', 0, 3, 0, 0, 512, 16, 0, 0, 1, 0);
        truncate $out, 8192 + $size;
        close $out;
        chmod 0755, "$dir/large$i";
    }
    is `timeout -k 1 120 $B/bin/eventrec --force -o $dir/large.paw -- sh -c 'for i in $dir/large*; do $B/prog/starts execve \$i 0; done; echo after' 2>$dir/err`,
        "after\n", 'twenty files that take long to look into';
    is $?, 0, 'do not hold eventrec up';
    open my $err, '<', "$dir/err" or die;
    is scalar(grep { /^eventrec: programs and libraries were too many, or too large, to look into all: of \S+ and those after it/ } <$err>), 1,
        'which looks into some of them, and says of which on not into all';
    unlink glob "$dir/large*";
}
# Each way to start a program: one that ends at once, and one that is seen.
my ($true, $sleep) = map { my $name = $_; (grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0] } qw(true sleep);
my ($shell) = abs_path('/bin/sh') =~ m{([^/]+)$};
for my $how (qw(execve execl execlp execle fexecve execveat folder posix_spawn posix_spawnp vfork)) {
    is_deeply unseen('--', "$B/prog/starts", $how, $true, 0), ["true: $preload"], "$how: a program that ends at once";
    is_deeply unseen('--', "$B/prog/starts", $how, $sleep, 1), ["sleep: $preload"], 'and one that does not';
}
is_deeply unseen('--', "$B/prog/starts", 'memfd', $true, 0), ["/memfd:copy (deleted): $preload"], 'and one that has no name';
for my $how (qw(system popen)) {
    is_deeply unseen('--', "$B/prog/starts", $how, '-', ':'), ["$shell: $preload"], "$how: a shell that ends at once";
    is_deeply unseen('--', "$B/prog/starts", $how, '-', 'sleep 2; :'), [sort "$shell: $preload", "sleep: $preload"],
        'and one that does not, and what it runs, each once';
}
# Who is announced is named, and counted, however soon he ends, in whatever folder, and however many there are at one time.
SKIP: {
    symlink $true, "$dir/true" or die;
    open my $out, '>', "$dir/at-once.c" or die;
    print $out "int main(void) { return 0; }\n";
    close $out;
    my $static = system("gcc -static -o $dir/at-once $dir/at-once.c >/dev/null 2>&1") == 0;
    my $said = 'at-once: static: nothing can be loaded into it';
    my $name = abs_path($true) =~ s{.*/}{}r;
    my $many = "cd $dir; for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5; do env -i ./true; done & done; wait";
    is_deeply unseen('--', 'sh', '-c', $many), ["$name: $preload (50 processes)"], 'fifty that end at once, ten at a time, are counted';
    is_deeply [map { @{unseen('--', 'sh', '-c', "cd $dir; exec env -i ./true")} } 1 .. 5], [("$name: $preload") x 5], 'one that ends at once, each time';
    skip 'nothing can be linked statically here', 9 unless $static;
    is_deeply unseen('--', 'sh', '-c', "cd $dir; for i in 1 2 3 4 5 6 7 8 9 10; do ./at-once; $dir/at-once; done"), ["$said (20 processes)"],
        'twenty static programs that end at once are counted';
    is_deeply [map { @{unseen('--', 'sh', '-c', "cd $dir; exec ./at-once")} } 1 .. 5], [($said) x 5], 'one, each time';
    is_deeply unseen('--', $^X, '-e', "for (1 .. 20) { if (!fork) { exec '$B/prog/starts', 'vfork', '$dir/at-once', 0 or exit 1 } } 1 while wait > 0"),
        ["$said (20 processes)"], 'also such as vfork has started';
    is_deeply unseen('--', "$dir/at-once"), [$said], 'and one that is the program itself';
    my $fails = "{ no warnings; exec '$dir/at-once', 'x' x 200_000 }";
    is_deeply unseen('--', $^X, '-e', $fails), [], 'but one that could not be executed, as its arguments were too long, is not counted,';
    is_deeply unseen('--', $^X, '-e', "$fails system '$dir/at-once'; $fails"), [$said], 'only as often as it could';
    open $out, '>', "$dir/linked.c" or die;
    print $out "#include <pawprint.h>\nint main(void) { EventUserWord(EventIntern(\"linked\"), 1); return 0; }\n";
    close $out;
    is system("gcc -static -o $dir/linked -I$code -I$code/emit -I$B/gen $dir/linked.c $B/lib/libpawprint.a -lpthread -ldl -lm >$dir/linking 2>&1"), 0,
        'a program is linked with the library statically' or diag `cat $dir/linking`;
    is_deeply unseen('--', "$dir/linked"), [], 'one that is linked with the library itself is seen';
    is_deeply unseen('--', 'sh', '-c', "$dir/linked; $dir/linked; :"), [], 'also if others start it';
}
# However many programs there are, each is named, or counted: those that are announced, and those of which their files speak.
SKIP: {
    for my $case ([$true, 240, qr/^eventrec: (\d+) more processes may not have been seen: there are too many to be named$/],
                   ["$dir/at-once", 300, qr/^eventrec: (\d+) more lines, for which there was no room, are left out$/]) {
        my ($program, $count, $more) = @$case;
        skip 'nothing can be linked statically here', 1 unless -x $program;
        my $folder = "$dir/many" . $program =~ s{.*/}{}r;
        mkdir $folder or die;
        system('cp', $program, "$folder/1") == 0 or die;
        link "$folder/1", "$folder/$_" or die for 2 .. $count;
        my @lines = said('--', 'sh', '-c', "unset LD_PRELOAD; cd $folder; i=0; while [ \$i -lt $count ]; do i=\$((i + 1)); ./\$i; done");
        my $named = grep { m{^eventrec: not seen: \Q$folder\E/\d+: } } @lines;
        my ($counted) = map { /$more/ ? $1 : () } @lines;
        ok $named >= 200 && $named < $count && $named + ($counted // 0) == $count, "$count programs: $named are named, the others counted"
            or diag grep { !/not seen/ } @lines;
    }
}
SKIP: {
    skip 'no bwrap that may be used', 1 unless present('bwrap') && system('bwrap --bind / / true 2>/dev/null') == 0;
    my @bwrap = qw(bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --dev /dev);
    is_deeply unseen('--', @bwrap, 'sleep', '0.6'), ['sleep: it sees other folders, in which the library is not'],
        'a program in a sandbox without the library is named';
}
# A program in another root folder is named as one if the library is not there; with the library it is recorded.
SKIP: {
    skip 'only root may change the root folder', 3 if $> != 0 || system('chroot / true 2>/dev/null') != 0;
    my $jail = "$dir/jail";
    my $fill = sub {
        my ($file) = @_;
        for ($file, map { m{(/\S+) \(} ? $1 : () } `ldd $file`) {
            my $folder = "$jail/" . s{[^/]+$}{}r;
            system('mkdir', '-p', $folder) == 0 && system('cp', '-L', $_, $folder) == 0 or die;
        }
    };
    $fill->($sleep);
    is_deeply unseen('--', 'chroot', $jail, $sleep, '0.6'), ['sleep: it has another root folder, in which the library is not'],
        'a program in a root folder without the library is named';
    like unseen('--', 'chroot', $jail, $sleep, '0')->[0], qr/^sleep: it ended, .* before it announced itself, .*, or has another root folder$/,
        'if it has ended this is one of the reasons that are named';
    $fill->("$B/lib/libpawprint.so");
    is_deeply unseen('--', 'chroot', $jail, $sleep, '0.6'), [], 'with the library it is recorded';
}
# Where LD_PRELOAD is given, and has only others' libraries, that is said.
SKIP: {
    open my $out, '>', "$dir/other.c" or die;
    print $out "int other;\n";
    close $out;
    skip 'no library can be made', 2 if system("gcc -shared -fPIC -o $dir/other.so $dir/other.c >/dev/null 2>&1") != 0;
    is_deeply unseen('--', 'env', "LD_PRELOAD=$dir/other.so", $^X, '-e', '1'), ["$perl: $others"], 'by env';
    is_deeply unseen('--', 'env', '-i', "LD_PRELOAD=$dir/other.so", '/bin/sh', '-c', "$^X -e 'sleep 1'; true"),
        [sort "$perl: $others", abs_path('/bin/sh') =~ s{.*/}{}r . ": $others"], 'and by one that is not seen';
}
SKIP: {
    skip 'no node', 1 unless present('node');
    is_deeply unseen('--', 'env', 'LD_PRELOAD=', 'node', '-e', '1'), ["node: $others"], 'env LD_PRELOAD= takes it away, too';
}
# By whatever name a program was started, it is one.
{
    my $path = abs_path($^X);
    is_deeply unseen('--', $^X, '-e', 'delete $ENV{LD_PRELOAD}; system $_, "-e", 1 for @ARGV', 'perl', $path, 'perl', $path), ["$perl: $preload (4 processes)"],
        'a program that is started by its name and by its path has one line' if (grep { -x } map { "$_/perl" } split /:/, $ENV{PATH})[0] eq $^X;
}

# A program that takes its time before its libraries are loaded is not judged for good.
SKIP: {
    skip 'gdb is not to be had here', 2 if system("gdb -q -batch -ex starti --args $^X -e 1 >/dev/null 2>&1") != 0;
    is_deeply unseen('--', 'gdb', '-q', '-batch', '-iex', 'set startup-with-shell off', '-ex', 'starti', '-ex', 'shell sleep 0.8', '-ex', 'continue',
                     '--args', $^X, '-e', 'my @all = map { "x$_" } 1 .. 2000'), [], 'a program that a debugger stops before it has loaded anything';
    cmp_ok scalar(() = `$B/bin/eventcnv -E PoolAlloc -n 4000 $dir/a.paw 2>/dev/null` =~ /\n/g), '>', 2000, 'is recorded';
}

# A program for another loader is started without the library.
SKIP: {
    open my $source, '>', "$dir/other.c" or die;
    print $source qq(int main(void) { return 3; }\n);
    close $source;
    skip 'musl is not to be had here', 2 if system("musl-gcc -o $dir/other $dir/other.c >/dev/null 2>&1") != 0;
    is_deeply unseen('--', "$dir/other"), ['other: linked with musl: the library needs glibc'], 'a program that is linked with musl is named';
    is system("$B/bin/eventrec --force -o $dir/a.paw $dir/other 2>/dev/null") >> 8, 3, 'and runs';
}

is_deeply \@differs, [], 'and the log has the same, for its summary';

done_testing;
