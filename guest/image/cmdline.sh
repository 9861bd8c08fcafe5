# shellcheck shell=sh
#
# The kernel's command line, for the init scripts of both images.

read -r cmdline </proc/cmdline
cmdline=" $cmdline "

# arg NAME: sets $value to that of the last NAME= on the command line, which
# may be in double quotes; status 1 where it is not there.
arg()
{
	case $cmdline in
	*" $1=\""*) value=${cmdline##*" $1=\""}; value=${value%%\"*} ;;
	*" \"$1="*) value=${cmdline##*" \"$1="}; value=${value%%\"*} ;;
	*" $1="*) value=${cmdline##*" $1="}; value=${value%%" "*} ;;
	*) value=""; return 1 ;;
	esac
}
