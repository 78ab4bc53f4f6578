//! Model files from a program: what was read can be written, and read again.
#![allow(clippy::unwrap_used)] // a test may stop where it fails

use hushstream::Model;

#[test]
fn a_model_of_every_version_is_written_and_read_again() {
    let golden: [&[u8]; 3] = [
        include_bytes!("../../cli/tests/golden/model-v1.json"),
        include_bytes!("../../cli/tests/golden/model-v2.json"),
        include_bytes!("../../cli/tests/golden/model-v3.json"),
    ];
    for file in golden {
        let (model, _) = Model::from_bytes(file, "m").unwrap();
        let written = model.to_bytes().unwrap();
        // A later version's checksum covers its guarantee too, so there is nothing to note.
        let (again, notes) = Model::from_bytes(&written, "m").unwrap();
        assert_eq!(again.weights, model.weights);
        assert_eq!(again.guarantee, model.guarantee);
        assert!(notes.is_empty(), "{notes:?}");
    }
}
