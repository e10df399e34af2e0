/* Times rectified matching beside OpenCV's, in one process and interleaved, on a synthetic pair of 8 bits:
 * bench_opencv [--size 3962x4200] [--disparities 64] [--window 9] [--threads 1] [--runs 5] [--sgbm 0]
 *              [--only WORD]
 * CSV on standard output: what,threads,seconds,cpu_seconds,ns_per_disparity,ratio
 * seconds: median of the runs' wall clock; cpu_seconds: least of the runs; ratio: StereoBM's seconds (of its
 * two settings the faster) over this one's.  --sgbm 1: semi-global matching, too; 2: alone, the ratio then to
 * the faster of StereoSGBM's modes; --only: those with WORD in their name, so that the process's peak memory
 * is theirs.  Ours begins with 8-bit samples too, as OpenCV's does. */
// SPDX-License-Identifier: Apache-2.0
extern "C" {
#include "core/core.h"
#include "kernels.h"
#include "rectified/pair.h"
}

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>

namespace
{

struct Request {
    int width = 3962, height = 4200, disparities = 64, window = 9, threads = 1, runs = 5, sgbm = 0;
    std::string only;
};

struct Contestant {
    std::string name;
    std::function<void()> run;
    std::vector<double> wall_s, cpu_s;
};

double cpu_now_s()
{
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

bool parse(Request &q, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const int value = std::atoi(argv[i + 1]);
        if (name == "--size") {
            if (std::sscanf(argv[i + 1], "%dx%d", &q.width, &q.height) != 2)
                return false;
        } else if (name == "--disparities") {
            q.disparities = value;
        } else if (name == "--window") {
            q.window = value;
        } else if (name == "--threads") {
            q.threads = value;
        } else if (name == "--runs") {
            q.runs = value;
        } else if (name == "--only") {
            q.only = argv[i + 1];
        } else if (name == "--sgbm") {
            q.sgbm = value;
        } else {
            return false;
        }
    }
    return argc % 2 == 1 && q.runs > 0 && q.threads > 0 && q.disparities % 16 == 0 && q.width > q.disparities;
}

/* Smooth noise, moved by a disparity that waves over the range, with noise of its own in either image. */
void make_pair(const Request &q, cv::Mat &left, cv::Mat &right)
{
    cv::RNG rng(7);
    cv::Mat texture(q.height, q.width + q.disparities, CV_8U);
    left.create(q.height, q.width, CV_8U);
    right.create(q.height, q.width, CV_8U);
    rng.fill(texture, cv::RNG::UNIFORM, 0, 256);
    for (int y = 0; y < q.height; y++) {
        uchar *const t = texture.ptr(y);
        for (int x = 1; x < texture.cols; x++)
            t[x] = uchar((2 * t[x] + 3 * t[x - 1]) / 5);
        for (int x = 0; x < q.width; x++) {
            const double wave = std::sin(x * 0.004) * std::cos(y * 0.003);
            const int d = int((0.5 + 0.45 * wave) * (q.disparities - 1));
            right.at<uchar>(y, x) = cv::saturate_cast<uchar>(t[x + d] + int(rng.uniform(0, 5)) - 2);
            left.at<uchar>(y, x) = t[x];
        }
    }
}

cv::Ptr<cv::StereoBM> stereo_bm(const Request &q, bool bare)
{
    cv::Ptr<cv::StereoBM> bm = cv::StereoBM::create(q.disparities, q.window);
    bm->setDisp12MaxDiff(1);
    if (bare) {
        bm->setUniquenessRatio(0);
        bm->setTextureThreshold(0);
    }
    return bm;
}

/* A context that is kept from run to run, and with it the memory that it holds ready, as OpenCV's matchers keep
 * their buffers. */
SdmContext *context(const Request &q, bool sgm)
{
    static SdmContext *kept[2];
    SdmOptions options;
    sdm_options_default(&options);
    options.threads = q.threads;
    options.optimizer = sgm ? "sgm" : "local";
    if (!kept[sgm] && sdm_open(&kept[sgm], &options) != SDM_OK) {
        std::fputs("no context\n", stderr);
        std::exit(1);
    }
    return kept[sgm];
}

/* One run of ours, from 8-bit samples to disparities. */
void match(const Request &q, const cv::Mat &left, const cv::Mat &right, SdmPairCost cost, const char *level,
           bool sgm = false)
{
    static std::vector<int16_t> samples[2];
    static std::vector<float> disparity;
    const size_t count = size_t(q.width) * size_t(q.height);
    const uchar *const bytes[2] = {left.ptr(), right.ptr()};
    SdmPairImage image[2] = {};
    disparity.resize(count);
    for (int side = 0; side < 2; side++) {
        samples[side].resize(count);
        int16_t *const out = samples[side].data();
#pragma omp parallel for num_threads(q.threads)
        for (size_t i = 0; i < count; i++)
            out[i] = bytes[side][i];
        image[side].width = q.width, image[side].height = q.height, image[side].stride = q.width;
        image[side].data = out, image[side].eight_bit = true;
    }
    SdmPairSettings set = {};
    set.cost = cost, set.window = q.window, set.dmax = q.disparities - 1, set.census_width = 9,
    set.census_height = 7;
    set.lr_threshold = 1.0f, set.subpixel = true, set.cpu_level = level;
    SdmContext *const ctx = context(q, sgm);
    SdmOptimizer how;
    if (sgm)
        set.window = 1, set.optimizer = &how;
    if (sdm_pair_optimizer(ctx, sdm_options(ctx), cost, &how) != SDM_OK ||
        sdm_pair_match(ctx, &image[0], &image[1], &set, disparity.data()) != SDM_OK) {
        std::fprintf(stderr, "%s\n", sdm_error(ctx));
        std::exit(1);
    }
}

std::vector<Contestant> contestants(const Request &q, const cv::Mat &left, const cv::Mat &right, cv::Mat &out)
{
    std::vector<Contestant> all;
    for (int bare = 0; bare < 2 && q.sgbm < 2; bare++)
        all.push_back({bare ? "StereoBM bare" : "StereoBM",
                       [=, &out, bm = stereo_bm(q, bare)] { bm->compute(left, right, out); },
                       {},
                       {}});
    static const int modes[2] = {cv::StereoSGBM::MODE_SGBM, cv::StereoSGBM::MODE_HH};
    for (int i = 0; i < 2 && q.sgbm; i++) {
        const auto sgbm = cv::StereoSGBM::create(0, q.disparities, 5, 200, 800, 1, 0, 10, 0, 0, modes[i]);
        all.push_back(
            {i ? "StereoSGBM HH" : "StereoSGBM", [=, &out] { sgbm->compute(left, right, out); }, {}, {}});
    }
    static const char *const names[3] = {"sad", "zncc", "census"}, *const levels[2] = {"avx512", "avx2"};
    for (int level = 0; level < 2 && q.sgbm; level++)
        if (sdm_kernels_at(levels[level]))
            all.push_back({std::string("sgm ad-census ") + levels[level],
                           [=] { match(q, left, right, SDM_PAIR_AD_CENSUS, levels[level], true); },
                           {},
                           {}});
    for (int level = 0; level < 2 && q.sgbm < 2; level++)
        for (int cost = 0; cost < 3 && sdm_kernels_at(levels[level]); cost++)
            all.push_back({std::string(names[cost]) + " " + levels[level],
                           [=] { match(q, left, right, SdmPairCost(cost), levels[level]); },
                           {},
                           {}});
    return all;
}

double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

} // namespace

int main(int argc, char **argv)
{
    Request q;
    if (!parse(q, argc, argv)) {
        std::fputs("bench_opencv [--size 3962x4200] [--disparities 64] [--window 9] [--threads 1] [--runs 5] "
                   "[--sgbm 0] [--only WORD]\n",
                   stderr);
        return 2;
    }
    cv::Mat left, right, out;
    cv::setNumThreads(q.threads);
    make_pair(q, left, right);
    std::vector<Contestant> all = contestants(q, left, right, out);
    const auto other = [&](const Contestant &c) { return c.name.find(q.only) == std::string::npos; };
    all.erase(std::remove_if(all.begin(), all.end(), other), all.end());
    if (all.empty()) {
        std::fprintf(stderr, "--only %s: no such contestant\n", q.only.c_str());
        return 2;
    }
    for (int run = -1; run < q.runs; run++) /* the first one warms up */
        for (Contestant &c : all) {
            const double wall = sdm_now_s(), cpu = cpu_now_s();
            c.run();
            if (run >= 0 || q.runs == 0) {
                c.wall_s.push_back(sdm_now_s() - wall);
                c.cpu_s.push_back(cpu_now_s() - cpu);
            }
        }
    const double peak = std::min(median(all[0].wall_s), median(all[all.size() > 1].wall_s));
    const double outputs = double(q.width) * q.height * q.disparities;
    std::puts("what,threads,seconds,cpu_seconds,ns_per_disparity,ratio");
    for (const Contestant &c : all) {
        const double wall = median(c.wall_s), cpu = *std::min_element(c.cpu_s.begin(), c.cpu_s.end());
        std::printf("%s,%d,%.4f,%.4f,%.4f,%.2f\n", c.name.c_str(), q.threads, wall, cpu, 1e9 * wall / outputs,
                    peak / wall);
    }
    return 0;
}
