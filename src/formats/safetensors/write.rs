//! How is a safetensors file written?
//!
//! Laid out as the reference crate does it: tensors by falling element size, then by name, so that each is aligned; the header is
//! filled with spaces to a multiple of 8 bytes. A tensor is asked for when its turn comes.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::super::TensorPlan;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Tensor};

/// Writes a file of `tensors`, whose metadata say `{"format": "pt"}`. `data` gives each tensor's bytes when its turn comes;
/// `progress` hears the bytes of tensors written so far.
///
/// # Errors
/// `InvalidArgument` for a type that safetensors does not have and for a name given twice, `Io` when the system refuses to write,
/// `InvalidTensor` when `data` gives another number of bytes than planned, and whatever `data` fails with.
pub fn write(
    out: &mut impl Write,
    tensors: &[TensorPlan],
    mut data: impl FnMut(&TensorPlan) -> Result<Bytes>,
    mut progress: impl FnMut(usize),
) -> Result<()> {
    let mut sorted: Vec<&TensorPlan> = tensors.iter().collect();
    sorted.sort_by(|a, b| b.dtype.block_bytes().cmp(&a.dtype.block_bytes()).then_with(|| a.name.cmp(&b.name)));
    let (header, lengths) = header(&sorted)?;
    let refused = |e: std::io::Error| Error::new(ErrorKind::Io, format!("cannot write: {e}"));
    out.write_all(&(header.len() as u64).to_le_bytes()).map_err(refused)?;
    out.write_all(&header).map_err(refused)?;
    let mut written = 0;
    for (plan, len) in sorted.into_iter().zip(lengths) {
        let bytes = data(plan)?;
        if bytes.len() != len {
            return fail(ErrorKind::InvalidTensor, format!("tensor {:?} has {} bytes; planned were {len}", plan.name, bytes.len()));
        }
        out.write_all(&bytes).map_err(refused)?;
        written += len;
        progress(written);
    }
    Ok(())
}

/// The header with its padding, and the bytes of each tensor.
fn header(tensors: &[&TensorPlan]) -> Result<(Vec<u8>, Vec<usize>)> {
    let mut header = Map::from_iter([("__metadata__".to_owned(), json!({"format": "pt"}))]);
    let (mut at, mut lengths) = (0usize, Vec::with_capacity(tensors.len()));
    for TensorPlan { name, dtype, shape } in tensors {
        let Some(type_name) = dtype.safetensors_name() else {
            let told = format!("tensor {name:?}: safetensors files do not hold {}; choose F32, F16 or BF16", dtype.name());
            return fail(ErrorKind::InvalidArgument, told);
        };
        let end = Tensor::bytes_for(*dtype, shape).and_then(|len| at.checked_add(len));
        let Some(end) = end else { return fail(ErrorKind::InvalidArgument, format!("tensor {name:?} of shape {shape:?} is too large")) };
        let claim: Value = json!({"dtype": type_name, "shape": shape, "data_offsets": [at, end]});
        if header.insert(name.clone(), claim).is_some() {
            return fail(ErrorKind::InvalidArgument, format!("tensor {name:?} is given twice"));
        }
        lengths.push(end - at);
        at = end;
    }
    let mut header = serde_json::to_vec(&header).map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))?;
    header.resize(header.len().next_multiple_of(8), b' ');
    Ok((header, lengths))
}

#[cfg(test)]
mod tests {
    use super::super::super::Weights;
    use super::*;
    use crate::quant::Dtype;

    fn plan(name: &str, dtype: Dtype, shape: &[usize]) -> TensorPlan {
        TensorPlan { name: name.to_owned(), dtype, shape: shape.to_vec() }
    }

    fn written(plans: &[TensorPlan]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        write(&mut out, plans, |p| Ok(Bytes::owned(vec![7; Tensor::bytes_for(p.dtype, &p.shape).unwrap_or(0)])), |_| {})?;
        Ok(out)
    }

    #[test]
    fn tensors_and_types_read_back_and_the_reference_crate_agrees() {
        let plans = [
            plan("b", Dtype::F16, &[3]),
            plan("a", Dtype::F16, &[1]),
            plan("c", Dtype::F32, &[2, 3]),
            plan("d", Dtype::I64, &[]),
            plan("e", Dtype::Bf16, &[0]),
        ];
        let file = written(&plans).unwrap();
        let theirs = ::safetensors::SafeTensors::deserialize(&file).unwrap();
        assert_eq!(theirs.len(), plans.len());
        let mut ours = Weights::default();
        super::super::read("x", &Bytes::owned(file.clone()), &mut ours).unwrap();
        for plan in &plans {
            let tensor = ours.get(&plan.name).unwrap();
            assert_eq!((tensor.dtype(), tensor.shape()), (plan.dtype, plan.shape.as_slice()));
            assert_eq!(theirs.tensor(&plan.name).unwrap().data(), &**tensor.bytes());
            assert_eq!(theirs.tensor(&plan.name).unwrap().shape(), plan.shape);
        }
        let header = u64::from_le_bytes(file[..8].try_into().unwrap());
        assert_eq!(header % 8, 0);
        assert!(String::from_utf8_lossy(&file[8..]).contains(r#""__metadata__":{"format":"pt"}"#));
    }

    #[test]
    fn what_safetensors_cannot_hold_is_named() {
        for (plans, says) in [
            (vec![plan("q", Dtype::Q8_0, &[2, 32])], "do not hold Q8_0"),
            (vec![plan("a", Dtype::F32, &[1]), plan("a", Dtype::F32, &[2])], "\"a\" is given twice"),
            (vec![plan("__metadata__", Dtype::F32, &[1])], "given twice"),
            (vec![plan("a", Dtype::F32, &[usize::MAX, 2])], "too large"),
        ] {
            let e = written(&plans).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(says), "{e}");
        }
        let e = write(&mut Vec::new(), &[plan("a", Dtype::F32, &[2])], |_| Ok(Bytes::owned([0u8; 4])), |_| {}).unwrap_err();
        assert!(e.message().contains("planned were 8"), "{e}");
    }
}
