//! Plans decoded from a journal. Files are not trusted: safe code outside could have written them.

use super::plan::{PlanError, SumPlan};

impl SumPlan {
    /// Checks a plan from a file: everything except the choice of parameters, in which a later
    /// version may differ.
    pub(crate) fn check_stored(&self) -> Result<(), PlanError> {
        let request = self.request();
        let restarts = self.fields.strategy.restarts();
        let octaves = if restarts {
            self.fields.radii.len() as u64
        } else {
            self.fields.strategy.parts().into()
        };
        let sound = !self.fields.radii.is_empty()
            && self.fields.radii.len() as u64 == octaves
            && self
                .fields
                .radii
                .iter()
                .all(|radius| (1..=1 << 40).contains(radius) && request.has_steps(*radius))
            && self.fields.strategy.fits(request.kind, request.releases);
        if !sound {
            return Err(PlanError::Stored);
        }
        request.kind.accepts(request.noise)?;
        request.check_counts()?;
        self.lattice(0)?;
        self.check_overflow()?;
        if restarts && octaves != u64::from(self.fields.strategy.part(self.most_releases())) + 1 {
            return Err(PlanError::Stored);
        }
        self.guarantee(true)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::SumKind;
    use super::super::cover::Noise;
    use super::super::plan::{Geometry, SumRequest};
    use super::super::{BalancedDigits, ConstantWeight, Strategy, Window};
    use super::*;
    use crate::moments::TargetWeight;
    use crate::persons::Participation;
    use hushstream_account::{Adjacency, Budget, Charge};

    fn plan(kind: SumKind) -> SumPlan {
        SumRequest {
            kind,
            noise: Noise::Gaussian,
            releases: 9,
            dimension: 2,
            bound: 1.0,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
        }
        .plan()
        .unwrap()
    }

    /// The plan in a journal is checked before it is used.
    #[test]
    fn forged_plans_are_refused() {
        for kind in SumKind::ALL {
            if kind.accepts(Noise::Gaussian).is_ok() {
                plan(kind).check_stored().unwrap();
            }
        }
        type Forgery = fn(&mut SumPlan);
        let forgeries: [(SumKind, Forgery); 11] = [
            (SumKind::Smooth, |plan| {
                plan.fields.strategy = Strategy::Smooth(ConstantWeight {
                    width: 2,
                    weight: 1,
                });
            }),
            (SumKind::Tree, |plan| {
                plan.fields.strategy = Strategy::Window(Window { width: 1 });
            }),
            (SumKind::Tree, |plan| {
                plan.fields.strategy = Strategy::Kary(BalancedDigits { base: 3, digits: 1 });
            }),
            (SumKind::Tree, |plan| plan.fields.radii = vec![]),
            (SumKind::Tree, |plan| plan.fields.radii = vec![0]),
            (SumKind::Octave, |plan| plan.fields.radii.truncate(2)),
            (SumKind::Eras, |plan| plan.fields.radii.truncate(2)),
            (SumKind::Eras, |plan| plan.fields.radii.push(1)),
            (SumKind::NORMALISED, |plan| plan.fields.radii.truncate(2)),
            (SumKind::Tree, |plan| {
                plan.fields.request.kind = SumKind::Window(3);
            }),
            (SumKind::BLT, |plan| {
                if let Strategy::Blt(filter) = &mut plan.fields.strategy {
                    filter.layout = None;
                }
            }),
        ];
        for (kind, forge) in forgeries {
            let mut forged = plan(kind);
            forge(&mut forged);
            assert!(forged.check_stored().is_err(), "{forged:?}");
        }
        // A larger radius costs more than was granted; the check of the grant refuses it.
        let mut larger = plan(SumKind::Tree);
        larger.fields.radii[0] *= 2;
        let (Charge::Gaussian(honest), Charge::Gaussian(forged)) = (
            plan(SumKind::Tree).charge().unwrap().charge,
            larger.charge().unwrap().charge,
        ) else {
            panic!("Gaussian noise has a Gaussian price");
        };
        assert!(forged.get() > 1.9 * honest.get());
    }

    /// Journals of second moments from before their integers were exact are refused; those of balls
    /// are read.
    #[test]
    fn geometries_are_read_by_their_number() {
        let read = |bytes: &[u8]| postcard::from_bytes::<Geometry>(bytes).ok();
        assert_eq!(read(&[0]), Some(Geometry::Ball));
        assert_eq!(read(&[1]), None);
        let moments = Geometry::Moments(TargetWeight::default());
        assert_eq!(read(&[3, 8]), Some(moments.clone()));
        assert_eq!(postcard::to_allocvec(&moments).unwrap(), [3, 8]);
        assert_eq!(read(&[3, 0]), None);
        assert_eq!(read(&[3, 65]), None);
    }

    #[test]
    fn moments_are_closer_than_a_ball_and_least_noise_is_kept() {
        let mut request = plan(SumKind::Tree).request().clone();
        request.dimension = 9;
        let ball = request.clone().plan().unwrap();
        request.geometry = Geometry::Moments(TargetWeight::sixteenths(16).unwrap());
        let moments = request.clone().plan().unwrap();
        let ratio = moments.radius() as f64 / ball.radius() as f64;
        assert!((ratio - 4.0 / 3.0).abs() < 1e-5, "{ratio}");
        request.least_sigma = 1e4;
        let noisy = request.plan().unwrap();
        assert!((noisy.node_sigma() / 1e4 - 1.0).abs() < 1e-3 && noisy.node_sigma() >= 1e4);
    }
}
