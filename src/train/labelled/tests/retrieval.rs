//! Judgements, runs and collections, as they are published and as they break.

use std::path::PathBuf;

use super::super::retrieval::{judgements, open, run};
use super::super::*;
use super::{settings, without_folder, written};
use crate::train::metrics::retrieval::Judgements;

fn judged(content: &str, options: &[(&str, &str)]) -> Result<(Judgements, Vec<Skipped>)> {
    let file = written("qrels.tsv", content);
    judgements(&file.1, &settings(options)).map_err(|e| without_folder(&e, file.0.path()))
}

#[test]
fn judgements_have_three_cells_or_four() {
    let expected: Judgements =
        [("q 1".to_owned(), [("d".to_owned(), 2), ("e".to_owned(), 0)].into()), ("r".to_owned(), [("d".to_owned(), -1)].into())].into();
    let beir = "query-id\tcorpus-id\tscore\nq 1\td\t2\nq 1\te\t0\nr\td\t-1\nr\td\t-1\n";
    assert_eq!(judged(beir, &[]).unwrap().0, expected);
    assert_eq!(judged("q 0 d 2\n\nq 0 e 0 \r\n", &[]).unwrap().0["q"], expected["q 1"]);
    for (content, told) in [
        ("", "qrels.tsv: there is no judgement in the file"),
        ("q d 1\nq d\n", "qrels.tsv, line 2: a judgement has three or four cells, and this line 2"),
        ("q d 1\nq e 0.5\n", "qrels.tsv, line 2: a grade is a whole number, not \"0.5\""),
        ("q 0 d 1\nq 1 d 0\n", "qrels.tsv, line 2: document \"d\" is judged 0 for query \"q\", and 1 in a line before"),
    ] {
        let error = judged(content, &[]).unwrap_err();
        assert!(error.message().contains(told), "{content:?}: {error}");
    }
    let (found, skipped) = judged("q d 1\nq e x\n", &[("bad_rows", "skip")]).unwrap();
    assert_eq!((found["q"].len(), skipped.len(), skipped[0].place.line), (1, 1, 2));
}

#[test]
fn runs_are_ordered_by_their_scores() {
    let of = |content: &str| {
        let file = written("run.txt", content);
        run(&file.1, &ReadSettings::default()).map_err(|e| without_folder(&e, file.0.path()))
    };
    let (found, _) = of("q Q0 d 1 -1.5 me\nq Q0 e 2 3e1 me\n").unwrap();
    assert_eq!(found["q"], [("d".to_owned(), -1.5), ("e".to_owned(), 30.0)]);
    assert!(of("q Q0 d 1\n").unwrap_err().message().contains("run.txt, line 1: a line of a run has six cells, and this one 4"));
    assert!(of("q Q0 d 1 nan me\n").unwrap_err().message().contains("line 1: a score is a number, not \"nan\""));
}

/// A folder of BEIR's with these files changed.
fn beir(changed: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("qrels")).unwrap();
    let files = [
        ("corpus.jsonl", "{\"_id\":\"d\",\"title\":\"T\",\"text\":\"one\"}\n{\"_id\":2,\"text\":\"T two\"}\n"),
        ("queries.jsonl", "{\"_id\":\"q\",\"text\":\"what\",\"metadata\":{}}\n{\"_id\":\"unjudged\",\"text\":\"x\"}\n"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n"),
    ];
    files.iter().chain(changed).for_each(|(name, content)| std::fs::write(folder.path().join(name), content).unwrap());
    let path = folder.path().to_owned();
    (folder, path)
}

#[test]
fn a_folder_of_beir_is_a_collection() {
    let folder = beir(&[]);
    let found = open(&folder.1, "test", &ReadSettings::default()).unwrap();
    assert_eq!(
        found.documents.iter().map(|d| (d.id.as_str(), d.whole())).collect::<Vec<_>>(),
        [("d", "T one".to_owned()), ("2", "T two".to_owned())]
    );
    assert_eq!(found.queries.iter().map(|query| query.id.as_str()).collect::<Vec<_>>(), ["q"], "others are not judged");
    for (changed, told) in [
        (("qrels/test.tsv", "x\td\t1\n"), "query \"x\" is judged and not among the queries"),
        (("corpus.jsonl", "{\"_id\":\"d\",\"text\":\"\"}\n{\"_id\":\"d\",\"text\":\"\"}\n"), "there are two of document \"d\""),
        (("corpus.jsonl", "{\"_id\":\"d\"}\n"), "corpus.jsonl, line 1: the row has no text"),
    ] {
        let folder = beir(&[changed]);
        let error = open(&folder.1, "test", &ReadSettings::default()).unwrap_err();
        assert!(error.message().contains(told), "{error}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(open(empty.path(), "test", &ReadSettings::default()).unwrap_err().message().contains("there is no corpus.jsonl"));
}

#[test]
fn cranfields_queries_are_counted_and_its_codes_turned() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).unwrap();
    put(
        "cran.all.1400",
        ".I 1\n.T\na title\nof two lines .\n.A\nme\n.B\nhere\n.W\na title\nof two lines .\n  and  text .\n.I 2\n.T\n.A\n.B\n.W\n",
    );
    put("cran.qry", ".I 001\n.W\nwhat\nis it .\n.I 004\n.W\nwhy\n");
    put("cranqrel", "1 1 1\n2 1 4\n2 2 -1 \n");
    let found = open(folder.path(), "", &ReadSettings::default()).unwrap();
    assert_eq!(found.documents[0].whole(), "a title of two lines . and text .");
    assert_eq!(found.documents[1].whole(), "");
    assert_eq!(found.queries.iter().map(|query| format!("{} {}", query.id, query.text)).collect::<Vec<_>>(), ["1 what is it .", "2 why"]);
    assert_eq!((found.judgements["1"]["1"], found.judgements["2"]["1"], found.judgements["2"]["2"]), (4, 1, 0));
    put("cran.qry", "what\n.I 1\n");
    assert!(
        open(folder.path(), "", &ReadSettings::default())
            .unwrap_err()
            .message()
            .ends_with("cran.qry, line 1: a section begins with .I and its number")
    );
}
