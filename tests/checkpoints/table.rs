//! Writes an index of a TensorFlow checkpoint: one block of entries, checksums included. Plain and slow, and none of the library's code.

/// `index` with its first block changed.
pub fn one_block(index: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut block = index[..first_block(index)].to_vec();
    change(&mut block);
    written(&block)
}

/// The length of the first block, which small indexes have as their only one: what the block of blocks says.
pub fn first_block(index: &[u8]) -> usize {
    let footer = &index[index.len() - 48..];
    let mut at = 0;
    let (_, _) = (varint(footer, &mut at), varint(footer, &mut at));
    let place = varint(footer, &mut at);
    let mut at = place + 1;
    let key = varint(index, &mut at);
    at += 1 + key;
    assert_eq!(varint(index, &mut at), 0, "the first block comes first");
    varint(index, &mut at)
}

fn varint(bytes: &[u8], at: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return number;
        }
    }
}

/// An index whose only block of entries is `block`.
pub fn written(block: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let number = |n: usize| {
        let (mut n, mut bytes) = (n, Vec::new());
        while n > 0x7f {
            bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes
    };
    let mut put = |content: &[u8]| {
        let start = file.len();
        file.extend_from_slice(content);
        file.push(0);
        let sum = crc32c(&file[start..]);
        file.extend_from_slice(&sum.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes());
        [number(start), number(content.len())].concat()
    };
    let entries = put(block);
    let nothing = put(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let place = [&[0, 1, entries.len() as u8, b'z'][..], &entries, &[0, 0, 0, 0, 1, 0, 0, 0]].concat();
    let blocks = put(&place);
    let mut footer = [nothing, blocks].concat();
    footer.resize(40, 0);
    file.extend_from_slice(&footer);
    file.extend_from_slice(&0xdb47_7524_8b80_fb57_u64.to_le_bytes());
    file
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1))))
}
