//! Every refusal, and its message.

use crate::game::*;
use hushstream_account::{Budget, Charge, Mu};
use hushstream_mechanism::losses::{Bounds, Features, Record};
use hushstream_mechanism::sums::{
    Ask, Geometry, Noise, PlanError, PrivateSum, SumError, SumKind, SumPlan,
};
use hushstream_mechanism::{
    Axis, DiaryError, Ledger, LedgerError, MemoryStorage, Moments, Participation, Raw, Response,
    TableMap, TableShape, TargetWeight, Transcript, Windowed,
};

#[test]
fn release_n_plus_one_is_refused() {
    for (kind, noise) in cells() {
        if kind.needs_no_horizon() {
            continue; // it ends much later
        }
        let (mut sum, mut ledger) = open(request(kind, noise, 3));
        feed(&mut sum, &mut ledger, 1..=3);
        let error = sum.add(Raw::seal(item(4))).unwrap_err();
        assert!(
            matches!(
                error,
                SumError::Diary(DiaryError::Exhausted {
                    planned: 3,
                    refused: 4
                })
            ),
            "{kind} {error}"
        );
        assert_eq!(
            error.to_string(),
            "item 4 is refused: 3 were planned and paid for"
        );
    }
}

#[test]
fn a_grant_below_the_price_is_refused() {
    let plan = request(SumKind::Tree, Noise::Gaussian, 100).plan().unwrap();
    let mut ledger = ledger_for(Noise::Gaussian);
    let cheap = Charge::Gaussian(Mu::new(0.1).unwrap());
    let grant = ledger.debit(cheap, scope()).unwrap();
    let result =
        PrivateSum::<Transcript>::open(plan, grant, &key(), &mut ledger, MemoryStorage::default());
    assert!(matches!(
        result.err(),
        Some(SumError::Diary(DiaryError::GrantBelowPrice { .. }))
    ));
}

#[test]
fn a_grant_of_another_kind_is_refused() {
    let plan = request(SumKind::Tree, Noise::Gaussian, 100).plan().unwrap();
    let mut ledger = ledger_for(Noise::Laplace);
    let pure = request(SumKind::Tree, Noise::Laplace, 100).plan().unwrap();
    let grant = ledger.debit(charge(&pure), pure.scope()).unwrap();
    let result =
        PrivateSum::<Transcript>::open(plan, grant, &key(), &mut ledger, MemoryStorage::default());
    assert!(matches!(
        result.err(),
        Some(SumError::Diary(DiaryError::GrantBelowPrice { .. }))
    ));
}

#[test]
fn the_ledger_refuses_a_second_spender() {
    let plan = request(SumKind::Tree, Noise::Gaussian, 100).plan().unwrap();
    let mut ledger = ledger_for(Noise::Gaussian);
    ledger.debit(charge(&plan), plan.scope()).unwrap();
    let error = ledger.debit(charge(&plan), plan.scope()).unwrap_err();
    assert!(matches!(error, LedgerError::Refused(_)), "{error}");
    assert_eq!(ledger.charges().count(), 1);
}

#[test]
fn a_window_plan_cannot_make_transcript_releases() {
    let window = request(SumKind::Window(5), Noise::Gaussian, 100)
        .plan()
        .unwrap();
    let new_ledger = |plan: &SumPlan| {
        Ledger::simulated(
            budget(Noise::Gaussian),
            filter(Noise::Gaussian),
            plan.scope(),
        )
        .unwrap()
    };
    let mut ledger = new_ledger(&window);
    let grant = ledger.debit(charge(&window), window.scope()).unwrap();
    let memory = MemoryStorage::default;
    let result =
        PrivateSum::<Transcript>::open(window.clone(), grant, &key(), &mut ledger, memory());
    assert!(matches!(
        result.err(),
        Some(SumError::WrongGuarantee("window"))
    ));
    let tree = request(SumKind::Tree, Noise::Gaussian, 100).plan().unwrap();
    let mut ledger = new_ledger(&tree);
    let grant = ledger.debit(charge(&tree), tree.scope()).unwrap();
    let result = PrivateSum::<Windowed>::open(tree, grant, &key(), &mut ledger, memory());
    assert!(matches!(
        result.err(),
        Some(SumError::WrongGuarantee("transcript"))
    ));
    // A transcript's budget does not pay for a window.
    let error = ledger.debit(charge(&window), window.scope()).unwrap_err();
    assert!(matches!(error, LedgerError::OtherScope { .. }), "{error}");
    let told = error.to_string();
    assert!(
        told.contains("about records (") && !told.contains('{'),
        "{told}"
    );
}

#[test]
fn a_grant_comes_again_only_while_nothing_has_begun_with_it() {
    let plan = request(SumKind::Tree, Noise::Gaussian, 100).plan().unwrap();
    let mut ledger = ledger_for(Noise::Gaussian);
    let _lost = ledger.debit(charge(&plan), plan.scope()).unwrap();
    let grant = ledger.grant_again(1).unwrap();
    let other = ledger.grant_again(1).unwrap();
    let memory = MemoryStorage::default;
    PrivateSum::<Transcript>::open(plan.clone(), grant, &key(), &mut ledger, memory()).unwrap();
    assert!(matches!(ledger.grant_again(1), Err(LedgerError::Begun(1))));
    let second = PrivateSum::<Transcript>::open(plan, other, &key(), &mut ledger, memory());
    assert!(matches!(
        second.err(),
        Some(SumError::Diary(DiaryError::Ledger(LedgerError::Begun(1))))
    ));
    assert!(matches!(
        ledger.grant_again(2),
        Err(LedgerError::Unknown(2))
    ));
}

#[test]
fn impossible_plans_are_refused_with_what_is_allowed() {
    let base = || request(SumKind::Tree, Noise::Gaussian, 100);
    let refused = |change: &dyn Fn(&mut hushstream_mechanism::sums::SumRequest)| {
        let mut request = base();
        change(&mut request);
        request.plan().unwrap_err().to_string()
    };
    for bound in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        let message = refused(&|request| request.bound = bound);
        assert!(message.contains("a positive finite number"), "{message}");
    }
    assert!(
        refused(&|r| r.releases = 0).contains("releases = 0 is not allowed; allowed: 1 to 2^44")
    );
    assert!(refused(&|r| r.releases = u64::MAX).contains("1 to 2^44"));
    assert!(refused(&|r| r.batch = 0).contains("batch = 0"));
    assert!(refused(&|r| r.dimension = 0).contains("dimension = 0"));
    assert!(refused(&|r| r.kind = SumKind::Window(0)).contains("window = 0"));
    assert!(refused(&|r| r.releases = 1 << 40).contains("could overflow the exact sums"));
    assert!(refused(&|r| r.kind = SumKind::Kary).contains("sum kary cannot carry Gaussian noise"));
    assert!(refused(&|r| r.budget = Budget::pure(1.0).unwrap()).contains("delta"));
    let message = refused(&|r| {
        r.noise = Noise::Laplace;
        r.budget = Budget::pure(1e-9).unwrap();
    });
    assert!(message.contains("too small"), "{message}");
    let message = refused(&|r| {
        r.kind = SumKind::Window(5);
        r.participation = Participation::PerPerson {
            most: 2,
            separation: 1,
        };
    });
    assert!(
        message.contains("a window protects single records"),
        "{message}"
    );
    let mut pure_filter = request(SumKind::BLT, Noise::Laplace, 100);
    pure_filter.budget = Budget::pure(1.0).unwrap();
    assert!(matches!(pure_filter.plan(), Err(PlanError::Unfit(_))));
    let mut moments = request(SumKind::Tree, Noise::Laplace, 4);
    moments.geometry = Geometry::Moments(TargetWeight::default());
    assert!(matches!(moments.plan(), Err(PlanError::MomentsInL1)));
    // Batches so large that their exact sum, or an octave's radius, leaves the integers.
    for kind in [SumKind::BLT, SumKind::Tree] {
        let mut huge = request(kind, Noise::Gaussian, 4);
        huge.batch = 1 << 40;
        assert!(huge.plan().is_err(), "{kind}");
    }
    let mut again = request(SumKind::Eras, Noise::Gaussian, 4);
    for participation in [
        Participation::Passes {
            passes: 2,
            separation: 2,
        },
        Participation::PerPerson {
            most: 1,
            separation: 1,
        },
    ] {
        again.participation = participation;
        let error = again.clone().plan().unwrap_err();
        assert_eq!(error, PlanError::ErasForPersons);
        assert!(error.to_string().contains("sum octave"), "{error}");
    }
    let mut thin = request(SumKind::Octave, Noise::Gaussian, 4);
    thin.budget = Budget::approx(3e-8, 1e-12).unwrap();
    assert!(thin.plan().is_err());
    let mut rich = request(SumKind::Tree, Noise::Laplace, 4);
    rich.budget = Budget::pure(1e10).unwrap();
    assert_eq!(rich.plan().unwrap().radius(), 1 << 40);
}

#[test]
fn resuming_with_another_key_or_ledger_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let storage = |name: &str| hushstream_mechanism::FileStorage::open(path(name)).unwrap();
    let plan = request(SumKind::Tree, Noise::Gaussian, 100).plan().unwrap();
    let new_ledger = |name| {
        Ledger::create(
            storage(name),
            budget(Noise::Gaussian),
            filter(Noise::Gaussian),
            scope(),
        )
        .unwrap()
    };
    let mut ledger = new_ledger("ledger");
    let mut other = new_ledger("other");
    let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
    let sum = PrivateSum::<Transcript>::open(plan, grant, &key(), &mut ledger, storage("journal"))
        .unwrap();
    let resume = |key: &hushstream_noise::Key, ledger: &mut Ledger| {
        PrivateSum::<Transcript>::resume(storage("journal"), key, ledger, None, |_| true).err()
    };
    drop(sum);
    assert!(matches!(
        resume(&key(), &mut other),
        Some(SumError::Diary(DiaryError::WrongLedger))
    ));
    let stranger = hushstream_noise::Key::insecure_from_seed(99);
    assert!(matches!(
        resume(&stranger, &mut ledger),
        Some(SumError::Diary(DiaryError::WrongKey))
    ));
    assert!(resume(&key(), &mut ledger).is_none());
}

#[test]
fn nothing_leaves_before_its_sync() {
    let (mut sum, mut ledger) = open(request(SumKind::Tree, Noise::Gaussian, 10));
    let pending = sum.add(Raw::seal(item(1))).unwrap().unwrap();
    let pending = sum.publish(pending).unwrap_err();
    sum.sync(&mut ledger).unwrap();
    let later = sum.add(Raw::seal(item(2))).unwrap().unwrap();
    assert!(sum.publish(pending).is_ok());
    assert!(sum.publish(later).is_err());
}

#[test]
fn a_pending_value_of_another_sum_is_refused() {
    let (mut sum, _) = open(request(SumKind::Tree, Noise::Gaussian, 10));
    let (mut other, mut other_ledger) = open(request(SumKind::Tree, Noise::Gaussian, 10));
    let pending = sum.add(Raw::seal(item(1))).unwrap().unwrap();
    other.add(Raw::seal(item(1))).unwrap();
    other.sync(&mut other_ledger).unwrap();
    assert!(other.publish(pending).is_err());
}

/// A budget can be raised, spent charges stay spent, and all of it is read back.
#[test]
fn a_budget_is_raised_durably_and_never_lowered() {
    use hushstream_account::{Adjacency, Budget, Charge, Epsilon, FilterKind};
    use hushstream_mechanism::{FileStorage, LedgerError, Scope};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let scope = Scope::records(Adjacency::ReplaceOne);
    let charge = Charge::Pure(Epsilon::new(0.75).unwrap());
    {
        let storage = FileStorage::open(&path).unwrap();
        let budget = Budget::pure(1.0).unwrap();
        let mut ledger = Ledger::create(storage, budget, FilterKind::Pure, scope).unwrap();
        ledger.debit(charge, scope).unwrap();
        assert!(ledger.debit(charge, scope).is_err());
        let lower = ledger.widen(Budget::pure(0.9).unwrap());
        assert!(matches!(lower, Err(LedgerError::Narrower { .. })));
        ledger.widen(Budget::pure(1.6).unwrap()).unwrap();
    }
    let mut ledger = Ledger::open(FileStorage::open(&path).unwrap()).unwrap();
    assert!((ledger.budget().epsilon() - 1.6).abs() < 1e-15);
    ledger.debit(charge, scope).unwrap();
    assert!(ledger.debit(charge, scope).is_err(), "2.25 of 1.6");
}

/// A plan prices second moments by their own bound and weight, and decodes them with these: of
/// moments of another bound, weight or shape, not one is taken in.
#[test]
fn moments_of_another_plan_are_refused() {
    let moments = |features: usize, length: f64| {
        let bounds = Bounds::new(length, (-1.0, 1.0), 1.0).unwrap();
        Moments::new(features, bounds)
    };
    let planned = moments(2, 1.0);
    let mut request = request(SumKind::Tree, Noise::Gaussian, 4);
    request.geometry = Geometry::Moments(planned.weight());
    request.dimension = planned.dimension() as u32;
    request.bound = planned.bound();
    let (mut sum, _ledger) = open(request);
    let record = |length: f64| {
        let features = Features::Dense(vec![length; 2]);
        Raw::seal(Record {
            features,
            target: 1.0,
        })
    };
    let heavier = TargetWeight::sixteenths(9).unwrap();
    for other in [
        moments(2, 1.000_001),
        moments(2, 0.5),
        moments(3, 1.0),
        moments(2, 1.0).weighted(heavier),
    ] {
        let refused = sum.add_moments(None, &other, record(0.1));
        assert!(matches!(refused, Err(SumError::Geometry)));
    }
    // What contributes in no other way is no moment of any record.
    assert!(matches!(
        sum.add(Raw::seal(item(1))),
        Err(SumError::Geometry)
    ));
    let asked = sum.question(Ask::Vector, Vec::new());
    assert!(matches!(asked, Err(SumError::Geometry)));
    assert_eq!(sum.steps(), 0);
    let taken = sum.add_moments(None, &planned, record(9.0));
    assert!(taken.unwrap().is_some());
    // A sum has moments of one shape, also where another has the same bound and dimension: 9 are
    // those of 3 features and a number, and of 2 features and 3 classes.
    let several = Moments::of_classes(2, 1.0, 3).unwrap();
    let (mut sum, _ledger) = {
        let one = moments(3, 1.0);
        let mut request = crate::game::request(SumKind::Tree, Noise::Gaussian, 4);
        request.geometry = Geometry::Moments(one.weight());
        (request.dimension, request.bound) = (one.dimension() as u32, one.bound());
        open(request)
    };
    assert!(sum.add_moments(None, &several, record(0.1)).is_ok());
    let refused = sum.add_moments(None, &moments(3, 1.0), record(0.1));
    assert!(matches!(refused, Err(SumError::Geometry)));
    assert_eq!(*sum.counts().0.for_the_operator(), 0);
    // And a plan for a ball takes no moments.
    let (mut ball, _ledger) = open(crate::game::request(SumKind::Tree, Noise::Gaussian, 4));
    let refused = ball.add_moments(None, &moments(1, 1.0), record(0.1));
    assert!(matches!(refused, Err(SumError::Geometry)));
}

/// A plan prices the hats and cells of one shape, residuals of one bound and one norm: of anything
/// else not one record is taken in.
#[test]
fn tables_of_another_shape_are_refused() {
    let map = |values: u32, l1: bool| {
        TableMap::new(TableShape {
            axes: vec![Axis::Category { values }],
            tables: Vec::new(),
            bins: 1,
            share: 0.0,
            l1,
        })
        .unwrap()
    };
    let planned = |counts, sixteenths| {
        let mut request = request(SumKind::Tree, Noise::Gaussian, 4);
        request.geometry = Geometry::Tables { counts, sixteenths };
        (request.dimension, request.bound) = (6, 0.5);
        request
    };
    let add = |sum: &mut PrivateSum<Transcript>, map: &TableMap, response: Response, person| {
        let record = Raw::seal(Record {
            features: Features::Dense(vec![0.0]),
            target: 1.0,
        });
        let weights = vec![0.0; map.dimension() * response.scores()];
        sum.add_table(person, map, response, &weights, record, None)
            .map(|pending| pending.is_some())
    };
    let (mut sum, _ledger) = open(planned(3, 16));
    for (map, response) in [
        (map(3, false), Response::Sign),
        (map(2, true), Response::Sign),
        (map(2, false), Response::Classes(2)),
        (map(2, false), Response::Number(1.0)),
        (map(5, false), Response::Sign),
    ] {
        let refused = add(&mut sum, &map, response, None);
        assert!(matches!(refused, Err(SumError::Geometry)), "{response:?}");
    }
    // Nothing else contributes, and no person is named.
    assert!(matches!(
        sum.add(Raw::seal(item(1))),
        Err(SumError::Geometry)
    ));
    let asked = sum.question(Ask::Vector, Vec::new());
    assert!(matches!(asked, Err(SumError::Geometry)));
    assert!(add(&mut sum, &map(2, false), Response::Sign, Some(1)).is_err());
    assert_eq!(sum.steps(), 0);
    assert!(add(&mut sum, &map(2, false), Response::Sign, None).unwrap());
    // Without counts the same numbers mean more features.
    let (mut bare, _ledger) = open(planned(0, 16));
    assert!(add(&mut bare, &map(2, false), Response::Sign, None).is_err());
    assert!(add(&mut bare, &map(5, false), Response::Sign, None).unwrap());
    // A plan for a ball takes no tables, and no plan weighs counts above residuals.
    let (mut ball, _ledger) = open(request(SumKind::Tree, Noise::Gaussian, 4));
    let refused = add(&mut ball, &map(2, false), Response::Sign, None);
    assert!(matches!(refused, Err(SumError::Geometry)));
    for sixteenths in [0, 17, 255] {
        let message = planned(3, sixteenths).plan().unwrap_err().to_string();
        assert!(message.contains("weight of counts"), "{message}");
    }
}
