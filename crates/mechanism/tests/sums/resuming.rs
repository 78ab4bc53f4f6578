//! Resuming equals never having stopped, bit for bit.

use crate::game::*;
use hushstream_mechanism::sums::{Noise, PrivateSum, SumKind, SumRequest};
use hushstream_mechanism::{
    CameBack, Contribution, FileStorage, Ledger, Participation, Raw, Transcript,
};
use std::path::Path;

struct Files<'a>(&'a Path);

impl Files<'_> {
    fn storage(&self, name: &str) -> FileStorage {
        FileStorage::open(self.0.join(name)).unwrap()
    }

    fn open(&self, request: SumRequest) -> (PrivateSum<Transcript>, Ledger) {
        let noise = request.noise;
        let plan = request.plan().unwrap();
        let mut ledger = Ledger::create(
            self.storage("ledger"),
            budget(noise),
            filter(noise),
            plan.scope(),
        )
        .unwrap();
        let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
        let sum =
            PrivateSum::open(plan, grant, &key(), &mut ledger, self.storage("journal")).unwrap();
        (sum, ledger)
    }

    fn resume(&self) -> (PrivateSum<Transcript>, Ledger, CameBack) {
        let mut ledger = Ledger::open(self.storage("ledger")).unwrap();
        let resumption =
            PrivateSum::resume(self.storage("journal"), &key(), &mut ledger, None, |_| true)
                .unwrap();
        (resumption.run, ledger, resumption.outcome)
    }
}

#[test]
fn stopping_anywhere_changes_nothing() {
    const RELEASES: u64 = 64;
    for (kind, noise) in cells() {
        let (mut sum, mut ledger) = open(request(kind, noise, RELEASES));
        let whole = feed(&mut sum, &mut ledger, 1..=RELEASES);
        // Stop after every item: the journal is replayed from the start each time.
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let (sum, ledger) = files.open(request(kind, noise, RELEASES));
        drop((sum, ledger));
        for t in 1..=RELEASES {
            let (mut sum, mut ledger, resumed) = files.resume();
            assert_eq!((resumed, sum.steps()), (CameBack::Continued, t - 1));
            assert_eq!(
                feed(&mut sum, &mut ledger, [t]),
                whole[t as usize - 1..t as usize],
                "{kind} {noise} t={t}"
            );
        }
    }
}

/// Long enough that journals are rewritten with checkpoints on the way.
#[test]
fn checkpoints_change_nothing() {
    const RELEASES: u64 = 600;
    const WIDE: u32 = 1800;
    let wide = |t: u64| {
        let value = |i: u32| ((t * 13 + u64::from(i) * 7) % 19) as f64 - 9.0;
        Raw::seal(Contribution::Dense((0..WIDE).map(value).collect()))
    };
    for (kind, noise) in cells() {
        if noise == Noise::L2Laplace {
            continue; // the same code, only slower
        }
        let mut request = request(kind, noise, RELEASES);
        request.dimension = WIDE;
        let (mut sum, mut ledger) = open(request.clone());
        let mut whole = Vec::new();
        for t in 1..=RELEASES {
            let pending = sum.add(wide(t)).unwrap().unwrap();
            sum.sync(&mut ledger).unwrap();
            whole.push(sum.publish(pending).unwrap().into_value());
        }
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let (sum, ledger) = files.open(request);
        drop((sum, ledger));
        let mut t = 0;
        let mut longest = 0;
        for stop in [1, 50, 351, 352, 511, 512, RELEASES] {
            let (mut sum, mut ledger, _) = files.resume();
            while t < stop {
                t += 1;
                let pending = sum.add(wide(t)).unwrap().unwrap();
                // Group commit: many items per sync.
                if t.is_multiple_of(50) || t == stop {
                    sum.sync(&mut ledger).unwrap();
                    assert_eq!(
                        sum.publish(pending).unwrap().value(),
                        &whole[t as usize - 1],
                        "{kind} {noise} t={t}"
                    );
                }
            }
            longest = longest.max(
                std::fs::metadata(directory.path().join("journal"))
                    .unwrap()
                    .len(),
            );
        }
        // A dense sum keeps its items: nothing shorter could replace them.
        let most = match kind {
            SumKind::Dense(_) => 9_600_000,
            _ => 5_600_000,
        };
        assert!(longest < most, "a journal of {longest} bytes was never cut");
    }
}

#[test]
fn persons_are_remembered() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files(directory.path());
    let mut request = request(SumKind::Tree, Noise::Gaussian, 20);
    request.participation = Participation::PerPerson {
        most: 2,
        separation: 1,
    };
    let (sum, ledger) = files.open(request);
    drop((sum, ledger));
    for t in 1..=5 {
        let (mut sum, mut ledger, _) = files.resume();
        sum.add_for(7, Raw::seal(item(t))).unwrap();
        sum.sync(&mut ledger).unwrap();
        assert_eq!(*sum.counts().0.for_the_operator(), t.saturating_sub(2));
    }
}

/// A rewritten journal drops items, but no person's counts.
#[test]
fn persons_are_remembered_over_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files(directory.path());
    let mut request = request(SumKind::Tree, Noise::Gaussian, 20);
    request.participation = Participation::PerPerson {
        most: 2,
        separation: 3,
    };
    let (mut sum, mut ledger) = files.open(request);
    // Persons 7 and 8 in turn: two contributions each, three items apart, are taken in, all others
    // are null.
    for (t, nulls) in (1..=9).zip([0, 0, 1, 1, 1, 2, 3, 4, 5]) {
        let person = if t % 3 == 2 { 8 } else { 7 };
        sum.add_for(person, Raw::seal(Contribution::Dense(vec![0.5; 3])))
            .unwrap();
        assert_eq!(*sum.counts().0.for_the_operator(), nulls, "t {t}");
        sum.sync(&mut ledger).unwrap();
        if t % 2 == 0 {
            sum.checkpoint(Vec::new()).unwrap();
        }
        if t % 4 != 1 {
            drop((sum, ledger));
            (sum, ledger, _) = files.resume();
        }
    }
}

/// A journal restored from an old copy lacks what was published since: new addresses, and only new
/// items.
#[test]
fn an_old_copy_opens_a_new_instance() {
    for (kind, noise) in cells() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let (mut sum, mut ledger) = files.open(request(kind, noise, 40));
        feed(&mut sum, &mut ledger, 1..=6);
        let old = std::fs::read(directory.path().join("journal")).unwrap();
        let sixth = feed(&mut sum, &mut ledger, 7..=7); // published, then lost
        let first_instance = instance(&mut sum, &mut ledger, 8);
        drop((sum, ledger));
        std::fs::write(directory.path().join("journal"), &old).unwrap();

        let (mut sum, mut ledger, resumed) = files.resume();
        assert_eq!(resumed, CameBack::NewInstance { lost: 2 });
        assert_eq!(
            sum.steps(),
            8,
            "the next item is number 9: 7 and 8 were published"
        );
        let second_instance = instance(&mut sum, &mut ledger, 9);
        assert_ne!(first_instance, second_instance, "no address is met twice");
        // It continues, over further stops, to the end of the horizon and no further.
        feed(&mut sum, &mut ledger, 10..=20);
        drop((sum, ledger));
        let (mut sum, mut ledger, resumed) = files.resume();
        assert_eq!((resumed, sum.steps()), (CameBack::Continued, 20));
        let rest = feed(&mut sum, &mut ledger, 21..=40);
        assert_eq!((sixth.len(), rest.len()), (1, 20));
        if !kind.needs_no_horizon() {
            assert!(sum.add(Raw::seal(item(41))).is_err());
        }
    }

    fn instance(sum: &mut PrivateSum<Transcript>, ledger: &mut Ledger, t: u64) -> [u8; 16] {
        let pending = sum.add(Raw::seal(item(t))).unwrap().unwrap();
        sum.sync(ledger).unwrap();
        sum.publish(pending).unwrap().receipt().instance
    }
}

/// The new instance starts from the last release in the old copy, not from nothing.
#[test]
fn a_new_instance_keeps_what_was_released() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files(directory.path());
    let mut request = request(SumKind::Tree, Noise::Gaussian, 4000);
    request.bound = 1.0;
    let ones = || Raw::seal(Contribution::Dense(vec![0.5; DIMENSION as usize]));
    let (mut sum, mut ledger) = files.open(request);
    for _ in 0..2000 {
        sum.add(ones()).unwrap();
    }
    sum.sync(&mut ledger).unwrap();
    drop((sum, ledger));
    let mut ledger = Ledger::open(files.storage("ledger")).unwrap();
    // The caller states that 2003 releases have been seen outside.
    let resumption = PrivateSum::<Transcript>::resume(
        files.storage("journal"),
        &key(),
        &mut ledger,
        Some(2003),
        |_| true,
    )
    .unwrap();
    let (mut sum, resumed) = (resumption.run, resumption.outcome);
    assert_eq!(resumed, CameBack::NewInstance { lost: 3 });
    let pending = sum.add(ones()).unwrap().unwrap();
    sum.sync(&mut ledger).unwrap();
    let release = sum.publish(pending).unwrap();
    // 2000 items of 0.5, noise of at most six times 160.
    assert!(
        release.value().iter().all(|v| (v - 1000.0).abs() < 960.0),
        "{release:?}"
    );
    assert_eq!(release.receipt().step, 2004);
}

#[test]
fn lost_persons_end_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files(directory.path());
    let mut request = request(SumKind::Tree, Noise::Gaussian, 20);
    request.participation = Participation::PerPerson {
        most: 2,
        separation: 1,
    };
    let (sum, ledger) = files.open(request);
    drop((sum, ledger));
    let mut ledger = Ledger::open(files.storage("ledger")).unwrap();
    let result = PrivateSum::<Transcript>::resume(
        files.storage("journal"),
        &key(),
        &mut ledger,
        Some(3),
        |_| true,
    );
    assert!(
        result
            .err()
            .unwrap()
            .to_string()
            .contains("how often each person has contributed")
    );
}

/// The lives of a run, as an attacker or an accident would mix them up.
mod lives {
    use super::*;
    use hushstream_mechanism::sums::SumError;
    use hushstream_mechanism::{DiaryError, LedgerError};

    fn start(files: &Files<'_>) -> (PrivateSum<Transcript>, Ledger) {
        files.open(request(SumKind::Tree, Noise::Gaussian, 40))
    }

    fn copy(directory: &Path, name: &str, to: &str) {
        std::fs::write(
            directory.join(to),
            std::fs::read(directory.join(name)).unwrap(),
        )
        .unwrap();
    }

    /// Two live objects of one run: the one that was resumed last may publish, the other is
    /// refused.
    #[test]
    fn a_resumed_copy_takes_over() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let (mut first, mut ledger) = start(&files);
        feed(&mut first, &mut ledger, 1..=1);
        copy(directory.path(), "journal", "copy");
        let mut second = PrivateSum::<Transcript>::resume(
            files.storage("copy"),
            &key(),
            &mut ledger,
            None,
            |_| true,
        )
        .unwrap()
        .run;
        feed(&mut second, &mut ledger, 2..=2);
        let pending = first.add(Raw::seal(item(3))).unwrap().unwrap();
        let error = first.sync(&mut ledger).unwrap_err();
        assert!(
            matches!(
                error,
                SumError::Diary(DiaryError::Ledger(LedgerError::TakenOver(1)))
            ),
            "{error}"
        );
        assert!(first.publish(pending).is_err());
    }

    /// A pending value of a dropped object cannot be published by the resumed one.
    #[test]
    fn a_pending_value_dies_with_its_object() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let (mut first, mut ledger) = start(&files);
        feed(&mut first, &mut ledger, 1..=1);
        copy(directory.path(), "journal", "copy"); // without item 2: as if a crash had lost it
        let orphan = first.add(Raw::seal(item(2))).unwrap().unwrap();
        drop(first);
        let mut second = PrivateSum::<Transcript>::resume(
            files.storage("copy"),
            &key(),
            &mut ledger,
            None,
            |_| true,
        )
        .unwrap()
        .run;
        feed(&mut second, &mut ledger, 3..=3);
        assert!(second.publish(orphan).is_err());
    }

    /// A journal of an earlier instance is refused, no matter how many items it holds.
    #[test]
    fn an_earlier_instance_is_superseded() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let (mut sum, mut ledger) = start(&files);
        feed(&mut sum, &mut ledger, 1..=6);
        copy(directory.path(), "journal", "old");
        feed(&mut sum, &mut ledger, 7..=8);
        // Items 9 and 10 reach the journal but are not marked: they were never published.
        sum.add(Raw::seal(item(9))).unwrap();
        sum.add(Raw::seal(item(10))).unwrap();
        drop(sum);
        copy(directory.path(), "journal", "newer");
        let resumption = PrivateSum::<Transcript>::resume(
            files.storage("old"),
            &key(),
            &mut ledger,
            None,
            |_| true,
        )
        .unwrap();
        assert_eq!(resumption.outcome, CameBack::NewInstance { lost: 2 });
        assert_eq!(resumption.recent.len(), 6);
        let mut sum = resumption.run;
        feed(&mut sum, &mut ledger, 9..=10);
        drop(sum);
        let error = PrivateSum::<Transcript>::resume(
            files.storage("newer"),
            &key(),
            &mut ledger,
            None,
            |_| true,
        )
        .err()
        .unwrap();
        assert!(
            matches!(error, SumError::Diary(DiaryError::Superseded)),
            "{error}"
        );
    }

    #[test]
    fn what_was_published_is_remembered_and_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let (mut sum, mut ledger) = start(&files);
        feed(&mut sum, &mut ledger, 1..=3);
        drop(sum);
        let resume = |ledger: &mut Ledger, seen| {
            PrivateSum::<Transcript>::resume(files.storage("journal"), &key(), ledger, seen, |_| {
                true
            })
        };
        let error = resume(&mut ledger, Some(u64::MAX)).err().unwrap();
        assert!(
            matches!(
                error,
                SumError::Diary(DiaryError::LastPublished { planned: 40, .. })
            ),
            "{error}"
        );
        let resumption = resume(&mut ledger, Some(5)).unwrap();
        assert_eq!(resumption.outcome, CameBack::NewInstance { lost: 2 });
        drop(resumption);
        // The ledger has it now, without being told.
        let resumption = resume(&mut ledger, None).unwrap();
        assert_eq!(
            (resumption.outcome, resumption.run.steps()),
            (CameBack::Continued, 5)
        );
    }

    /// Two copies of one journal that diverged: the one that was resumed first has taken over the
    /// run.
    #[test]
    fn a_forked_journal_is_superseded() {
        for more in [1, 3] {
            let directory = tempfile::tempdir().unwrap();
            let files = Files(directory.path());
            let (mut sum, mut ledger) = start(&files);
            feed(&mut sum, &mut ledger, 1..=5);
            copy(directory.path(), "journal", "copy");
            // The original takes items in, unsynced, and is killed.
            (6..6 + more).for_each(|t| drop(sum.add(Raw::seal(item(t))).unwrap()));
            drop(sum);
            let resume = |name: &str, ledger: &mut Ledger| {
                PrivateSum::<Transcript>::resume(files.storage(name), &key(), ledger, None, |_| {
                    true
                })
            };
            let mut branch = resume("copy", &mut ledger).unwrap().run;
            feed(&mut branch, &mut ledger, 16..=18);
            drop(branch);
            let error = resume("journal", &mut ledger).err().unwrap();
            assert!(
                matches!(error, SumError::Diary(DiaryError::Superseded)),
                "{error}"
            );
            // The branch that continued still can.
            assert_eq!(resume("copy", &mut ledger).unwrap().run.steps(), 8);
        }
    }

    /// A ledger rolled back to before the beginning of a run with items is detected.
    #[test]
    fn a_ledger_without_the_beginning_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files(directory.path());
        let plan = request(SumKind::Tree, Noise::Gaussian, 40).plan().unwrap();
        let mut ledger = Ledger::create(
            files.storage("ledger"),
            budget(Noise::Gaussian),
            filter(Noise::Gaussian),
            scope(),
        )
        .unwrap();
        let grant = ledger.debit(charge(&plan), plan.scope()).unwrap();
        copy(directory.path(), "ledger", "early");
        let mut sum =
            PrivateSum::open(plan, grant, &key(), &mut ledger, files.storage("journal")).unwrap();
        feed(&mut sum, &mut ledger, 1..=2);
        drop((sum, ledger));
        let mut ledger = Ledger::open(files.storage("early")).unwrap();
        let result = PrivateSum::<Transcript>::resume(
            files.storage("journal"),
            &key(),
            &mut ledger,
            None,
            |_| true,
        );
        assert!(matches!(
            result.err(),
            Some(SumError::Diary(DiaryError::Superseded))
        ));
    }
}
