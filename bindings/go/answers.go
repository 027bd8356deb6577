package cloze

// Answers are plain values: nothing in them belongs to C. Offsets are in the unit that the setting `offsets` names, Unicode code points
// unless it is set; for indices of Go's strings ask for `byte`.

// Seen is what became of an input.
type Seen struct {
	Tokens    int  // that the encoder saw, special tokens included; for windows, those of all windows
	Total     int  // of the whole input, before anything was cut
	Truncated bool // whether tokens were left out
	Windows   int  // 1 where it fits or was cut; 0 for an input that was not finished
}

// Batch is the answers for a list of inputs. Those from number Finished on are empty: the call was stopped before.
type Batch[T any] struct {
	Inputs   []T
	Finished int
}

// Encoded is what became of a text that was encoded, and which vectors are its own.
type Encoded struct {
	Seen
	FirstVector, Vectors int
}

// Report is what became of the texts of a call.
type Report struct {
	Batch[Encoded]
	Dimensions int
	Scales     []float32 // of `output` int8: of each vector what its numbers are to be multiplied by
}

// Vectors are numbers, one vector after another.
type Vectors struct {
	Report
	Values []float32
}

// Vector is the vector of a number; of one vector a text, the text's.
func (v *Vectors) Vector(number int) []float32 {
	return v.Values[number*v.Dimensions : (number+1)*v.Dimensions : (number+1)*v.Dimensions]
}

// Packed are vectors as bytes, laid out as cloze_encode says for the setting `output`.
type Packed struct {
	Report
	Bytes []byte
}

// Weight is the sparse weight of a token of the vocabulary.
type Weight struct {
	ID     int
	Weight float32
	Token  string
}

// SparseText is the weights of a text, the largest first.
type SparseText struct {
	Seen
	Weights []Weight
}

// LateToken is the token that a vector stands for.
type LateToken struct {
	ID         int
	Start, End int
	Token      string
}

// LateText is the vectors of a text, one after another, and the token of each.
type LateText struct {
	Seen
	Rows   []LateToken
	Values []float32
}

// Late is the vectors of late interaction.
type Late struct {
	Batch[LateText]
	Dimensions int
}

// Ranked is a document at its rank.
type Ranked struct {
	Document     int
	Score, Logit float32
}

// Ranking is documents, the best first. Scored counts those that were scored: all, unless the call was stopped.
type Ranking struct {
	Ranks     []Ranked
	Scored    int
	Documents []Seen
}

// Label is a label of a text.
type Label struct {
	Label        int
	Name         string
	Score, Logit float32
}

// Labelled is the labels of a text, the best first.
type Labelled struct {
	Seen
	Labels []Label
}

// Pair is a text and the second text that goes with it, or none.
type Pair struct {
	Text   string
	Second *string
}

// PairOf makes a pair of two texts.
func PairOf(text, second string) Pair { return Pair{text, &second} }

// Follow says how probably the second text of a pair follows the first.
type Follow struct {
	Seen
	Score, Logit, OtherLogit float32
}

// Fill is a token for a blank, and the whole text with it in its place.
type Fill struct {
	ID           int
	Token        string
	Score, Logit float32
	Text         string
}

// Blank is where a blank stands, and its tokens, the best first.
type Blank struct {
	Start, End int
	Fills      []Fill
}

// Filled is the blanks of a text.
type Filled struct {
	Seen
	Blanks []Blank
}

// Answer is a part of a context that answers a question.
type Answer struct {
	Text         string
	Start, End   int
	Score, Logit float32
}

// Extracted is the answers of a context, the best first, and how probable it is that it has none.
type Extracted struct {
	Seen
	Answers              []Answer
	NoneScore, NoneLogit float32
}

// Entity is a part of a text with its label. Of words, it has those from FirstWord up to but not including EndWord.
type Entity struct {
	Label, Text        string
	Start, End         int
	Score              float32
	FirstWord, EndWord int
}

// Tagged is the entities of a text.
type Tagged struct {
	Seen
	Entities []Entity
}

// Token is a token of a text. Type is 0 for the text and 1 for its pair; Special ones come from the template.
type Token struct {
	ID, Type   int
	Special    bool
	Start, End int
	Text       string
}

// Tokens is the tokens of a text, in one window, or in several where `truncation` is `window`.
type Tokens struct {
	Windows   [][]Token
	Total     int
	Truncated bool
}

// Maps is what the heads of each layer look at, and the hidden states. Rows and columns stand for Tokens.
type Maps struct {
	Layers, Heads, Hidden int
	Tokens                []Token
	Attention             [][][]float32 // of a layer and a head: row after row, len(Tokens) times len(Tokens)
	States                [][]float32   // behind a layer, row after row, len(Tokens) times Hidden; number 0 is before the first layer
}
