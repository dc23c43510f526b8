# Browser.pm -- a browser without a screen, driven through chromedriver, which takes HTTP and JSON
#
# SPDX-License-Identifier: BSD-2-Clause
package Browser;
use strict;
use warnings;
use File::Temp (); # whose END, which removes folders, comes after the one here
use HTTP::Tiny;
use JSON::PP ();

my $json = JSON::PP->new->utf8->allow_nonref;
my ($program) = grep { -x } map { ("$_/chromium", "$_/google-chrome") } split /:/, $ENV{PATH} // '';
my @begun;
my ($driver) = grep { -x } map { "$_/chromedriver" } split /:/, $ENV{PATH} // '';

# missing() -- is there no browser here, or nothing to drive it with?
sub missing { return !$program || !$driver }

# begin($class, $folder, %logs) -- a browser with its files in that folder; dies if it does not begin.  %logs: what it
# keeps for logs(), as goog:loggingPrefs.
sub begin {
    my ($class, $folder, %logs) = @_;
    my $self = bless {http => HTTP::Tiny->new(timeout => 60), owner => $$}, $class;
    push @begun, $self;
    local @ENV{qw(HOME TMPDIR)} = ($folder, $folder);

    # Its output must be open as long as it runs.
    $self->{pid} = open $self->{out}, '-|', $driver, '--port=0' or die "$driver: $!\n";
    my $line = '';
    local $SIG{ALRM} = sub { die "chromedriver does not begin\n" };
    alarm 30;
    $line = readline($self->{out}) // die "chromedriver ends\n" until $line =~ /started successfully on port (\d+)/;
    alarm 0;
    $self->{base} = "http://127.0.0.1:$1";
    my @arguments = ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
                     "--user-data-dir=$folder/profile");
    $self->{session} = $self->request(POST => '/session', {capabilities => {alwaysMatch => {
        browserName => 'chrome', 'goog:loggingPrefs' => \%logs,
        'goog:chromeOptions' => {binary => $program, args => \@arguments}}}})->{sessionId};
    return $self;
}

sub request {
    my ($self, $method, $path, $body) = @_;
    my $answer = $self->{http}->request($method, "$self->{base}$path", {
        headers => {'content-type' => 'application/json'}, content => defined $body ? $json->encode($body) : ''});
    my $value = eval { $json->decode($answer->{content})->{value} };

    die(ref $value ? "$value->{message}\n" : "$answer->{status} $answer->{reason}\n") if !$answer->{success};
    return $value;
}

# ask($method, $path, $body) -- a command of the session; dies with what the browser says if it fails
sub ask {
    my ($self, $method, $path, $body) = @_;
    return $self->request($method, "/session/$self->{session}$path", $body);
}

# open_page($address) -- goes there, and waits until it is loaded
sub open_page {
    my ($self, $address) = @_;
    return $self->ask(POST => '/url', {url => $address});
}

# script($text, @arguments) -- what a function with that body returns, or what its promise comes to
sub script {
    my ($self, $text, @arguments) = @_;
    return $self->ask(POST => '/execute/sync', {script => $text, args => \@arguments});
}

# devtools($command, %parameters) -- a command of the protocol of the developer tools
sub devtools {
    my ($self, $command, %parameters) = @_;
    return $self->ask(POST => '/goog/cdp/execute', {cmd => $command, params => \%parameters});
}

# logs($type) -- what a log has since it was asked for last
sub logs {
    my ($self, $type) = @_;
    return @{$self->ask(POST => '/se/log', {type => $type})};
}

# act($kind, @actions) -- keys (`key') or a mouse (`pointer') or its wheel (`wheel'), one after another
sub act {
    my ($self, $kind, @actions) = @_;
    my %device = (type => $kind, id => $kind, actions => \@actions);
    $device{parameters} = {pointerType => 'mouse'} if $kind eq 'pointer';
    return $self->ask(POST => '/actions', {actions => [\%device]});
}

# keys(@keys) -- presses them; one that is a list is held down together
sub keys {
    my ($self, @keys) = @_;
    my @actions;
    for my $key (@keys) {
        my @together = ref $key ? @$key : $key;
        push @actions, map { {type => 'keyDown', value => $_} } @together;
        push @actions, map { {type => 'keyUp', value => $_} } reverse @together;
    }
    return $self->act(key => @actions);
}

# Whatever the test came to, nothing of it runs on.
END {
    local ($?, $@);
    for my $self (grep { $_->{owner} == $$ } @begun) {
        eval { $self->request(DELETE => "/session/$self->{session}") } if $self->{session};
        kill TERM => $self->{pid} if $self->{pid};
        close $self->{out} if $self->{out};
    }
}

1;
