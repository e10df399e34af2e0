#!/usr/bin/python3
# stereodem stack --trend: rates and their standard errors on series of DEMs with known errors; dates, copies, files.
# test_trend.py [STEREODEM [SOURCE_DIR [seeds FIRST LAST]]]     seeds: the series of each seed
# exits 77 when GDAL or numpy for Python is missing
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys

import harness as t
from with_gdal import gdal, np, put
path = t.at
X0, Y0, CELL = 500010.0, 4900020.0, 30.0  # UTM 31
BANDS = ("rate", "standard error of the rate", "dates", "span of the dates", "NMAD of the residuals")


def write(name, z, metadata=None, options=("TILED=YES",)):
    return put(path(name), z, X0, Y0, CELL, options=options, **dict(metadata or {}, VERTICAL_DATUM="WGS 84 ellipsoid"))


def read(name):
    a = gdal.Open(path(name)).ReadAsArray().astype(float)
    a[a == -9999] = np.nan
    return a


def smooth(rng, shape, cells):
    """Noise of variance 1 that is alike over so many cells."""
    k = [np.fft.fftfreq(n) for n in shape]
    f = np.fft.fft2(rng.normal(size=shape)) * np.exp(-2 * (np.pi * cells) ** 2 * (k[0][:, None] ** 2 + k[1][None, :] ** 2))
    z = np.fft.ifft2(f).real
    return z / z.std()


def ground(shape):
    r, c = np.meshgrid(*[np.arange(n) * CELL for n in shape], indexing="ij")
    return 1500 + 400 * np.sin(c / 2500.) * np.cos(r / 2100.) + 90 * np.sin(c / 510. + 1) * np.sin(r / 470.) + 15 * np.sin(c / 97.)


def series(seed, scenes=40, shape=(420, 400), share=0.1, rate=-1.0, prefix="series"):
    """Scenes over eleven years of ground that thins by a metre a year on a tenth of it: correlated and white noise of each scene's
    own size, offset, tilt, clouds, voids."""
    rng = np.random.default_rng(seed)
    truth = ground(shape)
    where = smooth(rng, shape, 15)
    thins = where > np.quantile(where, 1 - share)
    r, c = np.meshgrid(*[np.linspace(-1, 1, n) for n in shape], indexing="ij")
    dems = []
    for i, year in enumerate(np.sort(rng.uniform(0, 11, scenes))):
        size = rng.uniform(0.7, 1.8)
        z = truth + np.where(thins, rate * (year - 5.5), 0) + size * (3 * smooth(rng, shape, 8) + rng.normal(0, 4, shape))
        z += rng.normal(0, 6) + rng.normal(0, 2) * r + rng.normal(0, 2) * c
        cloud = smooth(rng, shape, 12)
        z += np.where(cloud > np.quantile(cloud, 1 - rng.uniform(0, 0.25)), rng.uniform(100, 1200), 0)
        void = smooth(rng, shape, 4)
        z[void > np.quantile(void, 0.9)] = np.nan
        day = np.datetime64("2001-01-01T10:30:00") + np.timedelta64(int(year * 365.25 * 86400), "s")
        dems.append(write("%s_%d_%02d.tif" % (prefix, seed, i), z.astype("f4"), {"ACQUISITION_TIME_UTC": str(day) + "Z"}))
    return dems, thins


def trend(dems, out, *options):
    done = t.call([t.PROGRAM, "stack", *dems, "-o", path(out), "--trend", "--overwrite", "--log", "json", *options])
    return json.loads(done.stdout.strip().split("\n")[-1]) if done.returncode == 0 else None


def of_report(name):
    return t.parsed(path(name + ".json"))["trend"]


def figures(seed):
    """Bias of the rates and share of them within a standard error, on stable and on thinning ground."""
    dems, thins = series(seed)
    trend(dems, "t.tif")
    for dem in dems:
        os.remove(dem)
    rate, error = read("t_trend.tif")[:2]
    found = []
    for where, true in ((~thins, 0.0), (thins, -1.0)):
        e = (rate - true)[where & ~np.isnan(rate)]
        found += [e.mean(), np.mean(np.abs(e) < error[where & ~np.isnan(rate)])]
    return found + [of_report("t")["stable_percent"], np.isnan(rate).mean()]


def part_seeds(first, last):
    all = []
    for seed in range(first, last + 1):
        all.append(figures(seed))
        print("seed %d: stable %+.4f m a year, %.3f within; thinning %+.4f, %.3f; %.0f %% taken for stable, %.4f without" % (seed, *all[-1]), flush=True)
    print("mean:   stable %+.4f m a year, %.3f within; thinning %+.4f, %.3f; %.0f %%, %.4f" % tuple(np.mean(all, 0)))
    print("RMS:    stable %.4f, thinning %.4f" % tuple(np.sqrt(np.mean(np.square(all), 0))[[0, 2]]))


def part_series():
    """40 scenes over eleven years: bias, calibration, files."""
    dems, thins = series(1)
    if not t.expect(trend(dems, "t.tif") is not None, "series: a trend is made"):
        return
    found = read("t_trend.tif")
    rate, error, dates, span, spread = found
    for name, where, true in (("stable", ~thins, 0.0), ("thinning", thins, -1.0)):
        e = (rate - true)[where & ~np.isnan(rate)]
        # the errors of one series are alike over 200 m: of the mean of a tenth of the ground they leave 0.04
        t.expect(abs(e.mean()) < 0.05, "series: rates of %s ground are off by %+.4f m a year" % (name, e.mean()))
        t.expect(abs(np.median(e)) < 0.05, "series: their median by %+.4f" % np.median(e))
        inside = np.mean(np.abs(e) < error[where & ~np.isnan(rate)])
        t.expect(0.62 < inside < 0.75, "series: %.3f of the rates of %s ground lie within a standard error" % (inside, name))
    t.expect(np.isnan(rate).mean() < 0.01 and np.nanmin(dates) >= 3 and np.nanmax(dates) <= 40, "series: 3 to 40 dates count")
    t.expect(5 < np.nanmedian(span) < 11 and 4 < np.nanmedian(spread) < 9, "series: span %.1f years, NMAD %.1f m" %
             (np.nanmedian(span), np.nanmedian(spread)))
    t.expect(80 < of_report("t")["stable_percent"] < 95, "series: %.0f %% of the ground is stable" % of_report("t")["stable_percent"])
    check_files(dems)
    check_bytes(dems)


def check_files(dems):
    ds = gdal.Open(path("t_trend.tif"))
    names = tuple(ds.GetRasterBand(k + 1).GetDescription() for k in range(ds.RasterCount))
    t.expect(names == BANDS and ds.GetRasterBand(1).GetUnitType() == "m/year" and ds.GetRasterBand(5).GetUnitType() == "m",
             "files: bands %s" % (names,))
    t.expect(ds.GetRasterBand(1).GetNoDataValue() == -9999 and ds.GetRasterBand(1).GetBlockSize() == [512, 512], "files: tiles, nodata")
    dem = gdal.Open(path("t.tif"))
    t.expect(ds.GetGeoTransform() == dem.GetGeoTransform() and ds.GetSpatialRef().IsSame(dem.GetSpatialRef()), "files: the DEM's grid")
    t.expect('value="0.000000" label="0.0 m/year" color="#f6f6f2"' in t.text_of(path("t_trend.qml")), "files: a style that diverges from 0")
    report = t.parsed(path("t.json"))
    t.expect(0.2 < report["trend"]["error_median"] < 0.5, "report: standard error %.2f" % report["trend"]["error_median"])
    t.expect([len(d["date"]) for d in report["stack"]["dems"]] == [20] * len(dems), "report: the date of each DEM")
    page = t.text_of(path("t.html"))
    t.expect(page.count("Heights of a cell") == 3 and "Rate of the heights" in page,
             "report: map, curves (%d)" % page.count("Heights of a cell"))
    item = t.parsed(path("t.stac.json"))
    times = sorted(gdal.Open(dem).GetMetadataItem("ACQUISITION_TIME_UTC") for dem in dems)
    p = item["properties"]
    t.expect(len(item["assets"]["trend"]["bands"]) == 5, "STAC: the bands")
    t.expect([p["datetime"], p["start_datetime"], p["end_datetime"]] == [None, times[0], times[-1]], "STAC: the span of the dates")


def check_bytes(dems):
    """The same for any order, threads and memory, of some of the DEMs; in bounds, of all."""
    some, first = dems[::4], None
    for order, options in ((some, []), (some[::-1], ["--threads", 1]), (some[3:] + some[:3], ["--memory", "64M", "--threads", 3])):
        trend(order, "o.tif", *options)
        now = [open(path("o" + end), "rb").read() for end in (".tif", "_qa.tif", "_trend.tif", "_trend.qml")]
        if first:
            t.expect(now == first, "another order, %s: the same bytes" % " ".join(map(str, options)))
        first = first or now
    bounds = [X0 + 60 * CELL, Y0 - 300 * CELL, X0 + 200 * CELL, Y0 - 100 * CELL]
    trend(dems, "part.tif", "--bounds", " ".join("%.1f" % b for b in bounds))
    same = np.array_equal(read("part_trend.tif"), read("t_trend.tif")[:, 100:300, 60:200], equal_nan=True)
    t.expect(same, "--bounds: the cells of the whole")


def few(seed=5, scenes=5, shape=(60, 60)):
    rng = np.random.default_rng(seed)
    return [ground(shape) + rng.normal(0, 2, shape) - 0.5 * i for i in range(scenes)]


def dated(done, name="few.json"):
    return [d["date"][:10] for d in sorted(t.parsed(path(name))["stack"]["dems"], key=lambda d: d["path"])] if done else []


def part_dates():
    """Where dates are found, which goes first, and one sentence where they do not do."""
    z = few()
    dems = [write("a.tif", z[0], {"ACQUISITION_TIME_UTC": "2003-05-06T10:11:12Z"}),
            write("AST_L1A_00305072004101112_x.tif", z[1]), write("c_20050508.tif", z[2]), write("d_2006-05-09_dem.tif", z[3]),
            write("e.tif", z[4], {"TIFFTAG_DATETIME": "2020:01:01 00:00:00"})]
    t.put_text(path("e.json"), '{"scene": {"acquisition_time_utc": "2007-05-10T01:02:03Z"}}')
    made = trend(dems, "few.tif", "--align", "none")
    t.expect(sorted(dated(made)) == ["2003-05-06", "2004-05-07", "2005-05-08", "2006-05-09", "2007-05-10"],
             "dates: of metadata, names and the report: %s" % dated(made))
    found = read("few_trend.tif")
    t.expect(abs(np.nanmedian(found[0]) + 0.5) < 0.02 and (found[2] >= 3).all(), "dates: -0.5 m a year, found %.3f" % np.nanmedian(found[0]))
    t.put_text(path("dates.txt"), "# dates\na.tif 1999-01-02\n\"c_20050508.tif\", 2000-01-02\n%s\t2001-01-02T03:04:05\nothers.tif 1990-01-01\n" % dems[4])
    made = trend(dems, "few.tif", "--align", "none", "--dates", path("dates.txt"))
    t.expect(sorted(dated(made)) == ["1999-01-02", "2000-01-02", "2001-01-02", "2004-05-07", "2006-05-09"], "dates: --dates goes first: %s" % dated(made))
    undated = write("undated.tif", z[0], {"TIFFTAG_DATETIME": "2020:01:01 00:00:00"})
    os.rename(dems[3], path("d,1 x.tif"))
    dems[3] = path("d,1 x.tif")
    for line in ('"d,1 x.tif" 2002-03-04', '"d,1 x.tif", 2002-03-04', "d,1 x.tif 2002-03-04 05:06:07", '"d,1 x.tif","2002-03-04T05:06:07.8Z"'):
        t.put_text(path("dates.txt"), "a.tif 1999-01-02\n%s\n" % line)
        made = trend(dems, "few.tif", "--align", "none", "--dates", path("dates.txt"))
        t.expect("2002-03-04" in dated(made), "dates: the line %s" % line)
    t.put_text(path("bad.txt"), "a.tif 2003-05-06\na.tif 2003-05-07\n")
    dated_so = ["stack", "--trend", *dems, "--dates", path("bad.txt"), "-o", path("no.tif")]
    t.refused(1, "line 2 gives", *dated_so)
    for line in ("a.tif 2003-05-06 junk", "a.tif 2003-05-06junk", "a.tif 2003-05-06T10:11:12+02:00", "a.tif,2003-05-06,1", "a.tif 2003-13-01"):
        t.put_text(path("bad.txt"), line + "\n")
        t.refused(1, "line 1 is '%s'" % line, *dated_so)
    t.put_text(path("bad.txt"), "x.tif 2003-05-06\n")
    t.refused(1, "no line names a DEM of this stack, the first is line 1: 'x.tif'", *dated_so)
    t.put_text(path("bad.txt"), "d,1 x.tif 2003-05-06\nx.tif 2003-05-07\n")
    done = t.call([t.PROGRAM, "stack", "--trend", *dems, "--dates", path("bad.txt"), "--overwrite", "-o", path("few.tif")], True)
    t.expect(done.returncode == 0 and "1 of 2 lines name no DEM of this stack (the first is line 2: 'x.tif')" in done.stderr, "dates: %s" % done.stderr)
    for words, given in (("undated.tif has no date", [dems[0], dems[1], undated]), ("of 2 dates, expected at least 3", dems[:2]),
                         ("cannot be opened", dems + ["--dates", path("none.txt")])):
        t.refused(1, words, "stack", "--trend", *given, "-o", path("no.tif"))
    t.refused(2, "--dates: needs --trend", "stack", *dems, "--dates", path("dates.txt"), "-o", path("no.tif"))


def part_copies():
    """An acquisition that was processed twice counts once; one of another time of that day is another."""
    z = few()
    when = ["2003-05-06T10:11:12Z", "2005-05-06T10:11:12Z", "2007-05-06T10:11:12Z", "2007-05-06T12:11:12Z", "2003-05-06T10:11:12Z"]
    dems = [write("copy%d.tif" % i, z[i], {"ACQUISITION_TIME_UTC": time}) for i, time in enumerate(when)]
    done = t.call([t.PROGRAM, "stack", "--trend", *dems, "-o", path("few.tif"), "--overwrite"])
    t.expect(done.returncode == 0 and "copy4.tif is left out: it is of the same acquisition (2003-05-06T10:11:12Z)" in done.stderr,
             "copies: told")
    t.expect(len(dated(True)) == 4, "copies: used once")
    t.refused(1, "of 2 dates", "stack", "--trend", dems[0], dems[1], dems[4], "-o", path("no.tif"))  # copies make no date more


def part_errors():
    """Predicted errors of a DEM's cells weigh its heights."""
    rng = np.random.default_rng(9)
    shape, dems = (120, 120), []
    for i in range(12):
        error = np.where(np.arange(shape[1]) % 20 < 10, 1.0, 12.0) * np.ones(shape) if i % 2 else np.full(shape, 3.0)
        dems.append(write("w%02d_%d.tif" % (i, 20000101 + 10000 * i), ground(shape) + rng.normal(0, 1, shape) * error + rng.normal(0, .5)))
        ds = gdal.GetDriverByName("GTiff").Create(dems[-1][:-4] + "_qa.tif", shape[1], shape[0], 2, gdal.GDT_UInt16)
        ds.SetGeoTransform((X0, CELL, 0, Y0, 0, -CELL))
        ds.SetMetadataItem("MASK_BIT_1", "filled")
        for k, (name, values) in enumerate((("mask", np.ones(shape)), ("predicted standard error", np.round(error / 0.05)))):
            band = ds.GetRasterBand(k + 1)
            band.SetDescription(name)
            band.WriteArray(values.astype("u2"))
        band.SetScale(0.05)
        ds = None
    rms = []
    for k in range(2):
        t.expect(trend(dems, "w.tif") is not None, "predicted errors: a trend is made")
        rate, error = read("w_trend.tif")[:2]
        rms.append(np.sqrt(np.mean(rate[:, 2:-2] ** 2)))
        inside = np.mean(np.abs(rate) < error)
        # without them nothing tells that half of the dates have twelve times the noise in half of the columns: there 33 % lie within
        t.expect(0.6 < inside < 0.76 or (k == 1 and 0.45 < inside), "predicted errors: %.3f within a standard error" % inside)
        for dem in dems if k == 0 else []:
            os.remove(dem[:-4] + "_qa.tif")
    t.expect(rms[0] < 0.8 * rms[1], "predicted errors: rates off by %.3f m a year, %.3f without them" % tuple(rms))


def part_groups():
    """Dates in two groups, which have two medians where the ground thins; three dates, whose lines have small residuals."""
    rng = np.random.default_rng(4)
    shape = (120, 120)
    thins = np.zeros(shape, bool)
    thins[40:70, 40:70] = True
    for years, least, most in (((0, 1, 2, 18, 19, 20), 0.62, 0.75), ((0, 1, 19, 20), 0.62, 0.75), ((0, 1, 20), 0.6, 0.95),
                               ((0, 10, 20), 0.6, 0.95)):
        dems = [write("g_%d.tif" % (20000701 + 10000 * y), ground(shape) - 2.0 * y * thins + rng.normal(0, 3, shape) + rng.normal(0, 3))
                for y in years]
        t.expect(trend(dems, "g.tif") is not None, "groups %s: a trend is made" % str(years))
        rate, error = read("g_trend.tif")[:2]
        t.expect(np.isnan(rate).mean() < 0.01, "groups: %.4f without a rate" % np.isnan(rate).mean())
        for name, where, true in (("stable", ~thins, 0.0), ("thinning", thins, -2.0)):
            e = (rate - true)[where & ~np.isnan(rate)]
            t.expect(abs(e.mean()) < 0.03, "groups: rates of %s ground are off by %+.4f m a year" % (name, e.mean()))
            inside = np.mean(np.abs(e) < error[where & ~np.isnan(rate)])
            t.expect(least < inside < most, "groups: %.3f of them lie within a standard error" % inside)


if sys.argv[3:4] == ["seeds"]:
    part_seeds(int(sys.argv[4]), int(sys.argv[5]))
else:
    for part in (part_series, part_dates, part_copies, part_errors, part_groups):
        part()
t.finish()
