//! The checksum of TensorFlow's files: CRC-32C, rotated and shifted so that a checksum of checksums stays sound.
//!
//! Castagnoli's polynomial, reflected (RFC 3720, appendix B.4); eight bytes a step by eight tables, after Kounavis and Berry, A
//! Systematic Approach to Building High Performance Software-Based CRC Generators (2005). The mask is LevelDB's (`util/crc32c.h`).

const POLYNOMIAL: u32 = 0x82f6_3b78;
const MASK: u32 = 0xa282_ead8;

const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
            bit += 1;
        }
        tables[0][i] = crc;
        i += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut i = 0;
        while i < 256 {
            let before = tables[table - 1][i];
            tables[table][i] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            i += 1;
        }
        table += 1;
    }
    tables
}

/// The checksum of `bytes`.
fn crc32c(bytes: &[u8]) -> u32 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut crc = u32::MAX;
    for chunk in chunks {
        let mixed = u64::from_le_bytes(*chunk) ^ u64::from(crc);
        crc = (0..8).fold(0, |sum, i| sum ^ TABLES[7 - i][((mixed >> (8 * i)) & 0xff) as usize]);
    }
    !rest.iter().fold(crc, |crc, byte| (crc >> 8) ^ TABLES[0][((crc ^ u32::from(*byte)) & 0xff) as usize])
}

/// The checksum of `bytes` as files hold it.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_3720() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }
}
