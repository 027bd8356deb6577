//! Which values does a pickle build?
//!
//! A stack machine that makes values and calls nothing. Values stand in one list and name each other by number, so that neither deep
//! nesting nor a value that is used a million times costs more than the opcodes that ask for it, and nothing is ever walked
//! recursively. Every opcode makes at most one value; their number and the bytes read are limited.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::globals::{self, Element, Known};
use super::invalid;
use super::opcodes as op;
use crate::error::{Error, ErrorKind, Result, fail};

/// More bytes than the pickle of any checkpoint's tensors has: about 200 a tensor.
pub(super) const LONGEST: usize = 1 << 26;
/// Values, entries of the stack and of the memo.
pub(super) const MOST: usize = 1 << 21;
/// Bytes of a whole number, the sign included: the magic number of old files has 10.
const LONGEST_NUMBER: usize = 16;

/// The number of a value.
pub(super) type Ref = u32;

/// A value.
#[derive(Debug)]
pub(super) enum Value {
    None,
    /// A whole number, a truth value as 0 or 1.
    Int(i128),
    Text(String),
    Tuple(Vec<Ref>),
    List(Vec<Ref>),
    Dict(Vec<(Ref, Ref)>),
    Global(Known),
    Storage(Box<Storage>),
    Tensor(Box<View>),
    /// A value of no interest.
    Other,
}

/// Numbers that lie elsewhere in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Storage {
    pub(super) key: String,
    pub(super) element: Element,
    /// How many numbers.
    pub(super) len: usize,
    /// Of an old file: the part of the numbers that this storage is, and its length.
    pub(super) part: Option<(usize, usize)>,
}

/// A tensor: some of the numbers of a storage.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) storage: Storage,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    /// How many numbers lie between neighbours, dimension by dimension.
    pub(super) strides: Vec<usize>,
}

/// The values of a pickle.
#[derive(Debug)]
pub(super) struct Values {
    all: Vec<Value>,
    top: Ref,
}

impl Values {
    /// The value that the pickle ends with.
    pub(super) fn top(&self) -> &Value {
        self.get(self.top)
    }

    pub(super) fn get(&self, at: Ref) -> &Value {
        &self.all[at as usize]
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Value> {
        self.all.iter()
    }
}

/// Runs the pickle at the cursor, and leaves the cursor behind it.
///
/// # Errors
/// `InvalidFile` for a pickle that is damaged or too large, `Unsupported` for what values of a checkpoint are not made of.
pub(super) fn load(cursor: &mut Cursor<'_>) -> Result<Values> {
    load_with(cursor, &HashMap::new())
}

/// As [`load`], of a pickle that names tensors which stand outside it.
///
/// # Errors
/// As [`load`].
pub(super) fn load_with(cursor: &mut Cursor<'_>, outside: &HashMap<String, View>) -> Result<Values> {
    let start = cursor.at();
    let mut machine = Machine { values: Vec::new(), stack: Vec::new(), marks: Vec::new(), memo: HashMap::new(), outside, copied: 0 };
    loop {
        let at = cursor.at();
        let within = |e: Error| e.within(format!("byte {at} of the pickle"));
        if at - start > LONGEST {
            return Err(invalid(format!("the pickle has more than {LONGEST} bytes; it holds more than tensors' names")));
        }
        let opcode = cursor.byte()?;
        if opcode == op::STOP {
            let top = machine.pop().map_err(within)?;
            return Ok(Values { all: machine.values, top });
        }
        machine.step(opcode, cursor).map_err(within)?;
        if machine.values.len().max(machine.stack.len()).max(machine.marks.len()) > MOST {
            return Err(invalid(format!("the pickle makes more than {MOST} values; it holds more than tensors")));
        }
    }
}

pub(super) struct Machine<'a> {
    values: Vec<Value>,
    pub(super) stack: Vec<Ref>,
    marks: Vec<usize>,
    memo: HashMap<u32, Ref>,
    pub(super) outside: &'a HashMap<String, View>,
    /// Entries that dictionaries copied from lists.
    pub(super) copied: usize,
}

impl Machine<'_> {
    pub(super) fn push(&mut self, value: Value) -> Result<()> {
        self.stack.push(self.values.len() as Ref);
        self.values.push(value);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Ref> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.pop() {
            Some(value) if self.stack.len() >= floor => Ok(value),
            _ => Err(invalid("it takes a value where there is none")),
        }
    }

    pub(super) fn top(&self) -> Result<Ref> {
        self.stack.last().copied().ok_or_else(|| invalid("it takes a value where there is none"))
    }

    /// The values above the last mark.
    fn marked(&mut self) -> Result<Vec<Ref>> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len());
        mark.map(|mark| self.stack.split_off(mark)).ok_or_else(|| invalid("it takes a mark where there is none"))
    }

    pub(super) fn get(&self, at: Ref) -> &Value {
        &self.values[at as usize]
    }

    fn tuple(&mut self, len: usize) -> Result<()> {
        let mut items = (0..len).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
        items.reverse();
        self.push(Value::Tuple(items))
    }

    fn remember(&mut self, slot: u32) -> Result<()> {
        let value = self.top()?;
        self.memo.insert(slot, value);
        Ok(())
    }

    fn recall(&mut self, slot: u32) -> Result<()> {
        let value = self.memo.get(&slot).copied().ok_or_else(|| invalid(format!("it recalls value {slot}, which it never kept")))?;
        self.stack.push(value);
        Ok(())
    }

    fn step(&mut self, opcode: u8, cursor: &mut Cursor<'_>) -> Result<()> {
        match opcode {
            op::PROTO => match cursor.byte()? {
                2..=5 => Ok(()),
                other => fail(ErrorKind::Unsupported, format!("pickle protocol {other}; 2 to 5 are read")),
            },
            op::FRAME => cursor.take(8).map(drop),
            op::MARK => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            op::POP => self.pop().map(drop),
            op::POP_MARK => self.marked().map(drop),
            op::DUP => {
                let top = self.top()?;
                self.stack.push(top);
                Ok(())
            }
            op::BINPUT => self.remember(cursor.byte()?.into()),
            op::LONG_BINPUT => self.remember(cursor.u32()?),
            op::MEMOIZE => self.remember(self.memo.len() as u32),
            op::BINGET => self.recall(cursor.byte()?.into()),
            op::LONG_BINGET => self.recall(cursor.u32()?),
            op::GLOBAL => {
                let (module, name) = (cursor.line()?, cursor.line()?);
                self.push(Value::Global(globals::find(&module, &name)?))
            }
            op::STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Value::Text(module), Value::Text(name)) = (self.get(module), self.get(name)) else {
                    return Err(invalid("it asks for a name that is no text"));
                };
                let known = globals::find(module, name)?;
                self.push(Value::Global(known))
            }
            op::REDUCE | op::NEWOBJ => self.call(),
            op::BUILD => self.build(),
            op::BINPERSID => self.storage(),
            _ => self.plain(opcode, cursor),
        }
    }

    /// Opcodes that make numbers, texts and containers.
    fn plain(&mut self, opcode: u8, cursor: &mut Cursor<'_>) -> Result<()> {
        match opcode {
            op::NONE => self.push(Value::None),
            op::NEWTRUE => self.push(Value::Int(1)),
            op::NEWFALSE => self.push(Value::Int(0)),
            op::BININT => self.push(Value::Int(i32::from_le_bytes(cursor.array()?).into())),
            op::BININT1 => self.push(Value::Int(cursor.byte()?.into())),
            op::BININT2 => self.push(Value::Int(u16::from_le_bytes(cursor.array()?).into())),
            op::LONG1 => {
                let len = cursor.length(1)?;
                self.push(Value::Int(number(cursor.take(len)?)?))
            }
            op::BINFLOAT => cursor.take(8).and_then(|_| self.push(Value::Other)),
            op::BINUNICODE | op::BINSTRING => self.text(cursor, 4),
            op::SHORT_BINUNICODE | op::SHORT_BINSTRING => self.text(cursor, 1),
            op::BINUNICODE8 => self.text(cursor, 8),
            op::BINBYTES => self.bytes(cursor, 4),
            op::SHORT_BINBYTES => self.bytes(cursor, 1),
            op::BINBYTES8 => self.bytes(cursor, 8),
            op::EMPTY_TUPLE => self.tuple(0),
            op::TUPLE1 => self.tuple(1),
            op::TUPLE2 => self.tuple(2),
            op::TUPLE3 => self.tuple(3),
            op::TUPLE => {
                let items = self.marked()?;
                self.push(Value::Tuple(items))
            }
            op::EMPTY_LIST => self.push(Value::List(Vec::new())),
            op::APPEND => {
                let item = self.pop()?;
                self.extend(vec![item])
            }
            op::APPENDS | op::ADDITEMS => {
                let items = self.marked()?;
                self.extend(items)
            }
            op::EMPTY_DICT => self.push(Value::Dict(Vec::new())),
            op::SETITEM => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(&[key, value])
            }
            op::SETITEMS => {
                let items = self.marked()?;
                self.set(&items)
            }
            op::EMPTY_SET => self.push(Value::Other),
            op::FROZENSET => self.marked().and_then(|_| self.push(Value::Other)),
            other => fail(
                ErrorKind::Unsupported,
                format!(
                    "opcode {:?} (0x{other:02x}), which no checkpoint of tensors needs; damaged, or not a checkpoint",
                    char::from(other)
                ),
            ),
        }
    }

    fn text(&mut self, cursor: &mut Cursor<'_>, width: usize) -> Result<()> {
        let len = cursor.length(width)?;
        let text = cursor.text(within_limit(len)?)?;
        self.push(Value::Text(text))
    }

    fn bytes(&mut self, cursor: &mut Cursor<'_>, width: usize) -> Result<()> {
        let len = cursor.length(width)?;
        cursor.take(within_limit(len)?)?;
        self.push(Value::Other)
    }

    fn extend(&mut self, items: Vec<Ref>) -> Result<()> {
        let list = self.top()?;
        match &mut self.values[list as usize] {
            Value::List(list) => list.extend(items),
            Value::Other => {}
            _ => return Err(invalid("it adds to a value that is no list")),
        }
        Ok(())
    }

    fn set(&mut self, items: &[Ref]) -> Result<()> {
        let dict = self.top()?;
        let (pairs, rest) = items.as_chunks::<2>();
        match &mut self.values[dict as usize] {
            _ if !rest.is_empty() => return Err(invalid("a key has no value")),
            Value::Dict(dict) => dict.extend(pairs.iter().map(|[key, value]| (*key, *value))),
            Value::Other => {}
            _ => return Err(invalid("it sets an entry of a value that is no dictionary")),
        }
        Ok(())
    }
}

fn within_limit(len: usize) -> Result<usize> {
    if len > LONGEST { Err(invalid(format!("a text of {len} bytes; longer than a checkpoint's names"))) } else { Ok(len) }
}

/// A whole number: little endian, two's complement.
fn number(bytes: &[u8]) -> Result<i128> {
    if bytes.len() > LONGEST_NUMBER {
        return Err(invalid(format!("a whole number of {} bytes", bytes.len())));
    }
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; LONGEST_NUMBER];
    wide[..bytes.len()].copy_from_slice(bytes);
    Ok(i128::from_le_bytes(wide))
}
