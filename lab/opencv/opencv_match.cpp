/* OpenCV's StereoBM or StereoSGBM on a rectified pair, with its left-right check and no filling, for figures
 * beside ours: opencv_match bm|bm-bare|sgbm LEFT RIGHT OUT.pfm DISPARITIES WINDOW
 * Both views get DISPARITIES columns of margin on the left, where OpenCV gives no disparity; they are cut off
 * again.  SGBM: P1 = 8 w^2, P2 = 32 w^2, as OpenCV's own sample has them.  Unmatched pixels are infinite. */
// SPDX-License-Identifier: Apache-2.0
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

static cv::Mat read_grey(const char *path, int margin)
{
    cv::Mat wide;
    const cv::Mat grey = cv::imread(path, cv::IMREAD_GRAYSCALE);
    if (!grey.empty())
        cv::copyMakeBorder(grey, wide, 0, 0, margin, 0, cv::BORDER_REPLICATE);
    return wide;
}

static cv::Ptr<cv::StereoMatcher> matcher(const std::string &name, int disparities, int window)
{
    cv::Ptr<cv::StereoMatcher> m;
    const int n = window * window;
    if (name == "bm" || name == "bm-bare") {
        const cv::Ptr<cv::StereoBM> bm = cv::StereoBM::create(disparities, window);
        if (name == "bm-bare") { /* every pixel that the left-right check lets through */
            bm->setUniquenessRatio(0);
            bm->setTextureThreshold(0);
        }
        m = bm;
    } else if (name == "sgbm") {
        m = cv::StereoSGBM::create(0, disparities, window, 8 * n, 32 * n);
    }
    if (m)
        m->setDisp12MaxDiff(1);
    return m;
}

static bool write_pfm(const char *path, const cv::Mat &found, int margin)
{
    std::FILE *const f = std::fopen(path, "wb");
    if (!f)
        return false;
    std::fprintf(f, "Pf\n%d %d\n-1.0\n", found.cols - margin, found.rows);
    for (int y = found.rows - 1; y >= 0; y--)
        for (int x = margin; x < found.cols; x++) {
            const short d = found.at<short>(y, x); /* 1/16 px, below 0: none */
            const float px = d < 0 ? std::numeric_limits<float>::infinity() : float(d) / 16.0f;
            std::fwrite(&px, sizeof px, 1, f);
        }
    return std::fclose(f) == 0;
}

int main(int argc, char **argv)
{
    const int disparities = argc == 7 ? std::atoi(argv[5]) : 0, window = argc == 7 ? std::atoi(argv[6]) : 0;
    if (disparities < 16 || disparities % 16 != 0 || window < 1 || window % 2 == 0) {
        std::fputs("opencv_match bm|bm-bare|sgbm LEFT RIGHT OUT.pfm DISPARITIES WINDOW\n", stderr);
        return 2;
    }
    const cv::Mat left = read_grey(argv[2], disparities), right = read_grey(argv[3], disparities);
    const cv::Ptr<cv::StereoMatcher> m = matcher(argv[1], disparities, window);
    if (!m || left.empty() || left.size() != right.size()) {
        std::fputs("opencv_match: expected bm, bm-bare or sgbm and two images of one size\n", stderr);
        return 1;
    }
    cv::Mat found;
    m->compute(left, right, found);
    return write_pfm(argv[4], found, disparities) ? 0 : 1;
}
