//! Faults in what was stated about the columns.

use crate::check;
use hushstream_read::Format;

#[test]
fn what_is_stated() {
    for (stated, message) in [
        (
            "target = 'y'",
            "t: column `x` has no public bounds or categories; state them: --bounds 'x=LOW:HIGH', \
             --vocabulary 'x=A|B|C', --hashed 'x=BITS' or --one-hot 'x', or leave it out: --ignore \
             'x'",
        ),
        (
            "bounds = { x = [0, 1], y = [0, 1] }",
            "t: no target is stated, and this task needs one: --target COLUMN, or target = \
             'COLUMN' in a schema",
        ),
        // Before columns that nothing describes, of which the target would be one.
        (
            "",
            "t: no target is stated, and this task needs one: --target COLUMN, or target = \
             'COLUMN' in a schema",
        ),
        (
            "target = 'Y'\nbounds = { x = [0, 1] }",
            "t: no column is named `Y`, which --target names",
        ),
        (
            "target = 'y'\nbounds = { 'w*' = [0, 1] }",
            "t: no column is named `w*`, which --bounds names",
        ),
        (
            "target = 'y'\nfeatures = ['q']",
            "t: no column is named `q`, which --features names",
        ),
        (
            "target = 'y'\none_hot = ['x|q']",
            "t: no column is named `q`, which --one-hot names",
        ),
        (
            "target = 'y'\nperson = 'p'",
            "t: no column is named `p`, which --person names",
        ),
        (
            "target = 'y'\nbounds = { x = [1, 0] }",
            "t: bounds of `x`: allowed: two finite numbers, the smaller first",
        ),
        (
            "target = 'y'\nbounds = { x = [0, nan] }",
            "t: bounds of `x`",
        ),
        (
            "target = 'y'\nbounds = { x = [-1.7e308, 1.7e308] }",
            "t: bounds of `x`",
        ),
        (
            "target = 'y'\nvocabulary = { x = ['a', 'a'] }",
            "t: vocabulary of `x`: a value is listed twice",
        ),
        (
            "target = 'y'\nvocabulary = { x = [] }",
            "t: vocabulary of `x`: every value needs a name",
        ),
        (
            "target = 'y'\nhashed = { x = 40 }",
            "t: bits of `x`: allowed: 1 to 28",
        ),
        (
            "target = 'y'\nbounds = { x = [0, 1] }\nhashed = { x = 4 }",
            "t: column `x` is stated twice: by --bounds and by --hashed",
        ),
        (
            "target = 'y'\nfeatures = ['y']",
            "t: column `y` cannot be a feature: it is the target",
        ),
        ("target = 'y'\nignore = ['x']", "t: no feature is left"),
        (
            "target = 'y'\nnorm = 0\nbounds = { x = [0, 1] }",
            "t: norm: allowed: a positive finite number",
        ),
        (
            "target = 'y'\nnorm = 1e-200\nbounds = { x = [0, 1] }",
            "t: norm",
        ),
        (
            "target = 'y'\ntask = 'regress'\nbounds = { x = [0, 1] }",
            "t: no target bounds are stated; regression needs them: --target-bounds LOW:HIGH",
        ),
        (
            "target = 'y'\ntask = 'regress'\ntarget_bounds = [1, 0]\nbounds = { x = [0, 1] }",
            "t: bounds of `y`",
        ),
        (
            "target = 'y'\ntask = 'multiclass'\nbounds = { x = [0, 1] }",
            "t: no classes are stated",
        ),
        (
            "target = 'y'\ntask = 'multiclass'\nclasses = ['a']\nbounds = { x = [0, 1] }",
            "t: classes: at least two are needed",
        ),
        (
            "target = 'y'\ntask = 'classify'\nclasses = ['a', 'b']\nbounds = { x = [0, 1] }",
            "t: --classes does not fit here: it is for --task multiclass",
        ),
        (
            "task = 'experts'\nbounds = { x = [0, 1], y = [0, 2] }",
            "t: the losses of experts are compared",
        ),
        (
            "task = 'experts'\ntarget = 'y'\nbounds = { x = [0, 1] }",
            "t: --target does not fit here: experts have losses",
        ),
        (
            "target = 'y'\ndimension = 3\nbounds = { x = [0, 1] }",
            "t: --dim does not fit here",
        ),
    ] {
        check(Format::Csv, stated, "x,y\n0,1\n", message);
    }
    check(
        Format::Csv,
        "target = 'arival'",
        "arrival,x\n0,1\n",
        "t: no column is named `arival`, which --target names; is it `arrival`?",
    );
    for (format, stated, message) in [
        (
            Format::Vw,
            "",
            "t: vw says nothing about the size of values; state the greatest length of a feature \
             vector: --norm 1",
        ),
        (
            Format::Libsvm,
            "norm = 1",
            "t: libsvm does not tell how many features there are; state it: --dim N",
        ),
        (
            Format::Libsvm,
            "norm = 1\ndimension = 0",
            "t: no feature is left",
        ),
        (
            Format::Libsvm,
            "norm = 1\ndimension = 4294967295",
            "t: the dimension: allowed: 1 to 2147483648",
        ),
        (
            Format::Libsvm,
            "norm = 1\ndimension = 3\nindex_base = 2",
            "t: index base: allowed: 0 or 1",
        ),
        (
            Format::Vw,
            "norm = 1\nbounds = { x = [0, 1] }",
            "t: --bounds does not fit here: columns have no names in this format",
        ),
        (
            Format::Vw,
            "norm = 1\nperson = 'x'",
            "t: --person does not fit here: only VW text names persons",
        ),
        (
            Format::Vw,
            "norm = 1\ntarget = 'x'",
            "t: --target does not fit here: the label comes first",
        ),
    ] {
        check(format, stated, "1 | a\n", message);
    }
}
