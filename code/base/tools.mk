# tools.mk -- the sources of this room that only Pawprint's tools need: they stay out of other people's programs
#
# SPDX-License-Identifier: BSD-2-Clause
BASE_TOOLS := newfile option page repeat say
