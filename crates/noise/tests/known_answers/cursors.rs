//! The words of a cursor, and the coins and choices that read them.

use crate::vectors::{Choices, CoinTosses, vectors};
use hushstream_noise::{Coin, Cursor, Dyadic, ExponentialChoice};

#[test]
fn cursors_give_the_known_words() {
    let vectors = vectors();
    for known in &vectors.cursor_words {
        let source = vectors.open(&known.place);
        let mut cursor = source.cursor(known.place.node, known.lane);
        for &word in &known.words {
            assert_eq!(cursor.next_word(), word);
        }
    }
}

impl CoinTosses {
    pub(crate) fn toss(&self, cursor: &mut Cursor<'_>) -> String {
        let make = match self.law.as_str() {
            "ratio" => Coin::ratio,
            "exp_minus" => Coin::exp_minus,
            other => panic!("unknown law {other}"),
        };
        let coin = make(self.numerator, self.denominator).unwrap();
        (0..self.tosses.len())
            .map(|_| if coin.toss(cursor) { '1' } else { '0' })
            .collect()
    }
}

#[test]
fn coins() {
    let vectors = vectors();
    for known in &vectors.coin {
        let source = vectors.open(&known.place);
        let mut cursor = source.cursor(known.place.node, known.lane);
        let coin = (&known.law, known.numerator, known.denominator);
        assert_eq!(known.toss(&mut cursor), known.tosses, "{coin:?}");
        assert_eq!(cursor.next_word(), known.next_word, "{coin:?}");
    }
}

impl Choices {
    pub(crate) fn rate(&self) -> Dyadic {
        match (&self.rate_f64, &self.mantissa, self.shift) {
            (Some(rate), None, None) => Dyadic::from_f64(rate.parse().unwrap()),
            (None, Some(mantissa), Some(shift)) => Dyadic::new(mantissa.parse().unwrap(), shift),
            _ => panic!("a rate is either a float or mantissa and shift"),
        }
        .unwrap()
    }

    pub(crate) fn draw(&self, rate: Dyadic, cursor: &mut Cursor<'_>) -> Vec<usize> {
        let choice = ExponentialChoice::new(rate);
        (0..self.drawn.len())
            .map(|_| choice.draw(&self.penalties, cursor).unwrap())
            .collect()
    }
}

#[test]
fn exponential_choice() {
    let vectors = vectors();
    for known in &vectors.exponential_choice {
        let source = vectors.open(&known.place);
        let mut cursor = source.cursor(known.place.node, known.lane);
        let rate = known.rate();
        assert_eq!(known.draw(rate, &mut cursor), known.drawn, "{rate:?}");
        assert_eq!(cursor.next_word(), known.next_word, "{rate:?}");
    }
}
