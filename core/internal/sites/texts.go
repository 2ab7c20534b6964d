package sites

// What the bits of a number say.
const (
	ownText  = 1 << 31 // the rest is the number of a text here
	ofMethod = 1 << 30 // of a maker: it is a method
)

// maxTexts bounds how many texts have a number: a program may be called by many functions.
const maxTexts = 1 << 14

// manyNames is the shared name of all makers beyond maxTexts.
const manyNames = "(other functions)"

// Texts has the texts that are numbered here. The zero value has none, and knows no lines of the program.
type Texts struct {
	// Line, when set, returns what a number of the program's own side means.
	Line func(number uint32) string

	texts      []string
	numbers    map[string]uint32 // of texts
	otherMaker uint32            // the number of manyNames; 0: it has none yet

	// The latest task that references came with, and the number of the site that this is.
	task     string
	taskSite uint32
}

// Len returns how many texts have a number.
func (t *Texts) Len() int { return len(t.texts) }

// NumberOf returns the number of a text, 0 when there are too many texts or it is empty.
func (t *Texts) NumberOf(text string) uint32 {
	if text == "" {
		return 0
	}
	if n, ok := t.numbers[text]; ok {
		return n
	}
	if len(t.texts) >= maxTexts {
		return 0
	}
	if t.numbers == nil {
		t.numbers = map[string]uint32{}
	}
	n := t.add(text)
	t.numbers[text] = n
	return n
}

func (t *Texts) add(text string) uint32 {
	t.texts = append(t.texts, text)
	return ownText | uint32(len(t.texts)-1)
}

// MakerNumber returns the number of the function or method of a name.
func (t *Texts) MakerNumber(name string, method bool) uint32 {
	n := t.NumberOf(name)
	if n == 0 {
		if t.otherMaker == 0 {
			t.otherMaker = t.add(manyNames)
		}
		n = t.otherMaker
	}
	if method {
		n |= ofMethod
	}
	return n
}

// OfArgument returns the site of references that came with the arguments of a task.
func (t *Texts) OfArgument(task string) uint32 {
	if task != t.task || t.taskSite == 0 { // else it makes no text: a task may import thousands of tables
		t.task, t.taskSite = task, t.NumberOf("(deserialize task arg) "+task)
	}
	return t.taskSite
}

// text returns the text of a number, "" when it is no number of a text.
func (t *Texts) text(number uint32) string {
	if number&ownText == 0 {
		return ""
	}
	return t.texts[number&^(ownText|ofMethod)]
}
