//! A barycentric spanner: a few actions such that every action is a small combination of them
//! (Awerbuch and Kleinberg 2004).
//!
//! **Claim.** The chosen actions are a basis of the span, and in it every action has coefficients
//! in [−2, 2]. **Method.** Start from a pivoted basis; as long as some action has a coefficient
//! beyond 2, it replaces the basis action with that coefficient: the volume of the basis at least
//! doubles, so this ends.

use crate::LearnError;
use hushstream_account::ParameterError;
use nalgebra::{DMatrix, DVector};

/// Coordinates of actions in an orthonormal basis of their span.
pub(crate) fn reduced(actions: &[Vec<f64>]) -> Vec<DVector<f64>> {
    let mut basis: Vec<DVector<f64>> = Vec::new();
    let scale = actions
        .iter()
        .flatten()
        .fold(0.0_f64, |m, v| m.max(v.abs()));
    for action in actions {
        let mut rest = DVector::from_column_slice(action);
        for _ in 0..2 {
            for direction in &basis {
                let along = direction.dot(&rest);
                rest -= direction * along;
            }
        }
        let length = rest.norm();
        if length > 1e-9 * scale {
            basis.push(rest / length);
        }
    }
    let coordinates = |action: &Vec<f64>| {
        let action = DVector::from_column_slice(action);
        DVector::from_iterator(basis.len(), basis.iter().map(|b| b.dot(&action)))
    };
    actions.iter().map(coordinates).collect()
}

/// Indices of the spanner among reduced actions.
pub(crate) fn spanner(actions: &[DVector<f64>]) -> Result<Vec<usize>, LearnError> {
    let failed = || ParameterError::new("actions", actions.len(), "actions that are not all zero");
    let dimension = actions.first().ok_or_else(failed)?.len();
    let mut chosen: Vec<usize> = Vec::new();
    let mut rest: Vec<DVector<f64>> = actions.to_vec();
    for _ in 0..dimension {
        let lengths = rest.iter().map(DVector::norm).enumerate();
        let (pivot, length) = lengths.fold(
            (0, 0.0),
            |best, (i, l)| if l > best.1 { (i, l) } else { best },
        );
        if length <= 0.0 {
            return Err(failed().into());
        }
        let direction = &rest[pivot] / length;
        for vector in &mut rest {
            let along = direction.dot(vector);
            *vector -= &direction * along;
        }
        chosen.push(pivot);
    }
    loop {
        let columns: Vec<DVector<f64>> = chosen.iter().map(|&i| actions[i].clone()).collect();
        let inverse = DMatrix::from_columns(&columns)
            .try_inverse()
            .ok_or_else(failed)?;
        let mut swap = None;
        for (index, action) in actions.iter().enumerate() {
            let coefficients = &inverse * action;
            if let Some(place) = coefficients.iter().position(|c| c.abs() > 2.0) {
                swap = Some((place, index));
                break;
            }
        }
        match swap {
            Some((place, index)) => chosen[place] = index,
            None => return Ok(chosen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_a_small_combination() {
        let mut actions = vec![
            vec![1e-3, 0.0, 0.0],
            vec![0.0, 1e-3, 1.0],
            vec![0.0, 1.0, 1e-3],
        ];
        for i in 0..20 {
            let angle = f64::from(i);
            actions.push(vec![angle.sin(), angle.cos(), 0.3 * (2.0 * angle).sin()]);
        }
        let reduced = reduced(&actions);
        let chosen = spanner(&reduced).unwrap();
        assert_eq!(chosen.len(), 3);
        let columns: Vec<_> = chosen.iter().map(|&i| reduced[i].clone()).collect();
        let inverse = DMatrix::from_columns(&columns).try_inverse().unwrap();
        for action in &reduced {
            assert!((&inverse * action).iter().all(|c| c.abs() <= 2.0 + 1e-9));
        }
    }

    #[test]
    fn a_flat_set_has_a_smaller_span() {
        let actions = vec![
            vec![1.0, 1.0, 0.0],
            vec![2.0, 2.0, 0.0],
            vec![1.0, -1.0, 0.0],
        ];
        let reduced = reduced(&actions);
        assert_eq!(reduced[0].len(), 2);
        assert_eq!(spanner(&reduced).unwrap().len(), 2);
        assert!(spanner(&[]).is_err());
    }
}
