"""Makes tests/golden/minilm: 500 texts and the vectors that sentence-transformers gives them with all-MiniLM-L6-v2.

Run:       python tests/golden/make/minilm.py MODEL DATA     (the model's folder; a folder that holds stsb/en-test.csv)
Versions:  requirements.txt beside this file; expected.json names those that ran. fp32, CPU, one text at a time.

The texts are composed here, from the word lists below, with a fixed seed: sentences of thirteen languages, search queries, code,
edge cases, and texts longer than the model's limit. So they belong to nobody and every line of them can be committed.
  expected.json  texts, their number of tokens before truncation, and Spearman's rank correlation on the test set of the STS
                 benchmark: cosine of the two sentences' vectors against the human score
  vectors.f32    one vector a text, little-endian f32
"""
import csv
import json
import os
import random
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is here; nothing is asked for

import numpy as np
import scipy.stats
import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer

OUT = Path(__file__).resolve().parent.parent / "minilm"
COUNT = 500

ENGLISH = dict(
    who="the librarian|a farmer|our neighbour|the engineer|my grandmother|a retired captain|the committee|nobody|an old baker|the children|two physicists|"
        "the night nurse|a violinist|the mayor|every student|the customs officer",
    did="repaired|described|forgot|painted|measured|sold|translated|photographed|recommended|ignored|catalogued|borrowed|discovered|weighed|praised|rebuilt",
    what="a broken clock|the northern lighthouse|three maps|the theory of tides|an unread letter|the village bridge|a bowl of lentil soup|the new timetable|"
         "a cheap telescope|the museum's oldest coin|a difficult proof|the harbour wall|fresh bread|a database index|the search engine|her passport",
    where="before breakfast|in the rain|near the station|with great patience|for the second time|without telling anyone|on a Sunday in March|at 6:45 a.m.|"
          "for $12.50|during the storm|beside the canal|under a full moon|in spite of the cold|after the meeting",
    topic="boil an egg|reset a password|renew a passport|prune roses|choose a bicycle|learn Portuguese|read a barometer|insulate a roof|clean a cast-iron pan|"
          "sort an array|merge two PDF files|plan a garden|sharpen a knife|appeal a parking fine",
)
ENGLISH = {key: words.split("|") for key, words in ENGLISH.items()}
PATTERNS = ["{who} {did} {what} {where}.", "Why has {who} {did} {what}?", "how to {topic}", "{What} was {did} by {who}, {where}.", "It is said that {who} {did} {what}; I doubt it.",
            "best way to {topic} {where}", "{Who} {did} {what}, and {who} {did} {what} {where}.", "\"I would rather {topic} than {topic},\" said {who}.", "{what}"]
# Each language: subjects | predicates | endings, combined freely.
LANGUAGES = {
    "de": ("Die Bäckerin|Mein Großvater|Der Zug nach Köln|Ein müder Übersetzer", "repariert die Brücke|vergisst den Schlüssel|sucht ein Hörbuch|prüft die Straßenkarte", "am frühen Morgen.|trotz des Regens.|über Nacht?"),
    "fr": ("La bibliothécaire|Un élève étonné|Le garçon du café|Notre vieux maître", "a oublié sa clé|répare l'horloge|cherche une œuvre rare|goûte la crème brûlée", "à midi.|malgré la pluie.|près de la gare ?"),
    "es": ("La niña|El señor Muñoz|Un médico jubilado|Nuestra vecina", "olvidó el paraguas|pintó el puente|busca trabajo|compró tres mapas", "por la mañana.|en España.|¿o no?"),
    "it": ("La città|Un vecchio pescatore|Il perché|Mia nonna", "è più bella|vende il pane|legge il giornale|costruisce un ponte", "di sera.|a Perugia.|senza fretta."),
    "pt": ("O coração|A irmã de João|Um pássaro|A estação", "não esquece|fica à beira do rio|canta de manhã|abriu às sete", "em São Paulo.|amanhã.|outra vez."),
    "nl": ("De bibliotheek|Een oude schipper|Mijn zus", "zoekt een brug|repareert de klok|verkoopt brood", "in de regen.|op zondag.|vóór het ontbijt."),
    "pl": ("Księgarz|Moja babcia|Żółty pociąg", "zapomniał klucza|czyta książkę|jedzie do Łodzi", "wczoraj.|o świcie.|bez pośpiechu."),
    "tr": ("İstanbul'daki köprü|Yaşlı balıkçı|Çocuklar", "çok güzel|ekmek satıyor|şarkı söylüyor", "bugün.|yağmurda.|değil mi?"),
    "ru": ("Библиотекарь|Старый рыбак|Поезд в Казань", "забыл ключ|читает карту|опаздывает", "утром.|под дождём.|опять?"),
    "zh": ("图书馆员|一位老渔夫|我的邻居|这座城市", "修理了时钟|忘记了钥匙|在找一本书|下雨的时候很美", "。|，今天早上。|吗？"),
    "ja": ("図書館の人|となりのねこ|東京行きの電車", "は時計を直した|は本を読んでいる|は遅れています", "。|か？|と思います。"),
    "ar": ("أمين المكتبة|جدتي|القطار", "نسي المفتاح|تقرأ كتابا|يصل متأخرا", "في الصباح.|اليوم.|؟"),
    "hi": ("पुस्तकालय|मेरी दादी|पुरानी नाव", "बंद है|किताब पढ़ती है|नदी में है", "।|आज।|क्या?"),
}
EDGES = ["", " ", "a", "A", ".", "?!", "42", "3.14159", "-1e-9", "\n\t \r\n", "\u0000", "a\u0000b", "\ufffd", "\u200b\u200d\ufeff", "e\u0301 vs \u00e9", "İIıi", "ß SS ſs",
         "ﬁne ﬂow ½ ² ™", "👩‍💻👨‍👩‍👧‍👦🏳️‍🌈", "😀" * 40, "[MASK]", "[CLS] [SEP] [PAD] [UNK]", "the [MASK] sat on the mat", "[mask] ##ing ##", "x" * 99, "x" * 101, "ab" * 400, "- " * 300,
         "http://example.org/a?b=c&d=%20e#f", "user.name+tag@example.co.uk", "C:\\Users\\me\\file.txt", "if (a < b) { return a ? b : c; }", "SELECT name FROM city WHERE size > 10;",
         "def f(x):\n    return x ** 2\n", "<p class=\"x\">Hello &amp; goodbye</p>", "{\"key\": [1, 2, null]}", "H2O, CO2 and C6H12O6", "O'Neill's don't-care isn't", "naïve café Ångström façade",
         "ＦＵＬＬ　ｗｉｄｔｈ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝓂𝒶𝓉𝒽", "𠀀𠮷野家", "한국어 문장입니다.", "ไทยไม่มีช่องว่าง", "שלום עולם", "Ünïcödé\u0308\u0308", "ALL CAPS SENTENCE HERE", "...---...", "a,b;c:d", "© ® € £ ¥"]


def fill(rng):
    """An English sentence or query."""
    text = rng.choice(PATTERNS)
    while "{" in text:
        key = text[text.index("{") + 1 : text.index("}")]
        word = rng.choice(ENGLISH[key.lower()])
        text = text.replace("{" + key + "}", word[0].upper() + word[1:] if key[0].isupper() else word, 1)
    return text


def foreign(rng, language):
    parts = [rng.choice(p.split("|")) for p in LANGUAGES[language]]
    return "".join(parts) if language in ("zh", "ja") else " ".join(parts)


def compose():
    """The texts, all different."""
    rng = random.Random(20)
    texts = list(EDGES)
    for language in LANGUAGES:
        texts += [foreign(rng, language) for _ in range(9)] + [" ".join(foreign(rng, language) for _ in range(rng.randint(2, 6)))]
    texts += [" ".join(fill(rng) for _ in range(rng.randint(2, 9))) for _ in range(90)]
    texts += [" ".join(fill(rng) for _ in range(rng.randint(22, 45))) for _ in range(14)]  # most are longer than the limit
    texts += [" ".join(foreign(rng, rng.choice(list(LANGUAGES))) + " " + fill(rng) for _ in range(rng.randint(1, 30))) for _ in range(16)]
    texts = list(dict.fromkeys(texts))
    while len(texts) < COUNT:
        texts = list(dict.fromkeys(texts + [fill(rng)]))
    return texts


def spearman(model, file):
    """Rank correlation of cosines and human scores."""
    with open(file, encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    a, b = (model.encode([r[i] for r in rows], normalize_embeddings=True) for i in (0, 1))
    return scipy.stats.spearmanr((a * b).sum(1), [float(r[2]) for r in rows]).statistic, len(rows)


if __name__ == "__main__":
    model = SentenceTransformer(sys.argv[1], device="cpu", model_kwargs=dict(dtype=torch.float32, attn_implementation="eager"))
    texts = compose()
    vectors = np.concatenate([model.encode([t], batch_size=1) for t in texts]).astype("<f4")
    totals = [len(model.tokenizer(t)["input_ids"]) for t in texts]
    correlation, pairs = spearman(model, Path(sys.argv[2]) / "stsb/en-test.csv")
    OUT.mkdir(exist_ok=True)
    vectors.tofile(OUT / "vectors.f32")
    versions = {m.__name__: m.__version__ for m in (transformers, sentence_transformers, torch)}
    head = dict(made_by="tests/golden/make/minilm.py", model="sentence-transformers/all-MiniLM-L6-v2", versions=versions, dimensions=vectors.shape[1],
                limit=model.max_seq_length, stsb=dict(pairs=pairs, spearman=f"{correlation:.4f}"), totals=totals)
    lines = [f"{json.dumps(k)}:{json.dumps(v)}" for k, v in head.items()]
    body = ",\n".join(json.dumps(t, ensure_ascii=False) for t in texts)
    (OUT / "expected.json").write_text("{" + ",\n".join(lines) + f',\n"texts":[\n{body}\n]}}\n', encoding="utf-8")
    print(f"{len(texts)} texts, {sum(totals)} tokens, {sum(t > model.max_seq_length for t in totals)} cut; Spearman {correlation:.6f} on {pairs} pairs")
