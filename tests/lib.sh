# Sourced by test scripts: one line a test, in the form that tests/run counts.

test_failures=0

ok() { echo "ok $1"; }

not_ok() { # NAME REASON
	echo "not ok $1: $2"
	test_failures=$((test_failures + 1))
}

skip() { echo "skip $1: $2"; } # NAME REASON

# expect_eq NAME GOT WANT
expect_eq() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got '$2', want '$3'"
	fi
}

# expect_match NAME TEXT PATTERN: extended regular expression
expect_match() {
	# not a pipe: what grep -q leaves unread would fail it, under pipefail
	if grep -qE -- "$3" <<<"$2"; then
		ok "$1"
	else
		not_ok "$1" "'$3' is not in: $(printf '%s' "$2" | tail -c 300 | tr '\n' '|')"
	fi
}

finish() { [ "$test_failures" -eq 0 ]; }
