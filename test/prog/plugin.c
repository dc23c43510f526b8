/* plugin.c -- a library that is loaded for a while, and calls back (stacks.c)
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
void pluginCall(void (*function)(unsigned), unsigned argument);

__attribute__((noinline)) void pluginCall(void (*function)(unsigned), unsigned argument)
{
  function(argument);
  __asm__ volatile("");
}
