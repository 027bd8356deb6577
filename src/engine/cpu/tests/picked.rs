//! Rows of picked tokens, normed, against every row of a table: what heads over single tokens are made of.

use super::*;
use crate::engine::graph::{Op, Terms};

/// Rows of the table: several tasks, and a last panel that is not full.
const TABLE_ROWS: usize = 1100;

/// A graph from tokens to picked scores, and random weights. The table is 1000 wide: its depth is cut in two.
fn picked() -> (Vec<Weight>, Arc<Graph>) {
    let mut numbers = Numbers(11);
    let mut weights = Vec::new();
    let mut weight = |role, rows, width| {
        weights.push(Weight { name: format!("w{}", weights.len()), role, tensors: vec![tensor(rows, width, &mut numbers)] });
        WeightId(weights.len() - 1)
    };
    let lookups = vec![
        Lookup { table: weight(Role::Table, 50, 36), index: Index::Token },
        Lookup { table: weight(Role::Table, 300, 36), index: Index::Position { offset: 0, padding: None } },
    ];
    let mut g = Graph::new();
    let x = g.embed(lookups, None, 36);
    let qkv = g.linear(x, weight(Role::Matrix, 108, 36), None, Activation::Identity, 108);
    let mixed = g.attention(qkv, Attention::plain(3, 12));
    let rows = g.pick(mixed);
    let wide = g.linear(rows, weight(Role::Head, 1000, 36), None, Activation::Gelu, 1000);
    let norm = Norm { weight: weight(Role::Vector, 1, 1000), bias: Some(weight(Role::Vector, 1, 1000)), epsilon: 1e-12 };
    let normed = g.norm(wide, norm);
    g.scores(normed, weight(Role::Table, TABLE_ROWS, 1000), weight(Role::Vector, 1, TABLE_ROWS), TABLE_ROWS);
    (weights, Arc::new(g))
}

/// Sequences of these lengths, of each the first, the last and every seventh token picked.
fn picks(lengths: &[usize]) -> Arc<Batch> {
    let mut b = Batch::default();
    for length in lengths {
        let (ids, _, _) = sequence(*length);
        b.push(&ids, &vec![0; *length], 0);
        (0..*length).filter(|i| *i == 0 || i + 1 == *length || i.is_multiple_of(7)).for_each(|token| b.pick(token));
    }
    Arc::new(b)
}

#[test]
fn picked_scores_agree_with_the_reference() {
    let (weights, graph) = picked();
    let run = |isa: &str| {
        let engine = Engine::new(&weights, Some(isa), None).unwrap();
        engine.run(&graph, &picks(LENGTHS), 1, &Control::default()).unwrap().unwrap()
    };
    let slow = run("reference");
    assert!(slow.iter().any(|x| x.abs() > 0.1) && slow.iter().all(|x| x.is_finite()));
    for table in fast_tables() {
        let worst = run(table.name).iter().zip(&slow).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        println!("{:10}: {worst:.1e}", table.name);
        assert!(worst < 5e-5, "{}: {worst}", table.name);
    }
}

#[test]
fn picked_rows_give_the_same_bits_in_any_batch_and_on_any_threads() {
    let (weights, graph) = picked();
    for table in kernels::all() {
        let engine = Engine::new(&weights, Some(table.name), None).unwrap();
        let run = |lengths: &[usize], threads| engine.run(&graph, &picks(lengths), threads, &Control::default()).unwrap().unwrap();
        let alone: Vec<Vec<f32>> = LENGTHS.iter().map(|l| run(&[*l], 1)).collect();
        for threads in [1, 3] {
            assert!(run(LENGTHS, threads) == alone.concat(), "{} on {threads} threads", table.name);
        }
    }
}

/// The same graph over all tokens, once with every token's scores and once reduced.
fn scores_and_terms(terms: Terms) -> (Vec<Weight>, [Arc<Graph>; 2]) {
    let (weights, graph) = picked();
    let ends = [false, true].map(|reduced| {
        let mut g = Graph::new();
        let mut value = None;
        for node in graph.nodes() {
            value = Some(match &node.op {
                Op::Embed { lookups, norm } => g.embed(lookups.clone(), *norm, node.width),
                Op::Linear { weight, activation, .. } => g.linear(value.unwrap(), *weight, None, *activation, node.width),
                Op::Attention { attention, .. } => g.attention(value.unwrap(), attention.clone()),
                Op::Norm { norm, .. } => g.norm(value.unwrap(), *norm),
                Op::Scores { table, bias, .. } if reduced => g.terms(value.unwrap(), (*table, *bias), terms, node.width),
                Op::Scores { table, bias, .. } => g.scores(value.unwrap(), *table, *bias, node.width),
                _ => value.unwrap(),
            });
        }
        Arc::new(g)
    });
    (weights, ends)
}

#[test]
fn terms_are_the_scores_of_all_tokens_reduced_in_any_batch_and_on_any_threads() {
    for terms in [(false, false), (true, false), (false, true), (true, true)].map(|(sum, twice)| Terms { sum, twice }) {
        let (weights, [scores, reduced]) = scores_and_terms(terms);
        for table in kernels::all() {
            let engine = Engine::new(&weights, Some(table.name), None).unwrap();
            let run = |graph: &Arc<Graph>, lengths: &[usize], threads| {
                engine.run(graph, &picks(lengths), threads, &Control::default()).unwrap().unwrap()
            };
            let mut alone = Vec::new();
            for length in LENGTHS {
                let rows = run(&scores, &[*length], 1);
                let weight = |column: usize| {
                    let one = rows.chunks(TABLE_ROWS).map(|row| f64::from(row[column]).max(0.0).ln_1p());
                    let one = one.map(|w| if terms.twice { w.ln_1p() } else { w });
                    if terms.sum { one.sum::<f64>() } else { one.fold(0.0, f64::max) }
                };
                let got = run(&reduced, &[*length], 1);
                for (column, weight) in (0..TABLE_ROWS).map(|c| (c, weight(c))) {
                    assert!((f64::from(got[column]) - weight).abs() <= 1e-5 * weight.max(1.0), "{} {column}", table.name);
                }
                assert!(got.contains(&0.0) && got.iter().any(|w| *w > 0.1));
                alone.push(got);
            }
            for threads in [1, 3] {
                assert!(run(&reduced, LENGTHS, threads) == alone.concat(), "{} on {threads} threads", table.name);
            }
        }
    }
}

#[test]
fn a_batch_without_picks_gives_no_rows() {
    let (weights, graph) = picked();
    let engine = Engine::new(&weights, None, None).unwrap();
    let mut plain = Batch::default();
    plain.push(&[1, 2], &[0, 0], 0);
    assert_eq!(engine.run(&graph, &Arc::new(plain), 2, &Control::default()).unwrap(), Some(Vec::new()));
}

#[test]
fn a_table_that_does_not_fit_its_scores_is_refused() {
    let (mut weights, graph) = picked();
    let last = weights.len() - 2;
    weights[last].tensors = vec![tensor(TABLE_ROWS - 1, 1000, &mut Numbers(5))];
    let engine = Engine::new(&weights, None, None).unwrap();
    let e = engine.run(&graph, &picks(&[5]), 1, &Control::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
}
