module cloze.dev/go

go 1.22
