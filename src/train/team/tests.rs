//! Teams of threads: what their processes would add up.

use std::sync::{Arc, Barrier, Mutex};

use super::{Exchange, SEGMENT, Team};

/// What threads hand to each other: a place for each, read after all have written.
struct Table {
    places: Mutex<Vec<Vec<u8>>>,
    barrier: Barrier,
}

struct Seat {
    rank: usize,
    table: Arc<Table>,
}

impl Seat {
    fn all(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        self.table.places.lock().unwrap()[self.rank] = own;
        self.table.barrier.wait();
        let all = self.table.places.lock().unwrap().clone();
        self.table.barrier.wait();
        all
    }

    fn gathered<const N: usize, T>(&self, own: Vec<u8>, all: &mut [T], number: fn([u8; N]) -> T) {
        let bytes = self.all(own).concat();
        bytes.chunks_exact(N).zip(all).for_each(|(bytes, x)| *x = number(bytes.try_into().unwrap()));
    }
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

impl Exchange for Seat {
    fn all_to_all(&self, sent: &[f32], received: &mut [f32]) {
        let all = self.all(bytes(sent));
        let part = sent.len() / all.len() * 4;
        let mine: Vec<u8> = all.iter().flat_map(|sent| sent[self.rank * part..][..part].to_vec()).collect();
        mine.chunks_exact(4).zip(received).for_each(|(bytes, x)| *x = f32::from_le_bytes(bytes.try_into().unwrap()));
    }

    fn all_gather(&self, own: &[f32], all: &mut [f32]) {
        self.gathered(bytes(own), all, f32::from_le_bytes);
    }

    fn all_gather_wide(&self, own: &[f64], all: &mut [f64]) {
        self.gathered(own.iter().flat_map(|x| x.to_le_bytes()).collect(), all, f64::from_le_bytes);
    }

    fn leave(self: Box<Self>) {}
}

/// What each of `size` processes answers.
fn together<T: Send>(size: usize, each: impl Fn(&Team, usize) -> T + Sync) -> Vec<T> {
    let table = Arc::new(Table { places: Mutex::new(vec![Vec::new(); size]), barrier: Barrier::new(size) });
    std::thread::scope(|scope| {
        let each = &each;
        let run = |rank: usize| {
            let table = Arc::clone(&table);
            scope.spawn(move || each(&Team { rank, size, exchange: Some(Box::new(Seat { rank, table })) }, rank))
        };
        let threads: Vec<_> = (0..size).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn number(rank: usize, i: usize) -> f32 {
    ((rank * 7919 + i * 104_729) % 10_007) as f32 * 1e-3 - 5.0 / (1 + rank) as f32
}

#[test]
fn gradients_are_added_up_in_the_order_of_the_ranks() {
    for (size, len) in [(2, 5), (3, 1000), (4, 3), (2, 2 * SEGMENT + 77)] {
        let sums = together(size, |team, rank| {
            let mut gradients: Vec<f32> = (0..len).map(|i| number(rank, i)).collect();
            team.sum_gradients(&mut gradients);
            gradients
        });
        let expected: Vec<f32> = (0..len).map(|i| (1..size).fold(number(0, i), |sum, rank| sum + number(rank, i))).collect();
        assert!(sums.iter().all(|sum| *sum == expected), "{size} processes, {len} numbers");
    }
}

#[test]
fn shares_cover_all_examples_once() {
    for count in [0, 1, 5, 32, 33] {
        for size in 1..5 {
            let shares: Vec<usize> = (0..size).flat_map(|rank| Team { rank, size, exchange: None }.share(count)).collect();
            assert_eq!(shares, (0..count).collect::<Vec<_>>(), "{count} examples, {size} processes");
        }
    }
}

#[test]
fn what_one_says_all_hear() {
    assert_eq!(together(3, |team, rank| team.any(rank == 2)), [true; 3]);
    assert_eq!(together(3, |team, _| team.any(false)), [false; 3]);
    let costs = together(3, |team, rank| {
        let mut sums = [rank as f64, 0.5];
        team.sum(&mut sums);
        sums
    });
    assert_eq!(costs, [[3.0, 1.5]; 3]);
    assert!(together(2, |team, _| team.agree("model", || vec![7])).iter().all(Result::is_ok));
    for told in together(3, |team, rank| team.agree("model", || vec![u8::from(rank == 1)])) {
        let told = told.unwrap_err().to_string();
        assert!(told.contains("process 1") && told.contains("model"), "{told}");
    }
    // Alone, everything is as it is.
    let mut gradients = [1.0, 2.0];
    Team::alone().sum_gradients(&mut gradients);
    assert_eq!((gradients, Team::alone().any(true), Team::alone().share(7)), ([1.0, 2.0], true, 0..7));
}
