//! A diary that was read, and the way back from it: bit for bit, or as a new instance with an empty state. The decision depends on counts alone.

use super::*;

impl FoundDiary {
    /// Reads a journal of this kind.
    pub(crate) fn read(kind: &str, storage: Box<dyn Storage>) -> Result<Self, DiaryError> {
        let (log, payloads) = RowLog::open(storage)?;
        let mut records = Vec::with_capacity(payloads.len());
        for (place, payload) in (0..).zip(&payloads) {
            let record = postcard::from_bytes(payload).map_err(|_| LogError::Record(place))?;
            records.push(record);
        }
        let mut records = records.into_iter();
        let opening = match records.next() {
            Some(Record::Opened(opening)) => opening,
            Some(_) => return Err(LogError::Record(0).into()),
            None => return Err(DiaryError::NoRun),
        };
        if opening.kind != kind {
            return Err(DiaryError::Journal("it holds a run of another mechanism"));
        }
        let mut found = Self {
            log,
            life: opening.life,
            life_is_fresh: true,
            opening: *opening,
            checkpoint: None,
            items: Vec::new(),
        };
        for (place, record) in (1..).zip(records) {
            match record {
                Record::Checkpoint(checkpoint) if found.items.is_empty() => {
                    found.life_is_fresh = checkpoint.items == 0;
                    found.checkpoint = Some(checkpoint);
                }
                Record::Item(item) => {
                    found.life_is_fresh = false;
                    found.items.push(item);
                }
                Record::Life(life) => (found.life, found.life_is_fresh) = (life, true),
                Record::Opened(_) | Record::Checkpoint(_) => {
                    return Err(LogError::Record(place).into());
                }
            }
        }
        Ok(found)
    }

    /// The stored plan.
    pub(crate) fn plan<P: for<'a> Deserialize<'a>>(&self) -> Result<P, DiaryError> {
        postcard::from_bytes(&self.opening.plan)
            .map_err(|_| DiaryError::Journal("its plan is not of this version"))
    }

    /// The note of the last checkpoint.
    pub(crate) fn note(&self) -> Option<&[u8]> {
        self.checkpoint
            .as_ref()
            .map(|checkpoint| &checkpoint.note[..])
    }

    fn is_fresh(&self) -> bool {
        let untouched = self.checkpoint.as_ref().is_none_or(|kept| kept.items == 0);
        untouched && self.items.is_empty()
    }

    /// Takes the run over. `empty` is the mechanism's state before any item. Unless it `may_lose` items, a journal that lacks some is refused before anything changes: the right one can still be resumed.
    pub(crate) fn resume(
        self,
        terms: &Terms,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
        empty: &impl Serialize,
        may_lose: bool,
    ) -> Result<Back, DiaryError> {
        let mut opening = self.opening.clone();
        if opening.ledger != ledger.name() {
            return Err(DiaryError::WrongLedger);
        }
        if opening.key != key.fingerprint() {
            return Err(DiaryError::WrongKey);
        }
        let planned = terms.planned;
        if let Some(given) = last_published.filter(|&given| given > planned) {
            return Err(DiaryError::LastPublished { given, planned });
        }
        let grant = ledger.grant(opening.number)?;
        check_grant(terms, &grant)?;
        let begun = ledger.begun(grant.number);
        let mark = match begun {
            // The ledger's note of the beginning was lost in a crash: nothing was taken in.
            None if self.is_fresh() => 0,
            None => return Err(DiaryError::Superseded),
            Some(begun) => {
                let same = begun.instance == opening.instance;
                let heard = self.life.name == begun.life;
                let unheard = self.life.after == Some(begun.life) && self.life_is_fresh;
                let next = opening.after == Some(begun.instance)
                    && self.is_fresh()
                    && opening.before >= begun.mark;
                if !(same && (heard || unheard) || next && unheard) {
                    return Err(DiaryError::Superseded);
                }
                begun.mark
            }
        };
        let published = mark.max(last_published.unwrap_or(0));
        let kept = self.checkpoint.as_ref().map_or(0, |kept| kept.items);
        let items = kept + self.items.len() as u64;
        let known = opening.before.saturating_add(items);
        if known > planned {
            return Err(DiaryError::Journal("it is longer than its plan"));
        }
        let lost = known.max(published) - items;
        if lost > 0 && !may_lose {
            return Err(DiaryError::Lost { lost });
        }
        // From here on files change. The new life takes over from the one that the ledger knows.
        opening.life = Life {
            name: Instance::from_os()?.to_bytes(),
            after: begun.map(|begun| begun.life),
        };
        opening.simulated |= grant.simulated || key.is_simulated();
        let note = self.note().unwrap_or_default().to_vec();
        let mut diary = Diary::assemble(self.log, opening, grant, planned);
        let outcome = if known >= published {
            diary.append(&Record::Life(diary.opening.life))?;
            diary.log.sync()?;
            diary.items = kept;
            CameBack::Continued
        } else {
            diary.opening.after = begun.map(|begun| begun.instance);
            diary.opening.before = published;
            let instance = Instance::fresh(key, diary.grant.number, published)?;
            diary.opening.instance = instance.to_bytes();
            diary.restart(Checkpoint {
                items: 0,
                state: encode(empty)?,
                note,
            })?;
            CameBack::NewInstance {
                lost: published - known,
            }
        };
        let (instance, life) = (diary.opening.instance, diary.opening.life.name);
        ledger.begin(diary.grant.number, instance, life, diary.is_simulated())?;
        ledger.mark(diary.grant.number, life, published)?;
        diary.durable = published;
        Ok(Back {
            diary,
            outcome,
            checkpoint: self.checkpoint,
            items: self.items,
        })
    }
}
