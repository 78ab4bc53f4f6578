//! Model files: of every task, and policies.
//!
//! An input is a file. Bits of the first byte: 1 makes its checksum right.

use crate::input;
use hushstream::model::Model;
use serde_json::Value;

const CHECKSUM: u8 = 1;
/// The most columns of a row that is predicted.
const MOST: usize = 1 << 12;

pub(crate) fn check(bytes: &[u8]) -> Result<bool, String> {
    let (flags, [file]) = input::parts(bytes);
    let summed = (flags & CHECKSUM != 0).then(|| summed(file)).flatten();
    let file = summed.as_deref().unwrap_or(file);
    let (model, notes) = match Model::from_bytes(file, "m") {
        Ok(read) => read,
        Err(error) => return input::speaks(&error.to_string()).map(|()| false),
    };
    notes.iter().try_for_each(|note| input::speaks(note))?;
    let failed = |what: &'static str| move |error: hushstream::Error| format!("{what}: {error}");
    let written = model.to_bytes().map_err(failed("it cannot be written"))?;
    let again = Model::from_bytes(&written, "m")
        .map_err(failed("it is not read again"))?
        .0;
    if again
        .to_bytes()
        .map_err(failed("it cannot be written again"))?
        != written
    {
        return Err("it changes when it is written and read".to_owned());
    }
    used(&model)?;
    Ok(true)
}

/// Everything that a reader of a model does with it. It may be refused in words.
fn used(model: &Model) -> Result<(), String> {
    let mut told = vec![
        model.to_onnx().map(drop),
        model.to_sql("t", &["id"]).map(drop),
        model.explain().map(drop),
        model.weight_intervals(0.9).map(drop),
        model.policy().map(drop),
        model.decider().map(drop),
    ];
    let columns = model.layout.column_names().len();
    if columns <= MOST {
        for value in [0.0, 0.5, -1e300, f64::NAN] {
            let row = vec![value; columns];
            told.push(model.predict(&row).map(drop));
            told.push(model.interval(&row, 0.5).map(drop));
            told.push(model.decide(&row).map(drop));
        }
    }
    for error in told.into_iter().filter_map(Result::err) {
        input::speaks(&error.to_string())?;
    }
    if model.tables.is_some() {
        model.predicts();
    }
    for coordinate in [0, 1, model.layout.dimension().saturating_sub(1)] {
        if coordinate < model.layout.dimension() {
            drop(model.layout.feature_name(coordinate));
        }
    }
    Ok(())
}

/// The file with its right checksum, if it is JSON.
fn summed(file: &[u8]) -> Option<Vec<u8>> {
    let mut stated: Value = serde_json::from_slice(file).ok()?;
    let object = stated.as_object_mut()?;
    object.remove("checksum");
    let first = object.get("version") == Some(&Value::from(1));
    let sum = if first {
        let weights = object.get("weights")?.as_array()?.iter();
        let mut hasher = crc32fast::Hasher::new();
        weights
            .filter_map(Value::as_f64)
            .for_each(|weight| hasher.update(&weight.to_bits().to_le_bytes()));
        hasher.finalize()
    } else {
        crc32fast::hash(&serde_json::to_vec(object).ok()?)
    };
    object.insert("checksum".to_owned(), sum.into());
    serde_json::to_vec(&stated).ok()
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let golden: [&[u8]; 3] = [
        include_bytes!("../../crates/cli/tests/golden/model-v1.json"),
        include_bytes!("../../crates/cli/tests/golden/model-v2.json"),
        include_bytes!("../../crates/cli/tests/golden/model-v3.json"),
    ];
    let learned = crate::state::models();
    let learned = learned.iter().map(Vec::as_slice);
    let all = golden.into_iter().chain(learned);
    all.flat_map(|file| [0, CHECKSUM].map(|flags| input::joined(flags, &[file])))
        .collect()
}
