/* Entries of list files: blanks, comments, quotes, ends of lines; what is no text. */
// SPDX-License-Identifier: Apache-2.0
#include "core/list_file.h"
#include "tests/case.h"

static char path[] = "/tmp/stereodem_list_XXXXXX";

static void write_bytes(const char *bytes, size_t size)
{
    FILE *const f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void expect_next(SdmListFile *list, int line, const char *expected)
{
    char *const entry = sdm_list_file_next(list);
    assert_non_null(entry);
    assert_string_equal(sdm_list_file_unquote(entry), expected);
    assert_int_equal(list->line, line);
}

TEST_CTX(entries_are_trimmed)
{
    static const char text[] = "\xEF\xBB\xBF# list\n\n  a.tif \t\r\n\"b c.tif\"\r\n#x\n\"\nd # e";
    SDM_CLOSED_BY(sdm_list_file_close) SdmListFile list = {0};
    write_bytes(text, sizeof text - 1);
    assert_int_equal(sdm_list_file_open(ctx, "--list", path, "one a line", &list), SDM_OK);
    assert_string_equal(list.folder, "/tmp");
    assert_int_equal(list.lines, 7);
    expect_next(&list, 3, "a.tif");
    expect_next(&list, 4, "b c.tif");
    expect_next(&list, 6, "\"");
    assert_false(list.has_control);
    expect_next(&list, 7, "d # e");
    assert_null(sdm_list_file_next(&list));
}

TEST_CTX(faults_are_seen)
{
    static const char binary[] = "plain\nII*\0\x08\n";
    SDM_CLOSED_BY(sdm_list_file_close) SdmListFile list = {0};
    write_bytes(binary, sizeof binary - 1);
    assert_int_equal(sdm_list_file_open(ctx, "--list", path, "one a line", &list), SDM_OK);
    expect_next(&list, 1, "plain");
    assert_false(list.has_control);
    assert_non_null(sdm_list_file_next(&list));
    assert_true(list.has_control);
    sdm_list_file_close(&list);
    write_bytes("", 0);
    assert_int_equal(sdm_list_file_open(ctx, "--list", path, "one a line", &list), SDM_OK);
    assert_null(sdm_list_file_next(&list));
    sdm_list_file_close(&list);
    assert_refused(ctx, sdm_list_file_open(ctx, "--list", "/tmp", "one a line", &list), SDM_ERR_INPUT,
                   "--list /tmp: cannot be ");
    sdm_list_file_close(&list);
    assert_refused(ctx, sdm_list_file_open(ctx, "--list", "/no/such", "one a line", &list), SDM_ERR_INPUT,
                   "one a line");
}

/* More than the first allocation holds, and a last line without an end. */
TEST_CTX(long_files_are_read)
{
    enum { LINES = 30000 };
    SDM_CLOSED_BY(sdm_list_file_close) SdmListFile list = {0};
    char name[32];
    FILE *const f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < LINES; i++)
        fprintf(f, "%sname%d.tif", i ? "\n" : "", i);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(sdm_list_file_open(ctx, "--list", path, "one a line", &list), SDM_OK);
    assert_int_equal(list.lines, LINES);
    for (int i = 0; i < LINES; i++) {
        snprintf(name, sizeof name, "name%d.tif", i);
        expect_next(&list, i + 1, name);
    }
    assert_null(sdm_list_file_next(&list));
}

int main(void)
{
    const int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    const int failed = run_cases(NULL, NULL);
    remove(path);
    return failed;
}
