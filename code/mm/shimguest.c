/* shimguest.c -- what AddressSanitizer asks for
 *
 * Its runtime, where it is a shared library, insists on being the first one in the process, and does not start where we
 * are.  It needs not be: what it serves is called behind our wrappers.  A program that has options of its own is asked
 * before us; for that one the environment must say it (pawprint(7)).
 *
 * Design: design/shim.md .shim.sanitize      Tests: test/unseen.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
extern const char *__asan_default_options(void) __attribute__((visibility("default")));

const char *__asan_default_options(void)
{
  return "verify_asan_link_order=0";
}
