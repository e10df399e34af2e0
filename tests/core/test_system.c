/* What core/system.h promises, on the system that the tests run on. */
// SPDX-License-Identifier: Apache-2.0
#include "core/system.h"
#include "core/file.h"
#include "tests/case.h"

#include <dirent.h>

static char folder[64]; /* of this process */

/* A file or folder in it. */
static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
    return path[at];
}

static void put(const char *name, const char *text)
{
    assert_int_equal(sdm_file_write(NULL, in_folder(name), text, strlen(text)), SDM_OK);
}

static void expect(const char *name, const char *text)
{
    char found[64];
    FILE *const f = fopen(in_folder(name), "rb");
    assert_non_null(f);
    found[fread(found, 1, sizeof found - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(found, text);
}

TEST(paths_are_absolute_and_have_folders)
{
    char real[4096];
    assert_true(sdm_system_is_absolute("/a"));
    assert_false(sdm_system_is_absolute("a/b"));
    assert_string_equal(sdm_system_slash("a/b/c"), "/c");
    assert_null(sdm_system_slash("c"));
    assert_true(sdm_system_real_path(folder, real, sizeof real));
    assert_true(sdm_system_is_absolute(real) && !strchr(real, '\\'));
    assert_false(sdm_system_real_path(folder, real, 3));
    assert_false(sdm_system_real_path(in_folder("none"), real, sizeof real));
    assert_true(sdm_system_module(real, sizeof real));
    assert_non_null(strstr(real, "test_system"));
    assert_true(sdm_system_longest_name(folder) >= 143);
}

#ifdef _WIN32
TEST(drives_and_backslashes)
{
    assert_true(sdm_system_is_absolute("Z:\\a") && sdm_system_is_absolute("c:/a"));
    assert_true(sdm_system_is_absolute("\\\\server\\share"));
    assert_false(sdm_system_is_absolute("c:a"));
    assert_string_equal(sdm_system_slash("a/b\\c"), "\\c");
    assert_string_equal(sdm_system_slash("a\\b/c"), "/c");
}
#endif

TEST(files_are_made_once_and_replaced)
{
    const int fd = sdm_system_create(in_folder("new"));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a\n", 2), 2);
    assert_int_equal(sdm_system_touch(fd), 0);
    close(fd);
    expect("new", "a\n"); /* no carriage return */
    assert_int_equal(sdm_system_create(in_folder("new")), -1);
    assert_int_equal(errno, EEXIST);
    put("old", "b");
    assert_int_equal(sdm_system_rename(in_folder("new"), in_folder("old")), 0);
    expect("old", "a\n");
    assert_int_equal(sdm_system_rename(in_folder("new"), in_folder("old")), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(sdm_system_sync_path(in_folder("old")), 0);
    assert_int_equal(sdm_system_make_folder(folder, 0777), -1);
    assert_int_equal(errno, EEXIST);
    char own[512];
    snprintf(own, sizeof own, "%s", in_folder("own_XXXXXX"));
    assert_true(sdm_system_make_own_folder(own));
    assert_null(strstr(own, "XXXXXX"));
    assert_int_equal(rmdir(own), 0);
}

TEST(names_of_one_file)
{
    struct stat s;
    put("ünï cödé", "a");
    assert_int_equal(sdm_system_link(in_folder("ünï cödé"), in_folder("second")), 0);
    expect("second", "a");
    assert_true(sdm_system_is_same(in_folder("ünï cödé"), in_folder("second")));
    put("third", "a");
    assert_false(sdm_system_is_same(in_folder("third"), in_folder("second")));
    assert_false(sdm_system_is_same(in_folder("third"), in_folder("none")));
    assert_int_equal(sdm_system_link(in_folder("third"), in_folder("second")), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(sdm_system_look(in_folder("third"), &s), 0);
    assert_true(llabs((long long)sdm_system_changed(&s).tv_sec - (long long)time(NULL)) < 100);
}

static int count_files(const char *path)
{
    int count = 0;
    DIR *const dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        count += *e->d_name != '.';
    closedir(dir);
    return count;
}

TEST(names_of_any_script_and_length)
{
    enum { DEEP = 5, LONG = 120 };
    char path[1000], real[4096], file[1100];
    struct stat s;
    int n = snprintf(path, sizeof path, "%s", in_folder("山 Höhe"));
    for (int k = 0; k < DEEP; k++) {
        assert_int_equal(sdm_system_make_folder(path, 0777), 0);
        n += snprintf(path + n, sizeof path - (size_t)n, "/%0*d", LONG, k);
    }
    assert_int_equal(sdm_system_make_folder(path, 0777), 0);
    snprintf(file, sizeof file, "%s/heights 高さ", path);
    assert_int_equal(sdm_file_write(NULL, file, "a", 1), SDM_OK);
    assert_true(stat(file, &s) == 0 && s.st_size == 1 && S_ISREG(s.st_mode));
    assert_true(stat(path, &s) == 0 && S_ISDIR(s.st_mode));
    assert_true(access(file, W_OK) == 0 && access(path, W_OK | X_OK) == 0);
    assert_int_equal(count_files(path), 1);
    assert_true(sdm_system_real_path(file, real, sizeof real));
    assert_non_null(strstr(real, "/heights 高さ"));
    assert_int_equal(stat(real, &s), 0);
    assert_true(rmdir(path) != 0);
    assert_int_equal(errno, ENOTEMPTY);
    assert_int_equal(unlink(file), 0);
    for (int k = 0; k <= DEEP; k++) {
        assert_int_equal(rmdir(path), 0);
        *strrchr(path, '/') = '\0';
    }
    assert_null(opendir(in_folder("山 Höhe")));
    assert_int_equal(errno, ENOENT);
}

TEST(an_open_file_is_renamed_and_removed)
{
    put("old", "a");
    put("new", "b");
    FILE *const reader = fopen(in_folder("new"), "rb");
    assert_non_null(reader);
    assert_int_equal(sdm_system_rename(in_folder("new"), in_folder("old")), 0);
    assert_int_equal(fgetc(reader), 'b');
    assert_int_equal(unlink(in_folder("old")), 0);
    fclose(reader);
    assert_null(fopen(in_folder("old"), "rb"));
}

TEST(processes_are_told_apart)
{
    char place[256], ended = ' ';
    const unsigned long long began = sdm_system_began(getpid(), &ended);
    assert_true(began != 0 && began == sdm_system_began(getpid(), &ended) && ended != 'Z');
    assert_false(sdm_system_is_gone(getpid()));
    assert_true(sdm_system_is_gone(0x7ffffff0));
    sdm_system_place(place, sizeof place);
    assert_true(place[0] && !strchr(place, ' '));
}

TEST(figures_of_the_machine)
{
    double user_s = -1.0, system_s = -1.0;
    uint64_t random[2] = {0};
    sdm_system_times(&user_s, &system_s);
    assert_true(user_s >= 0.0 && system_s >= 0.0);
    assert_true(sdm_system_free_bytes(folder) > 0.0);
    assert_true(sdm_system_free_bytes(in_folder("none")) < 0.0);
    assert_true(sdm_system_memory() > sdm_system_resident() && sdm_system_resident() > 100000);
    assert_true(sdm_system_random(&random[0]) && sdm_system_random(&random[1]) && random[0] != random[1]);
}

TEST(memory_variables_and_libraries)
{
    void *const block = sdm_system_aligned(4096, 8192);
    assert_true(block && (uintptr_t)block % 4096 == 0);
    sdm_system_aligned_free(block);
    sdm_system_set("SDM_TEST_SYSTEM", "first");
    sdm_system_set("SDM_TEST_SYSTEM", "second");
    assert_string_equal(getenv("SDM_TEST_SYSTEM"), "first");
    assert_null(sdm_system_library("no_such_library"));
    assert_null(sdm_system_symbol(NULL, "no_such_symbol"));
}

FIXTURE(make_folder)
{
    snprintf(folder, sizeof folder, "%s_%ld", "test system", (long)getpid());
    return sdm_system_make_folder(folder, 0777);
}

FIXTURE(remove_folder)
{
    static const char *const names[] = {"old", "ünï cödé", "second", "third"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)remove(in_folder(names[i]));
    return rmdir(folder);
}

RUN_TESTS(make_folder, remove_folder)
