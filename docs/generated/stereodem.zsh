#compdef stereodem
# zsh completion of stereodem; made by scripts/generate.
# SPDX-License-Identifier: Apache-2.0
_stereodem() {
    if ((CURRENT == 2)); then
        local -a commands=(
            'run:make a DEM from a scene, a pair of images, or several views'
            'info:describe a scene, sensor, cameras, overlap, expected cost'
            'compare:compare a DEM with a reference, bias, NMAD, RMSE, LE90; align it'
            'stack:make one DEM from DEMs of one place, median, NMAD, count'
            'plan:plan a job, units of work of one or many scenes'
            'tile:compute units of a job'
            'merge:build the DEMs of a job from its units'
            'status:print the progress of a job'
            'match:match a rectified pair, disparities of its left image'
            'devices:list the devices of this machine that can match')
        _describe command commands
        return
    fi
    case $words[2] in
    run)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--output[DEM to write, NAME.tif, a GeoTIFF; its companions NAME_qa.tif, NAME_ortho.tif (run alone), NAME.json, NAME.html and NAME.png lie beside it]:FILE:_files' \
            '--tr[Spacing of the DEM in units of the output CRS metres, or degrees for a geographic CRS]:SPACING:' \
            '--t_srs[Output CRS, anything that GDAL understands, such as EPSG32633]:CRS:' \
            '--vertical[Vertical datum of the heights the WGS 84 ellipsoid or a geoid]:DATUM:(ellipsoid egm96 egm2008)' \
            '--cost[Matching cost zero-mean normalised cross-correlation, census transform, or sum of absolute differences; auto census for pixels below 5 m, else zncc]:COST:(auto zncc census sad)' \
            '--optimizer[How matches are chosen from the costs local takes the best one of each pixel; sgm (semi-global matching) and bp (belief propagation; match alone) also penalise differences between neighbours, which keeps the edges of roofs; auto sgm for run with pixels below 3 m, else local]:NAME:(auto local sgm bp)' \
            '--surface-filter[Filter of the matched heights wiener smooths plain ground within the predicted noise, restores ridges that the correlation window blurs, and moves heights by least squares to where the pixels of both views agree; none off; auto wiener with zncc, else none]:NAME:(auto wiener none)' \
            '--p1[sgm penalty where neighbours differ by one label, in units of the cost (docs/optimizers.md)]:COST:' \
            '--p2[sgm penalty where neighbours differ by more labels, at least --p1; lower across edges of the left image]:COST:' \
            '--paths[sgm number of directions along which costs are aggregated, 4 or 8]:N:(4 8)' \
            '--device[Where matching runs the processor, or a device with the number that stereodem devices prints; auto takes the fastest that works and logs it (commands other than run the processor)]:NAME:(auto cpu opencl cuda)' \
            '--cpu-level[Instruction set to use on the CPU; reference is the slow definition of the kernels]:LEVEL:(auto reference c neon sse4.2 avx2 avx512bw avx512)' \
            '--threads[Number of threads]:N:' \
            '--memory[Memory budget of the process, in bytes or with K, M, G or T (powers of 1024)]:BYTES:' \
            '--tile[Edge of the blocks that the DEM is made in, in cells]:CELLS:' \
            '--fill[Small holes to fill with interpolated heights none, all, or gentle those that can be trusted]:HOLES:(none gentle all)' \
            '--hmin[Lowest height to search and to write, in metres above the ellipsoid]:METRES:' \
            '--hmax[Highest height to search and to write, in metres above the ellipsoid]:METRES:' \
            '--dem[DEM to start from, heights in metres only heights within 400 m of it are searched]:FILE:_files' \
            '--dem-vertical[Vertical datum of --dem; auto reads it from the file]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--reference[DEM that corrects the cameras, heights in metres a 3-D shift and the jitter along the track, which a pair cannot show, are fitted to it where the ground has not changed]:FILE:_files' \
            '--reference-mask[Stable ground for --reference a raster, which leaves out what is 0, NaN or no data, or polygons, which leave out what is outside]:FILE:_files' \
            '--exclude[Ground that the fit to --reference leaves out polygons, such as outlines of glaciers, or a raster that is not 0 there]:FILE:_files' \
            '--where[Take only the polygons of --reference-mask and --exclude that this attribute filter selects, as behind WHERE in SQL area_km2 > 1]:SQL:' \
            '--layer[Layer of these polygons, for a file that has several]:NAME:' \
            '--reference-vertical[Vertical datum of --reference; auto reads it from the file]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--band[Band to match, counted from 1]:N:' \
            '--mask-left[Raster of the size of the left image; 0 or NaN = do not use the pixel]:FILE:_files' \
            '--mask-right[Raster of the size of the right image; 0 or NaN = do not use the pixel]:FILE:_files' \
            '--base-height[Base/height ratio (no unit) of a georeferenced pair that lies in epipolar geometry already]:RATIO:' \
            '*--co[Creation option of GDALs COG driver for the DEM, such as COMPRESS=ZSTD; may be given again]:NAME=VALUE:' \
            '*--config[Configuration option of GDAL, such as GDAL_HTTP_PROXY=HOSTPORT; may be given again]:NAME=VALUE:' \
            '--overwrite[Overwrite existing output]' \
            '--keep-job[Keep the finished units after success with run the job folder NAME.tif.job, with merge the units of the scene]' \
            '--strict[Exit code 1 where a DEM is doubtful, such as with a reference that was refused]' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    info)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--tr[Spacing of the DEM in units of the output CRS metres, or degrees for a geographic CRS]:SPACING:' \
            '--t_srs[Output CRS, anything that GDAL understands, such as EPSG32633]:CRS:' \
            '--threads[Number of threads]:N:' \
            '--memory[Memory budget of the process, in bytes or with K, M, G or T (powers of 1024)]:BYTES:' \
            '--tile[Edge of the blocks that the DEM is made in, in cells]:CELLS:' \
            '--hmin[Lowest height to search and to write, in metres above the ellipsoid]:METRES:' \
            '--hmax[Highest height to search and to write, in metres above the ellipsoid]:METRES:' \
            '--dem[DEM to start from, heights in metres only heights within 400 m of it are searched]:FILE:_files' \
            '--dem-vertical[Vertical datum of --dem; auto reads it from the file]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--band[Band to match, counted from 1]:N:' \
            '--mask-left[Raster of the size of the left image; 0 or NaN = do not use the pixel]:FILE:_files' \
            '--mask-right[Raster of the size of the right image; 0 or NaN = do not use the pixel]:FILE:_files' \
            '--base-height[Base/height ratio (no unit) of a georeferenced pair that lies in epipolar geometry already]:RATIO:' \
            '*--config[Configuration option of GDAL, such as GDAL_HTTP_PROXY=HOSTPORT; may be given again]:NAME=VALUE:' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    compare)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--class[Score only the cells of class 1 (land) of this raster, or of these polygons by their field class (without one 1); 2 (water) and 3 (cloud) are reported apart]:FILE:_files' \
            '--within[Compare only where this raster is valid, too, or inside of these polygons coverage is counted there, not over all of the reference]:FILE:_files' \
            '--dem-vertical[Vertical datum of the DEMs heights; auto reads its vertical CRS or VERTICAL_DATUM]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--reference-vertical[Vertical datum of the references heights; auto reads its vertical CRS or VERTICAL_DATUM]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--png[Picture of the errors after alignment -20..20 m as grey 1..255, 0 where there is none]:FILE.png:_files' \
            '--mask[Stable ground only cells where this raster is not 0, or inside of these polygons, are used for the shift and are scored; the others are reported apart]:FILE:_files' \
            '--exclude[Unstable ground, such as outlines of glaciers cells inside of these polygons, or where this raster is not 0, are not used for the shift and are reported apart]:FILE:_files' \
            '--where[Take only the polygons that this attribute filter selects, as behind WHERE in SQL area_km2 > 1]:SQL:' \
            '--layer[Layer of the polygons, for a file that has several]:NAME:' \
            '--aligned[Write the DEM without the shift and the systematic error of --model on the same cells, resampled once from the original by cubic spline]:FILE.tif:_files' \
            '--difference[Write the aligned DEM minus the reference in metres, in stable and other places, with statistics as metadata]:FILE.tif:_files' \
            '--model[Systematic error that is estimated and removed shift a 3-D shift; tilt also a plane; track also a profile along the track, of low order with up to six sines, as far as cross-validation confirms them]:MODEL:(shift tilt track)' \
            '--track[Direction of flight for --model track, clockwise from the grids north]:DEG:' \
            '--json[Print the figures as one line of JSON (metres, shares 0..1)]' \
            '--threads[Number of threads]:N:' \
            '--memory[Memory budget of the process, in bytes or with K, M, G or T (powers of 1024)]:BYTES:' \
            '*--config[Configuration option of GDAL, such as GDAL_HTTP_PROXY=HOSTPORT; may be given again]:NAME=VALUE:' \
            '--overwrite[Overwrite existing output]' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    stack)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--list[Text file with one DEM per line, relative to that file; empty lines and lines with # are skipped]:FILE:_files' \
            '--align[Shift each DEM to the others over stable cells z in height; xyz horizontally, too, by Nuth & Kaab (2011); none takes them as they are]:AXES:(z xyz none)' \
            '--bias[auto with three or more DEMs, the smooth error of each (jitter, tilt), seen in its differences from the others, is reduced to the mean of all before the median is taken, where it is a third of the NMAD or more; keep it is left in]:MODE:(auto keep)' \
            '--dem-vertical[Vertical datum of DEMs that declare none; auto assumes nothing]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--no-filled[Leave out cells that NAME_qa.tif beside a DEM marks as filled; otherwise they are used where no DEM has a measured height]' \
            '--output[DEM to write, NAME.tif, a GeoTIFF; its companions NAME_qa.tif, NAME_ortho.tif (run alone), NAME.json, NAME.html and NAME.png lie beside it]:FILE:_files' \
            '--tr[Spacing of the DEM in units of the output CRS metres, or degrees for a geographic CRS]:SPACING:' \
            '--t_srs[Output CRS, anything that GDAL understands, such as EPSG32633]:CRS:' \
            '--vertical[Vertical datum of the heights the WGS 84 ellipsoid or a geoid]:DATUM:(ellipsoid egm96 egm2008)' \
            '--threads[Number of threads]:N:' \
            '--memory[Memory budget of the process, in bytes or with K, M, G or T (powers of 1024)]:BYTES:' \
            '*--co[Creation option of GDALs COG driver for the DEM, such as COMPRESS=ZSTD; may be given again]:NAME=VALUE:' \
            '*--config[Configuration option of GDAL, such as GDAL_HTTP_PROXY=HOSTPORT; may be given again]:NAME=VALUE:' \
            '--overwrite[Overwrite existing output]' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    plan)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--output[Folder of the job to make]:JOB:_files' \
            '--list[Scenes to plan, one per line a scene, or a left and a right image; names are relative to the list, in quotes where they hold blanks; # begins a comment]:FILE:_files' \
            '--tr[Spacing of the DEM in units of the output CRS metres, or degrees for a geographic CRS]:SPACING:' \
            '--t_srs[Output CRS, anything that GDAL understands, such as EPSG32633]:CRS:' \
            '--vertical[Vertical datum of the heights the WGS 84 ellipsoid or a geoid]:DATUM:(ellipsoid egm96 egm2008)' \
            '--cost[Matching cost zero-mean normalised cross-correlation, census transform, or sum of absolute differences; auto census for pixels below 5 m, else zncc]:COST:(auto zncc census sad)' \
            '--optimizer[How matches are chosen from the costs local takes the best one of each pixel; sgm (semi-global matching) and bp (belief propagation; match alone) also penalise differences between neighbours, which keeps the edges of roofs; auto sgm for run with pixels below 3 m, else local]:NAME:(auto local sgm bp)' \
            '--surface-filter[Filter of the matched heights wiener smooths plain ground within the predicted noise, restores ridges that the correlation window blurs, and moves heights by least squares to where the pixels of both views agree; none off; auto wiener with zncc, else none]:NAME:(auto wiener none)' \
            '--p1[sgm penalty where neighbours differ by one label, in units of the cost (docs/optimizers.md)]:COST:' \
            '--p2[sgm penalty where neighbours differ by more labels, at least --p1; lower across edges of the left image]:COST:' \
            '--paths[sgm number of directions along which costs are aggregated, 4 or 8]:N:(4 8)' \
            '--device[Where matching runs the processor, or a device with the number that stereodem devices prints; auto takes the fastest that works and logs it (commands other than run the processor)]:NAME:(auto cpu opencl cuda)' \
            '--threads[Number of threads]:N:' \
            '--memory[Memory budget of the process, in bytes or with K, M, G or T (powers of 1024)]:BYTES:' \
            '--tile[Edge of the blocks that the DEM is made in, in cells]:CELLS:' \
            '--fill[Small holes to fill with interpolated heights none, all, or gentle those that can be trusted]:HOLES:(none gentle all)' \
            '--hmin[Lowest height to search and to write, in metres above the ellipsoid]:METRES:' \
            '--hmax[Highest height to search and to write, in metres above the ellipsoid]:METRES:' \
            '--dem[DEM to start from, heights in metres only heights within 400 m of it are searched]:FILE:_files' \
            '--dem-vertical[Vertical datum of --dem; auto reads it from the file]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--reference[DEM that corrects the cameras, heights in metres a 3-D shift and the jitter along the track, which a pair cannot show, are fitted to it where the ground has not changed]:FILE:_files' \
            '--reference-mask[Stable ground for --reference a raster, which leaves out what is 0, NaN or no data, or polygons, which leave out what is outside]:FILE:_files' \
            '--exclude[Ground that the fit to --reference leaves out polygons, such as outlines of glaciers, or a raster that is not 0 there]:FILE:_files' \
            '--where[Take only the polygons of --reference-mask and --exclude that this attribute filter selects, as behind WHERE in SQL area_km2 > 1]:SQL:' \
            '--layer[Layer of these polygons, for a file that has several]:NAME:' \
            '--reference-vertical[Vertical datum of --reference; auto reads it from the file]:DATUM:(auto ellipsoid egm96 egm2008)' \
            '--band[Band to match, counted from 1]:N:' \
            '--mask-left[Raster of the size of the left image; 0 or NaN = do not use the pixel]:FILE:_files' \
            '--mask-right[Raster of the size of the right image; 0 or NaN = do not use the pixel]:FILE:_files' \
            '--base-height[Base/height ratio (no unit) of a georeferenced pair that lies in epipolar geometry already]:RATIO:' \
            '*--co[Creation option of GDALs COG driver for the DEM, such as COMPRESS=ZSTD; may be given again]:NAME=VALUE:' \
            '*--config[Configuration option of GDAL, such as GDAL_HTTP_PROXY=HOSTPORT; may be given again]:NAME=VALUE:' \
            '--overwrite[Overwrite existing output]' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    tile)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--count[Units per task task I computes units I x K to I x K + K - 1]:K:' \
            '--index-env[Environment variable that holds I, such as SLURM_ARRAY_TASK_ID, SGE_TASK_ID, PBS_ARRAY_INDEX or JOB_COMPLETION_INDEX]:NAME:' \
            '--index-base[I of the first task]:BASE:' \
            '--wait[Longest wait for another task that prepares the scene of a tile]:SECONDS:' \
            '--cpu-level[Instruction set to use on the CPU; reference is the slow definition of the kernels]:LEVEL:(auto reference c neon sse4.2 avx2 avx512bw avx512)' \
            '--threads[Number of threads]:N:' \
            '--strict[Exit code 1 where a DEM is doubtful, such as with a reference that was refused]' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    merge)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--output[Folder of the DEMs; each is called after its scene]:FOLDER:_files' \
            '--threads[Number of threads]:N:' \
            '--overwrite[Overwrite existing output]' \
            '--keep-job[Keep the finished units after success with run the job folder NAME.tif.job, with merge the units of the scene]' \
            '--strict[Exit code 1 where a DEM is doubtful, such as with a reference that was refused]' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    status)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--failed[Print only scenes that failed or are not planned, each with its reason]' \
            '--accounting[Write what each finished unit and merge has used wall, user and system time, peak resident memory, host; one row per unit in a .csv file, with sums in a .json file]:FILE:_files' \
            '--threads[Number of threads]:N:' \
            '--overwrite[Overwrite existing output]' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    match)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--output[Disparities to write 32-bit floating point, in pixels, x_right = x_left - d; .tif has NaN where there is no match, .pfm inf]:FILE:_files' \
            '--format[File format of the output; auto takes it from the names ending, .tif, .tiff or .pfm]:NAME:(auto tif pfm)' \
            '--preview[8-bit PNG to write as well 1..255 from the smallest to the largest disparity asked for, 0 where there is none]:FILE.png:_files' \
            '--min-disparity[Smallest disparity to search, in pixels; may be negative]:PX:' \
            '--max-disparity[Largest disparity to search, in pixels, itself included]:PX:' \
            '--cost[Matching cost sum of absolute differences, zero-mean normalised cross-correlation, census transform, or census and difference together; auto census with --optimizer local, else ad-census]:COST:(auto sad zncc census ad-census)' \
            '--window[Side of the square matching window odd, 3 to 21; of sad 2 to 32, even ones too, which reach one pixel further to the left and up; sgm and bp take 1, too]:PX:' \
            '--census[Pixels that the census transform compares with the middle one columns x rows; of --cost census and ad-census]:SIZE:(5x5 7x7 9x7 9x9)' \
            '--lr-threshold[Left-right check reject a match if the best match of its right pixel lies further away than this; below 0 no check]:PX:' \
            '--uniqueness[Uniqueness check reject a match that is not better, by this share of the cost, than every other one more than 1 px away]:SHARE:' \
            '--min-sigma[Reject pixels whose window (of sgm and bp 9 x 9 at least) has no larger standard deviation 8-bit levels, or levels of 12 bits for wider images]:LEVELS:' \
            '--subpixel[Sub-pixel refinement of the disparities]:ON:(off on)' \
            '--median[Median filter side of its square window of valid disparities, in pixels]:SIDE:(none 3 5)' \
            '--fill[Fill pixels without a match nearest with the disparity of the nearest matched pixel; interpolate between the neighbours in the row, at steps with the disparity of the background]:HOW:(none nearest interpolate)' \
            '--downscale[Match images of 1/N of the size, means of N x N pixels; disparities asked for and written are in pixels of those]:N:' \
            '--band[Band of both images to match, counted from 1]:N:' \
            '--first[Sequences number of the first image]:N:' \
            '--last[Sequences number of the last image]:N:' \
            '--overwrite[Replace existing outputs]' \
            '--optimizer[How matches are chosen from the costs local takes the best one of each pixel; sgm (semi-global matching) and bp (belief propagation; match alone) also penalise differences between neighbours, which keeps the edges of roofs; auto sgm for run with pixels below 3 m, else local]:NAME:(auto local sgm bp)' \
            '--p1[sgm penalty where neighbours differ by one label, in units of the cost (docs/optimizers.md)]:COST:' \
            '--p2[sgm penalty where neighbours differ by more labels, at least --p1; lower across edges of the left image]:COST:' \
            '--paths[sgm number of directions along which costs are aggregated, 4 or 8]:N:(4 8)' \
            '--bp-weight[bp penalty for each label by which neighbours differ, in units of the cost (docs/optimizers.md)]:COST:' \
            '--bp-truncation[bp difference in labels above which the penalty no longer grows]:N:' \
            '--bp-outer[bp outer iterations; each visits every tile twice, in forward and in backward order]:N:' \
            '--bp-inner[bp inner iterations of each visit of a tile; each sends messages right, left, down and up]:N:' \
            '--bp-tile[bp side of a tile, in pixels; the messages of a tile should fit the cache]:PX:' \
            '--device[Where matching runs the processor, or a device with the number that stereodem devices prints; auto takes the fastest that works and logs it (commands other than run the processor)]:NAME:(auto cpu opencl cuda)' \
            '--cpu-level[Instruction set to use on the CPU; reference is the slow definition of the kernels]:LEVEL:(auto reference c neon sse4.2 avx2 avx512bw avx512)' \
            '--threads[Number of threads]:N:' \
            '*--config[Configuration option of GDAL, such as GDAL_HTTP_PROXY=HOSTPORT; may be given again]:NAME=VALUE:' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    devices)
        shift words
        ((CURRENT--))
        _arguments '--help[Print the options]' \
            '--threads[Number of threads]:N:' \
            '--quiet[Print errors only]' \
            '--verbose[Print details of each stage]' \
            '--log[text lines for people on standard error; json one JSON object a line on standard output, the last one a summary]:FORMAT:(text json)' \
            '*:file:_files'
        ;;
    esac
}
_stereodem "$@"
