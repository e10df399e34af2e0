/* Control groups of both versions, as folders of files -> what they grant. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "core/machine.h"
#include "tests/folder.h"

#include <sys/stat.h>

/* A file below the folder with its own folders. */
static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        (void)mkdir(path, 0777);
    }
    assert_int_equal(sdm_file_write(NULL, path, text, strlen(text)), SDM_OK);
}

static void expect(int64_t memory_bytes, double processors)
{
    SdmGrant grant;
    sdm_grant_read(folder, &grant);
    assert_int_equal(grant.memory_bytes, memory_bytes);
    assert_true(grant.processors == processors);
}

TEST(machine_without_groups_has_no_limit)
{
    expect(INT64_MAX, INFINITY);
    put("proc/self/cgroup", "no such line\n7:\n");
    expect(INT64_MAX, INFINITY);
}

TEST(version_2)
{
    put("proc/self/cgroup", "0::/job/step\n");
    put("sys/fs/cgroup/job/step/memory.max", "max\n");
    put("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
    expect(INT64_MAX, INFINITY);
    put("sys/fs/cgroup/job/memory.max", "314572800\n"); /* of the group above */
    put("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
    expect(314572800, 0.5);
    put("sys/fs/cgroup/job/step/memory.high", "1048576\n");
    expect(1048576, 0.5);
    put("proc/self/cgroup", "0::/of/the/host\n"); /* a container that sees its own group as the root */
    put("sys/fs/cgroup/memory.max", "4096\n");
    expect(4096, INFINITY);
}

TEST(version_1)
{
    put("proc/self/cgroup", "12:pids:/job\n5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "314572800\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    expect(314572800, INFINITY);
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    expect(314572800, 1.5);
    put("proc/self/cgroup", "4:cpuacct,cpu:/job\n");
    put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
    put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    expect(INT64_MAX, 3.0);
    put("proc/self/cgroup", "5:memory:/\n");
    expect(9223372036854771712, INFINITY);
}

TEST(defaults_keep_within)
{
    assert_in_range(sdm_usual_memory(), INT64_C(64) << 20, INT64_C(2) << 30);
    assert_in_range(sdm_usual_threads(), 1, 1 << 16);
}

RUN_TESTS(make_folder, remove_folder)
