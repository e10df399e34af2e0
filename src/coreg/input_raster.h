/* The rasters that a comparison opens, and their way onto the common cells.  For src/compare and
 * src/stack. */
#ifndef SDM_COMPARE_OPERAND_H
#define SDM_COMPARE_OPERAND_H

#include "coreg/coreg_grid.h"
#include "geo/vertical.h"

#include <gdal.h>
#include <ogr_srs_api.h>

typedef struct SdmOperand {
    const char *path, *role;  /* borrowed; role for sentences: "DEM", "reference", "--class" */
    GDALDatasetH file, band1; /* band1: the first band alone; == file when it has one band */
    OGRSpatialReferenceH srs; /* horizontal part */
    char *wkt;                /* of srs; CPLFree */
    int vertical;             /* SdmVertical, SDM_VERTICAL_UNKNOWN or SDM_VERTICAL_OTHER */
    char vertical_name[96];   /* as declared, "" when unknown */
} SdmOperand;

/* Open a raster with a CRS.  Close after failure, too. */
SdmStatus sdm_operand_open(SdmContext *ctx, const char *path, const char *role, SdmOperand *out);
void sdm_operand_close(SdmOperand *op);
/* The DEM's own conditions: projected, north up. */
SdmStatus sdm_operand_check_dem(SdmContext *ctx, const SdmOperand *dem);

/* Grid of the DEM extended to hold the reference, too: cols, rows, transform, dx_m, dy_m.
 * SDM_ERR_DATA when the extents do not meet. */
SdmStatus sdm_operand_union(SdmContext *ctx, const SdmOperand *dem, const SdmOperand *reference, SdmCells *c);

/* First band of `op` resampled ("near", "bilinear", "average") to the cells -> out, rows x cols; NaN where it
 * has nothing, is not finite or beyond +-1e5. */
SdmStatus sdm_operand_load(SdmContext *ctx, const SdmOperand *op, const SdmOperand *dem, const SdmCells *c,
                           const char *resampling, float *out);
/* The resampling that suits the reference's cell size. */
const char *sdm_operand_resampling(const SdmOperand *reference, const SdmOperand *dem, const SdmCells *c);

/* Bring c->ref_m to the DEM's vertical datum.  note: what was assumed or done, "" when nothing.
 * dem_text, reference_text: values of --dem-vertical, --reference-vertical. */
SdmStatus sdm_operand_convert(SdmContext *ctx, SdmCells *c, SdmOperand *dem, SdmOperand *reference,
                              const char *dem_text, const char *reference_text, char *note, size_t note_size);

#endif
