/* A report of known items, as its JSON text and its page show it. */
// SPDX-License-Identifier: Apache-2.0
#include "product/report.h"
#include "tests/case.h"

#include <cJSON.h>

/* Sections in the order of the JSON object; the page shows the warning first and the two halves side by side.
 */
static void fill(SdmReport *r)
{
    static const double list[] = {0.1 + 0.2, -1e-17, NAN};
    sdm_report_title(r, "a <b>.tif", "%s", "one & two");
    sdm_report_text(r->root, "program", "p\xff");
    SdmReportItem to = sdm_report_section(r, "times", "Time", SDM_PAGE_TIME, SDM_STYLE_HALF);
    sdm_report_figure(to, "wall_s", "from start to end", 2.345, " s", 1);
    sdm_report_figure(to, NULL, "on the page alone", NAN, " s", 1);
    sdm_report_text(to, "token", "https://me:secret@host/?token=secret");
    sdm_report_number(to, "in_json_alone", 1.0 / 3.0);
    sdm_report_numbers(to, "list", list, 3);
    to = sdm_report_section(r, "values", "Values", SDM_PAGE_PARAMETERS, SDM_STYLE_HALF);
    sdm_report_text(to, "empty", "");
    sdm_report_row(to, "%s\t%s", "name", "<x>");
    sdm_report_note(to, "see `code` & more");
    sdm_report_row(to, "%d\t%s", 7, "a&b");
    to = sdm_report_section(r, "trust", "Careful", SDM_PAGE_WARNINGS, SDM_STYLE_ALERT);
    sdm_report_text(sdm_report_list(to, "warnings"), NULL, "clouds");
    sdm_report_bullet(to, "clouds");
    SDM_REPORT(to, SDM_FIELD("doubtful", (bool)true));
    sdm_report_number(sdm_report_section(r, "hidden", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD), "nothing", NAN);
}

TEST(json)
{
    SDM_CLOSED_BY(sdm_report_close) SdmReport r = {0};
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = NULL};
    sdm_report_open(NULL, &r);
    fill(&r);
    assert_int_equal(sdm_report_json(&r, &text), SDM_OK);
    cJSON *const root = cJSON_Parse(text.data);
    assert_non_null(root);
    const cJSON *const times = cJSON_GetObjectItem(root, "times"), *const list =
                                                                       cJSON_GetObjectItem(times, "list");
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(times, "wall_s")) == 2.345);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(times, "in_json_alone")) == 1.0 / 3.0);
    assert_true(cJSON_GetNumberValue(cJSON_GetArrayItem(list, 0)) == 0.1 + 0.2);
    assert_true(cJSON_GetNumberValue(cJSON_GetArrayItem(list, 1)) == -1e-17);
    assert_true(cJSON_IsNull(cJSON_GetArrayItem(list, 2)));
    assert_int_equal(cJSON_GetArraySize(times), 4);
    assert_null(strstr(text.data, "secret"));
    assert_string_equal(
        cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "values"), "empty")), "");
    const cJSON *const trust = cJSON_GetObjectItem(root, "trust");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(trust, "warnings"), 0)),
                        "clouds");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(trust, "doubtful")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "hidden"), "nothing")));
    assert_non_null(strstr(text.data, "\"p\\ufffd\"")); /* no UTF-8 */
    cJSON_Delete(root);
}

TEST(page)
{
    static const char *const in_order[] = {
        "<title>a &lt;b&gt;.tif</title>",
        "one &amp; two",
        "<section class='card alert'><h2>Careful</h2><ul><li>clouds</li></ul></section>",
        "<div class='grid two'><section class='card'><h2>Time</h2>",
        "<td>from start to end</td><td>2.3 s</td>",
        "<td>on the page alone</td><td>none</td>",
        "</section>\n<section class='card'><h2>Values</h2>",
        "<td>name</td><td>&lt;x&gt;</td>",
        "</table><p class='soft'>see <code>code</code> &amp; more</p>",
        "<table><tr><td>7</td><td>a&amp;b</td></tr>",
        "</section>\n</div></main>"};
    SDM_CLOSED_BY(sdm_report_close) SdmReport r = {0};
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = NULL};
    sdm_report_open(NULL, &r);
    fill(&r);
    assert_int_equal(sdm_report_html(&r, &text), SDM_OK);
    const char *at = text.data;
    for (size_t i = 0; i < sizeof in_order / sizeof *in_order; i++) {
        at = strstr(at, in_order[i]);
        if (!at)
            fail_msg("not there, or out of order: %s", in_order[i]);
    }
    assert_null(strstr(text.data, "in_json_alone"));
    assert_null(strstr(text.data, "{{"));
}

static SdmStatus make(void)
{
    SDM_CLOSED_BY(sdm_report_close) SdmReport r = {0};
    SDM_CLOSED_BY(sdm_text_close) SdmText json = {.ctx = NULL}, page = json;
    sdm_report_open(NULL, &r);
    fill(&r);
    PASS(sdm_report_json(&r, &json));
    return sdm_report_html(&r, &page);
}

TEST(every_allocation_fails_once)
{
    EACH_ALLOCATION_FAILS(make(), , 5, 1);
}

RUN_TESTS(NULL, NULL)
