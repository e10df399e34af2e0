# Run by CPack over what it will pack: compresses manual pages and changelogs, and gives every file the time of
# SOURCE_DATE_EPOCH where that is set.
# SPDX-License-Identifier: Apache-2.0
file(GLOB_RECURSE texts ${CPACK_TEMPORARY_DIRECTORY}/*)
list(FILTER texts INCLUDE REGEX "/(stereodem\\.1|changelog)$")
foreach(text ${texts})
    execute_process(COMMAND gzip -9nf ${text} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch -hd @$ENV{SOURCE_DATE_EPOCH} {} +
                    COMMAND_ERROR_IS_FATAL ANY)
endif()
