// SPDX-License-Identifier: Apache-2.0
#include "common/infer.h"
#include "common/report.h"
#include "qsi/qsi.h"
#include "qsi/signature.h"
#include "sals/read_calls.h"

namespace sals::host {

ge::graphStatus qsi_shapes(gert::InferShapeContext* context) {
    const AttributeCall call(QSI, context->GetAttrs());
    Checker check(QSI.op);
    const SelectionArgs args = read_selection(call);
    const SelectionParams selection = check_selection(check, args);
    if (!check.ok()) return refuse(check.status());
    std::vector<int64_t> sizes = leading_sizes(*context, QSI, "query", 1);
    const ge::graphStatus lens = set_sizes(*context, index_of(QSI.outputs, "selected_lens"), sizes);
    sizes.push_back(list_width(args.max_seq_len, selection));
    const ge::graphStatus ids = set_sizes(*context, index_of(QSI.outputs, "block_ids"), sizes);
    return ids == ge::GRAPH_SUCCESS ? lens : ids;
}

ge::graphStatus qsi_types(gert::InferDataTypeContext* context) { return infer_types(*context, QSI); }

}  // namespace sals::host
